import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Registration } from "@farebox/bazaar/facilitator";
import { ConfigError, type LogFields } from "@farebox/core";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { createCatalog, type LocalCatalog } from "./catalog.js";
import type { Embedder } from "./embedder.js";
import { createSqliteCatalogStore } from "./sqlite/sqlite-store.js";

const folder = mkdtempSync(join(tmpdir(), "farebox-embedder-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

/** Knows topics, by words that the entries do not have. */
const TOPICS = ["umbrella|weather", "rabbit|animals", "violin|music"];

function topics(changes: Partial<Embedder> = {}): Embedder & { readonly calls: string[] } {
  const calls: string[] = [];
  const meaning = (text: string) => TOPICS.map((words) => (new RegExp(words, "i").test(text) ? 1 : 0));
  return {
    name: "topics",
    dimensions: TOPICS.length,
    calls,
    async embed(texts, purpose) {
      calls.push(...texts.map((text) => `${purpose}: ${text}`));
      return texts.map(meaning);
    },
    ...changes,
  };
}

function registration(name: string, description: string): Registration {
  const offer = {
    ...{ scheme: "exact", network: "eip155:84532", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" },
    ...{ payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", amount: "1000", maxTimeoutSeconds: 60, extra: {} },
  };
  const info = { input: { type: "http" as const, method: "GET" } };
  return { type: "http", resource: `https://a.example/${name}`, toolName: "", info, schema: {}, description, offer };
}

async function listThree(catalog: LocalCatalog): Promise<void> {
  await catalog.register(registration("sky", "Weather of a place"));
  await catalog.register(registration("zoo", "Animals of a country"));
  await catalog.register(registration("band", "Music of a decade"));
}

/** Searches until no vector is missing. */
async function searchWhole(catalog: LocalCatalog, query: string): Promise<readonly string[]> {
  for (;;) {
    const { entries, isPartial } = await catalog.search({ query, limit: 9 });
    if (!isPartial) return entries.map(({ resource }) => resource.replace("https://a.example/", ""));
    await setImmediate();
  }
}

test("a search compares meanings by the embedder, which gets each entry once and each query once", async () => {
  const embedder = topics();
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder });
  await listThree(catalog);
  expect(await searchWhole(catalog, "umbrella")).toEqual(["sky"]);
  await listThree(catalog);
  expect(await searchWhole(catalog, "umbrella")).toEqual(["sky"]);
  expect(embedder.calls.sort()).toEqual([
    "entry: band: Music of a decade",
    "entry: sky: Weather of a place",
    "entry: zoo: Animals of a country",
    "query: umbrella",
  ]);
  await catalog.close();
});

test("scores are told, from 0 to 1, on the next page as well", async () => {
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder: topics() });
  await listThree(catalog);
  await searchWhole(catalog, "weather animals");
  const first = await catalog.search({ query: "weather animals", limit: 1 });
  const second = await catalog.search({ query: "weather animals", limit: 1, cursor: first.cursor ?? "" });
  const [one, other] = [first, second].map(({ entries }) => entries[0]?.score ?? 0);
  expect(one).toBeGreaterThan(0.3);
  expect(one).toBeLessThanOrEqual(1);
  expect(other).toBeGreaterThan(0.3);
  expect(other).toBeLessThanOrEqual(one ?? 0);
  await catalog.close();
});

test("payments do not raise a rank", async () => {
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder: topics() });
  await listThree(catalog);
  await catalog.register(registration("sky2", "Weather of a place"));
  await searchWhole(catalog, "umbrella");
  const before = await catalog.search({ query: "umbrella", limit: 9 });
  for (let paid = 0; paid < 20; paid++) await catalog.register(registration("sky2", "Weather of a place"));
  const after = await catalog.search({ query: "umbrella", limit: 9 });
  expect(after.entries.map(({ resource, score }) => [resource, score])).toEqual(
    before.entries.map(({ resource, score }) => [resource, score]),
  );
  await catalog.close();
});

const VECTOR = [1, 0, 0];
const FAILURES: readonly (readonly [string, Embedder["embed"], string])[] = [
  [
    "throws",
    () => {
      throw new RangeError("secret");
    },
    "RangeError",
  ],
  ["rejects", () => Promise.reject(new RangeError("secret")), "RangeError"],
  ["returns too few vectors", async () => [], "another number of vectors than of texts"],
  ["returns no vectors", async () => null as never, "another number of vectors than of texts"],
  ["returns vectors of another size", async (texts) => texts.map(() => [1]), "a vector of another size"],
  ["returns NaN", async (texts) => texts.map(() => [1, Number.NaN, 0]), "a number that is not finite"],
];

test.each(FAILURES)("an embedder that %s leaves a search by text, and a line in the log", async (_, embed, error) => {
  const lines: (readonly [string, LogFields])[] = [];
  const log = (event: string, fields: LogFields) => void lines.push([event, fields]);
  const logger = { info: log, warn: log, error: log };
  const catalog = createCatalog({
    checkOwners: false,
    store: createSqliteCatalogStore(),
    embedder: topics({ embed }),
    logger,
  });
  await listThree(catalog);
  const { entries, isPartial } = await catalog.search({ query: "weather", limit: 9 });
  expect(entries.map(({ resource }) => resource)).toContain("https://a.example/sky");
  expect(isPartial).toBe(true);
  expect(lines).toContainEqual(["catalog_embedder_failed", { embedder: "topics", error }]);
  expect(JSON.stringify(lines)).not.toContain("secret");
  await catalog.close();
});

test("an embedder that hangs is waited for once, and then not for ten seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  let isHanging = true;
  const embed: Embedder["embed"] = async (texts, purpose) =>
    isHanging && purpose === "query" ? new Promise(() => {}) : texts.map(() => VECTOR);
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder: topics({ embed }) });
  await listThree(catalog);
  const first = catalog.search({ query: "weather", limit: 9 });
  await vi.advanceTimersByTimeAsync(2_000);
  expect((await first).isPartial).toBe(true);
  const second = await catalog.search({ query: "animals", limit: 9 });
  expect(second.entries.map(({ resource }) => resource)).toContain("https://a.example/zoo");
  expect(second.isPartial).toBe(true);
  isHanging = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await catalog.search({ query: "animals", limit: 9 })).isPartial).toBe(false);
  await catalog.close();
});

test("one entry that cannot be embedded holds up neither the others nor the search", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { embed } = topics();
  const failing: Embedder["embed"] = async (texts, purpose) =>
    texts.some((text) => text.includes("Animals")) ? Promise.reject(new RangeError()) : embed(texts, purpose);
  const catalog = createCatalog({
    checkOwners: false,
    store: createSqliteCatalogStore(),
    embedder: topics({ embed: failing }),
  });
  await listThree(catalog);
  for (let tries = 0; (await catalog.search({ query: "umbrella", limit: 9 })).isPartial; tries++) {
    expect(tries).toBeLessThan(20);
    await vi.advanceTimersByTimeAsync(10_000);
  }
  const { entries } = await catalog.search({ query: "violin", limit: 9 });
  expect(entries.map(({ resource }) => resource)).toEqual(["https://a.example/band"]);
  await catalog.close();
});

test("another embedder embeds the entries again, and the first one finds its vectors when it comes back", async () => {
  const path = join(folder, "several.db");
  const open = async (embedder: Embedder): Promise<readonly string[]> => {
    const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore({ path }), embedder });
    if ((await catalog.list({ limit: 1, offset: 0 })).total === 0) await listThree(catalog);
    const found = await searchWhole(catalog, "violin");
    await catalog.close();
    return found;
  };
  const first = topics();
  expect(await open(first)).toEqual(["band"]);
  // The same topics in another order: the vectors of the two must not be compared.
  const turned = topics();
  const second: Embedder = {
    ...turned,
    name: "turned",
    embed: async (texts, purpose) => (await turned.embed(texts, purpose)).map((vector) => Array.from(vector).reverse()),
  };
  expect(await open(second)).toEqual(["band"]);
  expect(turned.calls.filter((call) => call.startsWith("entry"))).toHaveLength(3);
  const again = topics();
  expect(await open(again)).toEqual(["band"]);
  expect(again.calls).toEqual(["query: violin"]);
});

test("an entry with another description is embedded again", async () => {
  const embedder = topics();
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder });
  await listThree(catalog);
  await searchWhole(catalog, "violin");
  await catalog.register(registration("sky", "Music of the spheres"));
  expect(new Set(await searchWhole(catalog, "violin"))).toEqual(new Set(["band", "sky"]));
  expect(embedder.calls.filter((call) => call.startsWith("entry: sky"))).toEqual([
    "entry: sky: Weather of a place",
    "entry: sky: Music of the spheres",
  ]);
  await catalog.close();
});

test("a least score may depend on the number of entries, and one that fails refuses nothing", async () => {
  const asked: number[] = [];
  const foundWith = async (minScore: Embedder["minScore"]): Promise<readonly string[]> => {
    const embedder = topics(minScore === undefined ? {} : { minScore });
    const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder });
    await listThree(catalog);
    const found = await searchWhole(catalog, "umbrella");
    await catalog.close();
    return found;
  };
  const least = (entries: number) => {
    asked.push(entries);
    return entries === 3 ? 0.9 : 0;
  };
  expect(await foundWith(0.2)).toEqual(["sky"]);
  expect(await foundWith(least)).toEqual([]);
  expect(new Set(asked)).toEqual(new Set([3]));
  expect(await foundWith(() => Number.NaN)).toEqual(["sky"]);
  const failing = () => {
    throw new RangeError();
  };
  expect(await foundWith(failing)).toEqual(["sky"]);
});

test("of a query that the embedder does not understand, only entries that share its words are found", async () => {
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder: topics() });
  await listThree(catalog);
  // Forecasts are like the words of the weather, and no topic.
  expect(await searchWhole(catalog, "forecasts")).toEqual([]);
  expect(await searchWhole(catalog, "decades")).toEqual(["band"]);
  await catalog.close();
});

test("the catalog closes its embedder", async () => {
  const close = vi.fn(async () => {});
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder: topics({ close }) });
  await catalog.close();
  expect(close).toHaveBeenCalledTimes(1);
});

test("a wrong embedder is refused with every mistake", () => {
  const store = createSqliteCatalogStore();
  const wrong = { name: "", dimensions: 0, minScore: 2, embed: 1, close: 1 };
  const issuesOf = (embedder: unknown) => {
    try {
      createCatalog({ checkOwners: false, store, embedder: embedder as Embedder });
      return [];
    } catch (error) {
      return error instanceof ConfigError ? error.issues.map(({ path }) => path) : error;
    }
  };
  expect(issuesOf(wrong)).toEqual(
    ["name", "dimensions", "minScore", "embed", "close"].map((name) => expect.stringContaining(name)),
  );
  expect(issuesOf(async () => [])).toHaveLength(1);
  expect(issuesOf({ ...topics(), dimensions: undefined })).toHaveLength(1);
});
