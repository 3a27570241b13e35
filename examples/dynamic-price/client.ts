/**
 * What a client of such an app sees, without a network, a chain or a wallet.
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
const tariff = { perWord: 2n };
// One app for all of it: a quote holds for as long as its process.
const server = createApp(facilitator, tariff).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shout`;

// The price is for what was sent.
const short = await pay(url, { body: { text: "good morning" } });
const long = await pay(url, { body: { text: "good morning to all of you" } });
assert.deepEqual(
  [short, long].map(({ challenge }) => challenge?.accepts[0]?.amount),
  ["4000", "12000"],
);

// It holds for who was told of it, though it has gone up since.
assert.ok(short.challenge?.accepts[0]);
const payment = await payer.signExact(short.challenge.accepts[0], { challenge: short.challenge });
tariff.perWord = 50n;
const other = await pay(url, { body: { text: "good morning to all of you" }, payment });
assert.equal(other.status, 402);
const sold = await pay(url, { body: { text: "good morning" }, payment });
assert.equal(sold.status, 200);
assert.deepEqual(sold.json(), { text: "GOOD MORNING", paid: "4000" });
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 4_000n);

// Who asks now pays what it costs now.
const now = await pay(url, { body: { text: "good morning" }, payer });
assert.deepEqual(now.json(), { text: "GOOD MORNING", paid: "100000" });

// What cannot be sold is not charged.
const wrong = await pay(url, { body: { words: 5 }, payer });
assert.equal(wrong.status, 422);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 104_000n);

server.close();
console.log("each text was sold for the price that was named for it");
