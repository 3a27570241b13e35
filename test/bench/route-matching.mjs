/**
 * What it costs to look a request up, by the number of keys: 10,000 are to cost as much as one.
 *
 * Usage: `npx -y pnpm@10 bench`. Prints, for each number of keys, the median time of a request that meets a key, and of one
 * that meets none, through the whole of the gate's decision; rounds are interleaved, so that what the machine does besides
 * falls on all of them.
 *
 * @module
 */
import { createPaymentsEngine } from "@farebox/core";
import { exactEvm } from "@farebox/evm";

const SIZES = [1, 100, 1_000, 10_000];
const ROUNDS = 15;
const REQUESTS = 5_000;

const PRICED = {
  accepts: { price: "$0.01", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
};

const request = (path) => ({
  method: "GET",
  path,
  mountPath: "",
  search: "",
  origin: "https://api.example.com",
  accept: undefined,
  userAgent: undefined,
  paymentSignature: undefined,
});

function createTable(size) {
  const engine = createPaymentsEngine({ facilitator: "https://x402.org/facilitator" }, [exactEvm()]);
  const keys = Array.from({ length: size }, (_, at) => (at % 2 === 0 ? `GET /item-${at}/:id` : `GET /list-${at}`));
  const started = performance.now();
  const gate = engine.routes(Object.fromEntries(keys.map((key) => [key, PRICED])));
  return { size, gate, startMs: performance.now() - started, free: [], priced: [] };
}

async function measure(gate, path) {
  const asked = request(path);
  const started = performance.now();
  for (let at = 0; at < REQUESTS; at++) await gate.decide(asked);
  return ((performance.now() - started) * 1_000) / REQUESTS;
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

const tables = SIZES.map(createTable);
for (let round = 0; round < ROUNDS; round++) {
  for (const { gate, size, free, priced } of tables) {
    free.push(await measure(gate, "/about/us"));
    priced.push(await measure(gate, `/item-${2 * Math.floor((size - 1) / 2)}/7`));
  }
}

console.log("keys     free request   priced request   start");
for (const { size, free, priced, startMs } of tables) {
  const columns = [`${median(free).toFixed(2)} us`, `${median(priced).toFixed(1)} us`, `${startMs.toFixed(0)} ms`];
  console.log(`${String(size).padEnd(8)} ${columns[0].padEnd(14)} ${columns[1].padEnd(16)} ${columns[2]}`);
}
