/**
 * Makes 2,000 tables, one for each tenant, used by one request, two or three, and prints how many are left, and how much the heap has grown.
 *
 * Usage: `node --expose-gc collected.mjs`
 *
 * @module
 */
import { once } from "node:events";
import { Agent, get } from "node:http";
import { setImmediate } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express from "express";

const payments = createPayments({
  facilitator: createTestFacilitator(),
  payTo: { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  networks: ["eip155:84532"],
  logger: { info() {}, warn() {}, error() {} },
});

/** The tables of the tenant that is asked for now. */
const cache = new Map();
const tables = [];

function tableOf(tenant) {
  if (!cache.has(tenant)) {
    cache.clear();
    const table = payments.routes({ "GET /report": { price: "$0.01" }, "GET /all": { price: "$0.02" } });
    tables.push(new WeakRef(table));
    cache.set(tenant, table);
  }
  return cache.get(tenant);
}

const app = express();
app.use("/t/:tenant", (req, res, next) => tableOf(req.params.tenant)(req, res, next));
app.get("/t/:tenant/report", (_req, res) => res.send("free"));
app.all("/t/:tenant/all", (_req, res) => res.send("free"));
app.get("/other", (_req, res) => res.send("free"));

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");

async function ask(path) {
  const [response] = await once(get({ port: server.address().port, host: "127.0.0.1", path, agent }), "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

/** What is in use, when all that can be collected was. */
async function heapUsed() {
  for (let turn = 0; turn < 5; turn++) {
    await setImmediate();
    gc();
  }
  return getHeapStatistics().used_heap_size;
}

let asked = 0;
let priced = 0;
async function visit(from, to) {
  for (let at = from; at < to; at++) {
    for (let use = at % 3; use >= 0; use--) {
      asked++;
      if ((await ask(`/t/${at}/Report/`)) === 402) priced++;
    }
  }
  cache.clear();
  await ask("/other");
  return await heapUsed();
}

const first = await visit(0, 1_000);
const second = await visit(1_000, 2_000);
const alive = tables.filter((table) => table.deref() !== undefined).length;
console.log(JSON.stringify({ made: tables.length, asked, priced, alive, grown: second - first }));
process.exit();
