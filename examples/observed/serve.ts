/**
 * Serves the shop with traffic until it is stopped, for Prometheus and Grafana.
 *
 * @module
 */
import { openMarket } from "./traffic.js";

const market = await openMarket();
console.log(`metrics: ${market.insideUrl}/metrics`);
console.log("stop with Ctrl+C");
for (;;) await market.visit();
