/**
 * What a list and a search cost with many entries, in SQLite and in PostgreSQL.
 *
 * Usage: `node test/bench/catalog.mjs [entries] [sqlite|postgres]`, after `node packages/build.mjs`. PostgreSQL is that of
 * `DATABASE_URL`; without one, only SQLite is measured.
 *
 * @module
 */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createCatalog } from "@farebox/catalog";
import { createPostgresCatalogStore } from "@farebox/catalog/postgres";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";

const COUNT = Number(process.argv[2] ?? 100_000);
const ONLY = process.argv[3];
const ROUNDS = 100;

const words = readFileSync(new URL("../../packages/catalog/assets/words.txt", import.meta.url), "latin1").split("\n");
const QUERIES = [
  "is it raining in london right now",
  "convert euros into yen",
  "translate a document into french",
  "what can I cook with eggs",
  "wether forcast",
  "scan a file for viruses",
  "api",
  "find scientific papers about climate change and energy policy in developing countries",
];

const file = join(tmpdir(), `farebox-bench-${process.pid}.db`);
if (ONLY !== "postgres") await measure("SQLite, in a file", createSqliteCatalogStore({ path: file }), 1);
for (const ending of ["", "-wal", "-shm"]) rmSync(file + ending, { force: true });
const url = process.env.DATABASE_URL;
if (url !== undefined && ONLY !== "sqlite") await measure("PostgreSQL", createPostgresCatalogStore({ url }), 10);

async function measure(name, store, lanes) {
  const catalog = createCatalog({ store, checkOwners: false });
  const started = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (next < COUNT) await catalog.register(registration(next++));
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `\n${name}: ${COUNT} entries registered in ${seconds.toFixed(0)} s, ${(COUNT / seconds).toFixed(0)} a second`,
  );
  const first = performance.now();
  await catalog.search({ query: "weather", limit: 20 });
  console.log(`first search, which reads the vectors: ${(performance.now() - first).toFixed(0)} ms`);

  const last = COUNT - 40;
  const deep = await catalog.list({ limit: 20, offset: last });
  await time("list, first page", () => catalog.list({ limit: 20, offset: 0 }));
  await time(`list, offset ${last}`, () => catalog.list({ limit: 20, offset: last }));
  await time("list, cursor near the end", () => catalog.list({ limit: 20, offset: 0, cursor: deep.cursor }));
  await time("list, three filters, half way", () =>
    catalog.list({ limit: 20, offset: COUNT / 8, type: "http", network: "eip155:8453", scheme: "exact" }),
  );
  await time("list, one payTo", () => catalog.list({ limit: 20, offset: 0, payTo: payee(7) }));
  await time("search", (at) => catalog.search({ query: QUERIES[at % QUERIES.length], limit: 20 }));
  await time("search, two filters", (at) =>
    catalog.search({ query: QUERIES[at % QUERIES.length], limit: 20, type: "mcp", network: "eip155:8453" }),
  );
  const page = await catalog.search({ query: QUERIES[0], limit: 20 });
  await time("search, next page", () => catalog.search({ query: QUERIES[0], limit: 20, cursor: page.cursor }));
  await catalog.close();
}

async function time(name, work) {
  for (let at = 0; at < 8; at++) await work(at);
  const times = [];
  for (let at = 0; at < ROUNDS; at++) {
    const started = performance.now();
    await work(at);
    times.push(performance.now() - started);
  }
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.floor(share * (ROUNDS - 1))].toFixed(1).padStart(8);
  console.log(`${name.padEnd(34)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`);
}

function payee(at) {
  return `0x${(at % 5_000).toString(16).padStart(40, "0")}`;
}

/** The same entry for the same number: a dozen words, frequent ones more often, as descriptions have them. */
function registration(at) {
  let state = at * 2_654_435_761 + 1;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state / 2 ** 32;
  };
  const word = () => words[Math.floor(words.length ** random())] ?? "service";
  const text = (length) => Array.from({ length }, word).join(" ");
  const isTool = at % 4 === 0;
  const properties = { [word()]: { type: "string", description: text(4) }, [word()]: { type: "string" } };
  const inputSchema = { type: "object", properties };
  const info = isTool
    ? { input: { type: "mcp", toolName: `tool_${word()}_${at}`, inputSchema } }
    : { input: { type: "http", method: "GET", queryParams: {} } };
  const network = at % 2 === 0 ? "eip155:8453" : "eip155:84532";
  return {
    type: isTool ? "mcp" : "http",
    resource: isTool ? `mcp://tool/tool_${at}` : `https://${word()}.example/${word()}/${at}`,
    toolName: isTool ? info.input.toolName : "",
    info,
    schema: { properties: { input: { properties: { queryParams: inputSchema } } } },
    description: text(12),
    offer: {
      scheme: at % 10 === 0 ? "upto" : "exact",
      network: at % 3 === 0 ? "eip155:8453" : network,
      asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      payTo: payee(at),
      amount: "1000",
      maxTimeoutSeconds: 60,
      extra: {},
    },
  };
}
