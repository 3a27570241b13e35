/**
 * What a list and a search cost with many entries, in SQLite and in PostgreSQL.
 *
 * Searches are measured with the sentence encoder: it encodes each query, which takes its time, and then the query gets a vector of
 * the same make as the entries. The encoder itself would take a quarter of an hour for 100,000 entries. Last, the index of vectors is
 * compared with one that compares all vectors.
 *
 * Usage: `node test/bench/catalog.mjs [entries] [sqlite|postgres|index] [file of SQLite]`, after `node packages/build.mjs`. PostgreSQL
 * is that of `DATABASE_URL`; without one, only SQLite is measured. A file that is named is kept, and its entries are used again.
 *
 * @module
 */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createCatalog } from "@farebox/catalog";
import { createPostgresCatalogStore } from "@farebox/catalog/postgres";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { sentenceEmbedder } from "@farebox/catalog-embeddings";
import { build } from "esbuild";

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

const vectorsOfWords = new Map();
const kept = process.argv[4];
const file = kept ?? join(tmpdir(), `farebox-bench-${process.pid}.db`);
if (ONLY === undefined || ONLY === "sqlite") {
  await measure("SQLite, in a file", createSqliteCatalogStore({ path: file }), 1);
  for (const ending of kept === undefined ? ["", "-wal", "-shm"] : []) rmSync(file + ending, { force: true });
}
const url = process.env.DATABASE_URL;
if (url !== undefined && (ONLY === undefined || ONLY === "postgres")) {
  await measure("PostgreSQL", createPostgresCatalogStore({ url }), 10);
}
if (ONLY === undefined || ONLY === "index") await compareWithExact();

async function measure(name, store, lanes) {
  const unclosed = { ...store, close: async () => {} };
  const started = performance.now();
  const filling = createCatalog({ checkOwners: false, store: unclosed, embedder: false });
  const { total } = await filling.list({ limit: 1, offset: 0 });
  let next = total;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (next < COUNT) await filling.register(registration(next++));
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `\n${name}: ${COUNT - total} entries registered in ${seconds.toFixed(0)} s, ${((COUNT - total) / seconds).toFixed(0)} a second`,
  );
  const encoder = sentenceEmbedder();
  let embedded = 0;
  const embedder = {
    ...encoder,
    async embed(texts, purpose) {
      if (purpose === "query") await encoder.embed(texts, purpose);
      else embedded += texts.length;
      return texts.map(vectorOf);
    },
  };
  const catalog = createCatalog({ checkOwners: false, store, embedder });
  const waited = performance.now();
  for (let before = -1; before < embedded || embedded < COUNT - total; before = embedded) await setTimeout(2_000);
  console.log(`${embedded} embedded, ${((performance.now() - waited) / 1000).toFixed(0)} s later`);
  const fresh = createCatalog({ checkOwners: false, store: unclosed, embedder: false });
  const first = performance.now();
  await fresh.search({ query: "weather", limit: 20 });
  console.log(`first search of a process, by words: ${(performance.now() - first).toFixed(0)} ms`);
  const other = createCatalog({
    checkOwners: false,
    store: unclosed,
    embedder: { ...embedder, close: async () => {} },
  });
  const begun = performance.now();
  await other.search({ query: "weather", limit: 20 });
  console.log(`first search of a process, by meaning: ${(performance.now() - begun).toFixed(0)} ms`);
  for (const one of [fresh, other]) await one.close();

  const last = COUNT - 40;
  const deep = await catalog.list({ limit: 20, offset: last });
  await time("list, first page", () => catalog.list({ limit: 20, offset: 0 }));
  await time(`list, offset ${last}`, () => catalog.list({ limit: 20, offset: last }));
  await time("list, cursor near the end", () => catalog.list({ limit: 20, offset: 0, cursor: deep.cursor }));
  await time("list, three filters, half way", () =>
    catalog.list({ limit: 20, offset: COUNT / 8, type: "http", network: "eip155:8453", scheme: "exact" }),
  );
  await time("list, one payTo", () => catalog.list({ limit: 20, offset: 0, payTo: payee(7) }));
  const ask = (at) => `${QUERIES[at % QUERIES.length]} ${words[1_000 + at]}`;
  await time("search", (at) => catalog.search({ query: ask(at), limit: 20 }));
  await time("search, query asked before", (at) => catalog.search({ query: ask(at), limit: 20 }));
  await time("search, two filters", (at) =>
    catalog.search({ query: ask(200 + at), limit: 20, type: "mcp", network: "eip155:8453" }),
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

/** Compares the ten nearest by the index with the ten nearest of all, and the time that each takes. */
async function compareWithExact() {
  const { createVectorIndex } = await load("vector-index.ts");
  const index = createVectorIndex(512);
  const rows = Array.from({ length: COUNT }, (_, at) => unit(vectorOf(registration(at).description)));
  const bytes = rows.map((row) => Int8Array.from(row, (number) => Math.round(number * 254)));
  for (let from = 0; from < COUNT; from += 2_000) {
    const part = bytes.slice(from, from + 2_000);
    index.put(part.map((meaning, at) => ({ id: from + at, facets: [1], vector: new Int8Array(100), meaning })));
  }
  let shared = 0;
  const asked = Array.from({ length: 50 }, (_, at) =>
    registration(at * 999 + 7)
      .description.split(" ")
      .slice(0, 7)
      .join(" "),
  );
  const times = [];
  for (const text of asked) {
    const query = unit(vectorOf(text));
    const meaning = Int8Array.from(query, (number) => Math.round(number * 254));
    const best = rows.map((row, id) => [id, dot(row, query)]);
    best.sort(([, one], [, another]) => another - one);
    const started = performance.now();
    const near = await index.nearest({ words: undefined, meaning }, [1], 10);
    times.push(performance.now() - started);
    shared += best.slice(0, 10).filter(([id]) => near.some((found) => found.id === id)).length;
  }
  times.sort((one, another) => one - another);
  console.log(
    `\nthe index of ${COUNT} vectors: recall@10 ${shared / (10 * asked.length)}, p50 ${times[times.length >> 1].toFixed(1)} ms, most ${times[times.length - 1].toFixed(1)} ms`,
  );
}

async function load(name) {
  const source = fileURLToPath(new URL(`../../packages/catalog/src/${name}`, import.meta.url));
  const outfile = join(tmpdir(), `farebox-bench-${process.pid}.mjs`);
  await build({ entryPoints: [source], bundle: true, platform: "node", format: "esm", outfile });
  const loaded = await import(outfile);
  rmSync(outfile);
  return loaded;
}

/** The sum of a vector for each word: texts with common words are near each other. */
function vectorOf(text) {
  const sum = new Float32Array(512);
  for (const word of new Set(text.split(/\W+/))) {
    const vector = vectorOfWord(word);
    for (let at = 0; at < sum.length; at++) sum[at] += vector[at];
  }
  return sum;
}

/** Always the same for a word; frequent words are short, as they tell little. */
function vectorOfWord(word) {
  let vector = vectorsOfWords.get(word);
  if (vector === undefined) {
    let state = [...word].reduce(
      (hash, letter) => Math.imul(hash ^ letter.codePointAt(0), 16_777_619) >>> 0,
      2_166_136_261,
    );
    const length = Math.log(2 + Math.max(0, words.indexOf(word))) / 10;
    vector = Float32Array.from({ length: 512 }, () => {
      state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
      return (state / 2 ** 31 - 1) * length;
    });
    vectorsOfWords.set(word, vector);
  }
  return vector;
}

function dot(one, another) {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at] * another[at];
  return sum;
}

function unit(vector) {
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0)) || 1;
  return vector.map((number) => number / length);
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
