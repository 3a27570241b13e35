/**
 * Tests of the app, without a network, a chain or a wallet: signatures are really checked, money moves in a ledger.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { createApp, PAY_TO } from "./server.js";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 10_000n);
const app = createApp(facilitator);

// Whoever does not pay is told what it costs.
const unpaid = await pay(app, { path: "/quotes/ADA" });
assert.equal(unpaid.status, 402);
assert.equal(unpaid.challenge?.accepts[0]?.amount, "2000");

// Whoever pays gets the answer and a receipt, and the app has the money.
const paid = await pay(app, { path: "/quotes/ADA", payer });
assert.equal(paid.status, 200);
assert.deepEqual(paid.json(), { symbol: "ADA", price: "0.71", paidBy: payer.address });
assert.equal(paid.receipt?.success, true);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 2_000n);

// An error is not a sale, and the same payment is good for another try.
const failed = await pay(app, { path: "/quotes/XYZ", payer });
assert.equal(failed.status, 404);
assert.equal(failed.receipt?.errorReason, "not_charged");
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 2_000n);

// What if the facilitator loses its answer after it has moved the money?
facilitator.faults.next("settle", { kind: "drop", when: "after" });
const unknown = await pay(app, { path: "/quotes/ADA", payer });
assert.equal(unknown.status, 503);
const known = await pay(app, { path: "/quotes/ADA", ...(unknown.payment ? { payment: unknown.payment } : {}) });
assert.equal(known.status, 200);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 4_000n);

console.log("the app sells what it should, and nothing else");
