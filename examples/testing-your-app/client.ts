/**
 * Tests the app without a network, a chain or a wallet. Signatures are checked; money moves in a ledger in memory.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { createApp, PAY_TO } from "./server.js";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 20_000n);
const app = createApp(facilitator);

// An unpaid request gets the price.
const unpaid = await pay(app, { path: "/quotes/ADA" });
assert.equal(unpaid.status, 402);
assert.equal(unpaid.challenge?.accepts[0]?.amount, "2000");

// A paid request gets the response and a receipt, and the app has the money.
const paid = await pay(app, { path: "/quotes/ADA", payer });
assert.equal(paid.status, 200);
assert.deepEqual(paid.json(), { symbol: "ADA", price: "0.71", paidBy: payer.address });
assert.equal(paid.receipt?.success, true);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 2_000n);

// An error response is not charged.
const failed = await pay(app, { path: "/quotes/XYZ", payer });
assert.equal(failed.status, 404);
assert.equal(failed.receipt?.errorReason, "not_charged");
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 2_000n);

// A price by use: the payer signs a maximum, and pays for three days.
const three = await pay(app, { path: "/history/3", payer });
assert.deepEqual([three.challenge?.accepts[0]?.amount, three.receipt?.amount], ["10000", "3000"]);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 5_000n);

// The facilitator moves the money, and its response is lost. The same payment gets the response later, and is charged once.
facilitator.faults.next("settle", { kind: "drop", when: "after" });
const unknown = await pay(app, { path: "/quotes/ADA", payer });
assert.equal(unknown.status, 503);
const known = await pay(app, { path: "/quotes/ADA", ...(unknown.payment ? { payment: unknown.payment } : {}) });
assert.equal(known.status, 200);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 7_000n);

console.log("the app charges for its responses, once each");
