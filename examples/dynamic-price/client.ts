/**
 * A client of the app, without a network, a chain or a wallet.
 *
 * @module
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { createApp, PAY_TO } from "./server.js";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 1_000_000n);
const tariff = { perWord: "0.002" };
// One app for all requests: a quote is valid as long as its process runs.
const server = createApp(facilitator, tariff).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shout`;

// The price depends on the body.
const short = await pay(url, { body: { text: "good morning" } });
const long = await pay(url, { body: { text: "good morning to all of you" } });
assert.deepEqual(
  [short, long].map(({ challenge }) => challenge?.accepts[0]?.amount),
  ["4000", "12000"],
);

// The quoted price stays valid for that body, although the tariff has risen.
assert.ok(short.challenge?.accepts[0]);
const payment = await payer.signExact(short.challenge.accepts[0], { challenge: short.challenge });
tariff.perWord = "0.05";
const other = await pay(url, { body: { text: "good morning to all of you" }, payment });
assert.equal(other.status, 402);
const paid = await pay(url, { body: { text: "good morning" }, payment });
assert.equal(paid.status, 200);
assert.deepEqual(paid.json(), { text: "GOOD MORNING", paid: "4000" });
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 4_000n);

// A new request gets the new price.
const now = await pay(url, { body: { text: "good morning" }, payer });
assert.deepEqual(now.json(), { text: "GOOD MORNING", paid: "100000" });

// An error response is not charged.
const wrong = await pay(url, { body: { words: 5 }, payer });
assert.equal(wrong.status, 422);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 104_000n);

server.close();
console.log("each text was charged at its quoted price");
