/**
 * Sends requests, and reads what the metrics and the health say about them.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openMarket } from "./traffic.js";

const market = await openMarket();
await market.visit();

const metrics = await (await fetch(`${market.insideUrl}/metrics`)).text();
const value = (series: string) =>
  metrics
    .split("\n")
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1);
const asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

// Two calls were paid for, at a tenth of a cent. Five requests had no payment at first.
assert.equal(value('farebox_challenges_total{route="GET /weather"}'), "4");
assert.equal(
  value('farebox_payments_total{route="GET /weather",network="eip155:84532",outcome="settled",reason=""}'),
  "2",
);
assert.equal(
  value(`farebox_revenue_atomic_total{route="GET /weather",network="eip155:84532",asset="${asset}"}`),
  "2000",
);
assert.equal(
  value(`farebox_revenue_atomic_total{route="GET /report",network="eip155:84532",asset="${asset}"}`),
  "50000",
);
// The payer without money, and the call that failed.
assert.equal(value('farebox_refusals_total{route="GET /weather",reason="unexpected_verify_error"}'), "1");
assert.equal(value("farebox_held_bytes"), "0");

const health = await fetch(`${market.insideUrl}/healthz`);
assert.equal(health.status, 200);

// The outside sees neither.
assert.equal((await fetch(`${market.outsideUrl}/metrics`)).status, 404);

market.close();
console.log("metrics and health say what was sold, and what failed");
