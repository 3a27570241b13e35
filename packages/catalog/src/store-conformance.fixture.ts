/**
 * The tests that every store of a catalog must pass.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogStore, EntryChange, EntryTexts } from "./store.js";

/** Runs every check. `open` returns an empty store. */
export function describeStore(name: string, open: () => Promise<CatalogStore>): void {
  describe(`${name} with ten entries`, () => {
    const store = openForAll(open);
    beforeAll(() => registerTen(store()), 60_000);
    testReading(store);
    testChanges(store);
    testMeanings(store);
  });

  // Each test continues with the entries of the tests before it.
  describe(`${name} without entries`, () => {
    const store = openForAll(open);
    testSearching(store);
    testWriting(store);

    test("calls reject after close", async () => {
      const closed = await open();
      await closed.count([ALL]);
      await closed.close();
      await expect(closed.count([ALL])).rejects.toBeInstanceOf(Error);
      await expect(closed.countTerms(["weather"])).rejects.toBeInstanceOf(Error);
      await expect(closed.remove(keyAt(1))).rejects.toBeInstanceOf(Error);
    });
  });
}

/** Opens one store for all tests of a block. */
function openForAll(open: () => Promise<CatalogStore>): () => CatalogStore {
  let store: CatalogStore;
  beforeAll(async () => {
    store = await open();
  }, 60_000);
  afterAll(() => store.close());
  return () => store;
}

/** Facets. */
const ALL = 1;
const EVEN = 2;
const ODD = 3;
/** The largest possible facet. */
const LARGE = 2 ** 48 - 1;

/** A change with a description; other fields have defaults. */
function change(description: string, changes: Partial<EntryChange> = {}): EntryChange {
  const texts: EntryTexts = { name: "", description, parameters: "", other: "" };
  const terms = [...new Set(description.split(" "))];
  return {
    service: description,
    updatedMs: 1_769_860_800_007,
    texts,
    terms,
    facets: [ALL],
    vector: vector(1),
    price: "~",
    ...changes,
  };
}

function vector(first: number): Int8Array {
  return Int8Array.from({ length: 100 }, (_, at) => (at === 0 ? first : -at));
}

const keyAt = (at: number) => ({ resource: `https://a.example/${at}`, toolName: "" });

/** Prices of ten entries: two with the same, some without any. */
const PRICES = ["011", "013", "0210", "~", "011", "~", "0299", "031000", "010", "~"];

/** `service 0` to `service 9`: even and odd ones, the last with the largest facet. */
async function registerTen(store: CatalogStore): Promise<void> {
  for (let at = 0; at < 10; at++) {
    const facets = [ALL, at % 2 === 0 ? EVEN : ODD, ...(at === 9 ? [LARGE] : [])];
    await store.update(keyAt(at), () =>
      change(`service ${at}`, { facets, vector: vector(at - 5), price: PRICES[at] ?? "~" }),
    );
  }
}

function testReading(store: () => CatalogStore): void {
  test("list returns entries in the order of registration", async () => {
    const listed = await store().list({ facets: [ALL], limit: 100, offset: 0, after: 0 });
    expect(listed.map(({ service }) => service)).toEqual(Array.from({ length: 10 }, (_, at) => `service ${at}`));
    expect(listed[0]).toMatchObject({ updatedMs: 1_769_860_800_007 });
    const ids = listed.map(({ id }) => id);
    expect(ids.every((id, at) => Number.isSafeInteger(id) && id > (ids[at - 1] ?? 0))).toBe(true);
  });

  test("list pages by offset, by id, and by facets", async () => {
    const ids = await idsIn(store());
    const services = async (query: Parameters<CatalogStore["list"]>[0]) =>
      (await store().list(query)).map(({ service }) => service);
    expect(await services({ facets: [ALL], limit: 2, offset: 7, after: 0 })).toEqual(["service 7", "service 8"]);
    expect(await services({ facets: [ALL], limit: 2, offset: 0, after: ids[2] ?? 0 })).toEqual([
      "service 3",
      "service 4",
    ]);
    expect(await services({ facets: [EVEN], limit: 9, offset: 1, after: 0 })).toEqual([
      "service 2",
      "service 4",
      "service 6",
      "service 8",
    ]);
    expect(await services({ facets: [ALL, ODD, LARGE], limit: 9, offset: 0, after: 0 })).toEqual(["service 9"]);
    expect(await services({ facets: [ALL], limit: 9, offset: 99, after: 0 })).toEqual([]);
  });

  test("list sorts by price, and pages by offset and by the last price and id", async () => {
    const sorted = [8, 0, 4, 1, 2, 6, 7, 3, 5, 9].map((at) => `service ${at}`);
    const first = { facets: [ALL], limit: 100, offset: 0, after: 0, afterPrice: "" };
    const all = await store().list(first);
    expect(all.map(({ service }) => service)).toEqual(sorted);
    expect(all.map(({ price }) => price)).toEqual([...PRICES].sort());
    const byOffset = await store().list({ ...first, limit: 3, offset: 6 });
    expect(byOffset.map(({ service }) => service)).toEqual(sorted.slice(6, 9));
    const seen: string[] = [];
    for (let page = await store().list({ ...first, limit: 3 }); page.length > 0; ) {
      seen.push(...page.map(({ service }) => service));
      const { id = 0, price = "" } = page.at(-1) ?? {};
      page = await store().list({ ...first, limit: 3, after: id, afterPrice: price });
    }
    expect(seen).toEqual(sorted);
    const even = await store().list({ ...first, facets: [EVEN, ALL] });
    expect(even.map(({ service }) => service)).toEqual([8, 0, 4, 2, 6].map((at) => `service ${at}`));
  });

  test("countEach counts the entries of each facet, without facets of no entry", async () => {
    const counts = await store().countEach([ALL, EVEN, LARGE, 404]);
    expect([...counts].sort(([one], [other]) => one - other)).toEqual([
      [ALL, 10],
      [EVEN, 5],
      [LARGE, 1],
    ]);
  });

  test("count counts the entries that have the facets", async () => {
    const counted = [[ALL], [EVEN], [ALL, ODD], [EVEN, ODD], [404]].map((facets) => store().count(facets));
    expect(await Promise.all(counted)).toEqual([10, 5, 5, 0, 0]);
  });

  test("get returns the entry of a key, if it has the facets", async () => {
    expect((await store().get(keyAt(2), [EVEN]))?.service).toBe("service 2");
    expect(await store().get(keyAt(2), [EVEN, ODD])).toBe(undefined);
    expect(await store().get({ ...keyAt(2), toolName: "other" }, [])).toBe(undefined);
  });

  test("find returns the stored entries by id that have the facets", async () => {
    const ids = await idsIn(store());
    const found = await store().find([ids[1] ?? 0, ids[2] ?? 0, 999_999], [EVEN]);
    expect(found.map(({ service }) => service)).toEqual(["service 2"]);
    expect(await store().find([], [])).toEqual([]);
  });
}

function testChanges(store: () => CatalogStore): void {
  test("changes lists every entry once, in parts, and then only changed entries", async () => {
    const ids = await idsIn(store());
    const seen = new Map<number, Int8Array>();
    let mark: string | undefined;
    for (let isMore = true; isMore; ) {
      const changes = await store().changes(mark, 3);
      for (const entry of changes.entries) seen.set(entry.id, entry.vector);
      ({ mark, isMore } = changes);
    }
    expect([...seen.keys()].sort((one, other) => one - other)).toEqual(ids);
    expect(seen.get(ids[0] ?? 0)).toEqual(vector(-5));
    expect((await store().changes(mark, 3)).entries).toEqual([]);
    await store().update(keyAt(4), () => change("service 4", { facets: [ALL, EVEN, 77], vector: vector(9) }));
    const { entries } = await store().changes(mark, 3);
    expect(entries).toEqual([{ id: ids[4], facets: [ALL, EVEN, 77], vector: vector(9) }]);
    expect(await store().count([77])).toBe(1);
  });
}

function testMeanings(store: () => CatalogStore): void {
  test("putMeanings stores vectors by embedder, and marks their entries as changed", async () => {
    const [first = 0, second = 0] = await idsIn(store());
    const before = await store().changes(undefined, 100, "one");
    expect(before.entries.every(({ meaning }) => meaning === undefined)).toBe(true);
    await store().putMeanings("one", [
      { id: first, terms: ["service", "0"], vector: vector(1) },
      { id: second, terms: ["service", "1"], vector: vector(2) },
    ]);
    await store().putMeanings("other", [{ id: first, terms: ["service", "0"], vector: Int8Array.of(-128, 127) }]);
    expect(await meaningsIn(store(), "one")).toEqual([
      [first, vector(1)],
      [second, vector(2)],
    ]);
    expect(await meaningsIn(store(), "other")).toEqual([[first, Int8Array.of(-128, 127)]]);
    const changed = (await store().changes(before.mark, 100, "one")).entries;
    expect(changed.find(({ id }) => id === first)?.meaning).toEqual(vector(1));
    expect((await store().changes(before.mark, 100)).entries.every((entry) => !("meaning" in entry))).toBe(true);
  });

  test("a vector of earlier terms is not stored, and one is dropped when the terms change or the entry goes", async () => {
    const [first = 0, second = 0] = await idsIn(store());
    await store().putMeanings("one", [{ id: first, terms: ["others"], vector: vector(7) }]);
    await store().putMeanings("one", [{ id: 999_999, terms: ["service", "0"], vector: vector(7) }]);
    await store().update(keyAt(0), () => change("service 0", { facets: [ALL, EVEN, 5], vector: vector(-5) }));
    expect((await meaningsIn(store(), "one"))[0]).toEqual([first, vector(1)]);
    await store().update(keyAt(0), () => change("service 00", { facets: [ALL, EVEN], vector: vector(-5) }));
    expect(await meaningsIn(store(), "one")).toEqual([[second, vector(2)]]);
    await store().remove(keyAt(1));
    await store().update(keyAt(1), () => change("service 1"));
    expect(await meaningsIn(store(), "one")).toEqual([]);
    expect(await meaningsIn(store(), "other")).toEqual([]);
  });

  test("concurrent calls of putMeanings do not lock each other out", async () => {
    const ids = await idsIn(store());
    const kept = ids.slice(2, 6).map((id, at) => ({ id, terms: ["service", String(at + 3)], vector: vector(at) }));
    const calls = Array.from({ length: 8 }, (_, at) =>
      store().putMeanings("one", at % 2 === 0 ? kept : [...kept].reverse()),
    );
    await Promise.all(calls);
    expect(await meaningsIn(store(), "one")).toHaveLength(4);
  });
}

/** Sorted by id. */
async function meaningsIn(
  store: CatalogStore,
  embedder: string,
): Promise<readonly (readonly [number, Int8Array | undefined])[]> {
  const { entries } = await store.changes(undefined, 100, embedder);
  const found = entries.filter(({ meaning }) => meaning !== undefined).map(({ id, meaning }) => [id, meaning] as const);
  return found.sort(([one], [other]) => one - other);
}

/** In the order of registration. */
async function idsIn(store: CatalogStore): Promise<readonly number[]> {
  return (await store.list({ facets: [ALL], limit: 100, offset: 0, after: 0 })).map(({ id }) => id);
}

function testSearching(store: () => CatalogStore): void {
  test("an empty store returns nothing", async () => {
    expect(await store().list({ facets: [ALL], limit: 9, offset: 0, after: 0 })).toEqual([]);
    expect(await rank(store(), "weather")).toEqual([]);
    expect(await store().changes(undefined, 9)).toMatchObject({ entries: [], isMore: false });
    expect(await store().remove(keyAt(0))).toBe(false);
  });

  test("rank adds the weights of the words that an entry has in any form, and sorts the same sum by id", async () => {
    const texts = { name: "weather", description: "", parameters: "weather by city", other: "weather" };
    await store().update(keyAt(1), () => change("named", { texts, terms: ["weather", "by", "city"] }));
    await store().update(keyAt(2), () => change("forecasts of the weather"));
    await store().update(keyAt(3), () => change("old jokes"));
    await store().update(keyAt(3), () => change("translations"));
    expect(await rank(store(), "weather")).toEqual(["named", "forecasts of the weather"]);
    expect(await rank(store(), "forecasting", "weather", "translate")).toEqual([
      "forecasts of the weather",
      "named",
      "translations",
    ]);
    expect(await rank(store(), "joke")).toEqual([]);
    const words = [
      { word: "forecast", weight: 0.5 },
      { word: "weather", weight: 0.25 },
      { word: "translation", weight: 2 },
    ];
    const scores = (await store().rank({ words, facets: [ALL], limit: 10 })).map(({ score }) => score);
    expect(scores).toEqual([2, 0.75, 0.25]);
    expect(await store().rank({ words, facets: [ALL], limit: 1 })).toHaveLength(1);
    expect(await store().rank({ words, facets: [404], limit: 10 })).toEqual([]);
  });

  test("a store counts the entries of a term, and finds terms with a similar spelling", async () => {
    const counts = await store().countTerms(["weather", "jokes", "unheard", "forecasts"]);
    expect([...counts].sort()).toEqual([
      ["forecasts", 1],
      ["weather", 2],
    ]);
    expect((await store().similarTerms("wether"))[0]).toBe("weather");
    expect((await store().similarTerms("forcast"))[0]).toBe("forecasts");
    expect(await store().similarTerms("zz")).toEqual([]);
  });

  test("a store accepts any word", async () => {
    for (const word of ["the", "½", "ß", "日本", "0", "x".repeat(40), "null", "or", "not", "near"]) {
      const ranked = store().rank({ words: weighted(word, "weather"), facets: [ALL], limit: 5 });
      await expect(ranked).resolves.toHaveLength(2);
      await expect(store().similarTerms(word)).resolves.toBeInstanceOf(Array);
    }
  });
}

/** Services that match some words, best matches first. */
async function rank(store: CatalogStore, ...words: readonly string[]): Promise<readonly unknown[]> {
  const ranked = await store.rank({ words: weighted(...words), facets: [ALL], limit: 10 });
  expect(ranked.every(({ score }) => score > 0)).toBe(true);
  const ids = ranked.map(({ id }) => id);
  const found = new Map((await store.find(ids, [])).map(({ id, service }) => [id, service]));
  return ids.map((id) => found.get(id));
}

const weighted = (...words: readonly string[]) => words.map((word) => ({ word, weight: 1 }));

function testWriting(store: () => CatalogStore): void {
  test("update passes the stored entry to decide, and writes nothing when decide returns undefined", async () => {
    const key = { resource: "mcp://tool/x", toolName: "x" };
    expect(await store().update(key, (found) => (found === undefined ? change("first") : undefined))).toBe(true);
    expect(await store().update(key, (found) => (found === undefined ? change("second") : undefined))).toBe(false);
    const seen: unknown[] = [];
    await store().update(key, (found) => void seen.push(found?.service));
    await store().update({ ...key, toolName: "y" }, (found) => void seen.push(found?.service));
    expect(seen).toEqual(["first", undefined]);
  });

  test("update writes nothing when decide throws", async () => {
    const failing = store().update(keyAt(1), () => {
      throw new RangeError("no");
    });
    await expect(failing).rejects.toThrow(RangeError);
    expect(await rank(store(), "weather")).toHaveLength(2);
  });

  test("concurrent updates of one key take turns", async () => {
    const next = (service: unknown) => change(String(Number(service ?? 0) + 1));
    const writing = Array.from({ length: 20 }, () => store().update(keyAt(50), (found) => next(found?.service)));
    await Promise.all(writing);
    const [entry] = await store().list({ facets: [ALL], limit: 1, offset: 4, after: 0 });
    expect(entry?.service).toBe("20");
  });

  test("update passes the checks of an entry to decide, and removes the entry when decide says so", async () => {
    const key = keyAt(60);
    const checks = { claims: '["a claim"]', dueMs: 1_769_860_800_007, leasedMs: 5 };
    await store().update(key, () => change("checked", { checks }));
    await store().update(key, (found) => {
      expect(found).toMatchObject({ service: "checked", checks });
      return change("checked again");
    });
    expect(
      await store().update(key, (found) => {
        expect(found?.checks).toEqual({ claims: "[]", dueMs: undefined, leasedMs: 0 });
        return "remove";
      }),
    ).toBe(true);
    await store().update(key, (found) => void expect(found).toBeUndefined());
    expect(await store().countTerms(["checked", "again"])).toEqual(new Map());
  });

  test("takeDue leases entries that are due, the longest due first, to one caller", async () => {
    const write = (at: number, dueMs?: number, leasedMs = 0) =>
      store().update(keyAt(at), () => change(`due ${at}`, { checks: { claims: `[${at}]`, dueMs, leasedMs } }));
    const take = async (nowMs: number, limit: number) =>
      (await store().takeDue({ nowMs, untilMs: nowMs + 100, limit })).map(({ claims }) => claims).sort();
    await Promise.all([write(61, 1_000), write(62, 900), write(63, 5_000), write(64), write(65, 800, 2_000)]);
    expect(await take(1_000, 1)).toEqual(["[62]"]);
    expect((await Promise.all([take(1_000, 9), take(1_000, 9), take(1_000, 9)])).flat()).toEqual(["[61]"]);
    expect(await take(1_099, 9)).toEqual([]);
    const [due] = await store().takeDue({ nowMs: 1_100, untilMs: 1_200, limit: 1 });
    await store().postpone(due?.id ?? 0, 1_150);
    expect(await take(1_149, 9)).toEqual(["[61]"]);
    expect(await take(1_150, 9)).toEqual([due?.claims]);
    for (const at of [61, 62, 63, 64, 65]) await store().remove(keyAt(at));
    expect(await take(9_999_999, 9)).toEqual([]);
  });

  test("remove removes an entry with its texts, terms and facets", async () => {
    expect(await store().remove(keyAt(2))).toBe(true);
    expect(await rank(store(), "forecast")).toEqual([]);
    expect(await store().countTerms(["forecasts"])).toEqual(new Map());
    const left = await store().list({ facets: [ALL], limit: 99, offset: 0, after: 0 });
    expect(left.map(({ service }) => service)).not.toContain("forecasts of the weather");
  });
}
