/**
 * What every store of a catalog must do, as tests.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogStore, EntryChange, EntryTexts } from "./store.js";

const ALL = 1;
const EVEN = 2;
const ODD = 3;
/** The largest that a facet can be. */
const LARGE = 2 ** 48 - 1;

/** A change of which only the texts matter. */
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
    ...changes,
  };
}

function vector(first: number): Int8Array {
  return Int8Array.from({ length: 100 }, (_, at) => (at === 0 ? first : -at));
}

const keyAt = (at: number) => ({ resource: `https://a.example/${at}`, toolName: "" });

/** Runs every check on stores that `open` yields, each with nothing in it. */
export function describeStore(name: string, open: () => Promise<CatalogStore>): void {
  describe(`${name} with ten entries`, () => {
    let store: CatalogStore;
    const ids: number[] = [];
    beforeAll(async () => {
      store = await open();
      for (let at = 0; at < 10; at++) {
        const facets = [ALL, at % 2 === 0 ? EVEN : ODD, ...(at === 9 ? [LARGE] : [])];
        await store.update(keyAt(at), () => change(`service ${at}`, { facets, vector: vector(at - 5) }));
      }
    }, 60_000);
    afterAll(() => store.close());

    test("lists them in the order of registration", async () => {
      const listed = await store.list({ facets: [ALL], limit: 100, offset: 0, after: 0 });
      expect(listed.map(({ service }) => service)).toEqual(Array.from({ length: 10 }, (_, at) => `service ${at}`));
      expect(listed[0]).toMatchObject({ updatedMs: 1_769_860_800_007 });
      ids.push(...listed.map(({ id }) => id));
      expect(ids.every((id, at) => Number.isSafeInteger(id) && id > (ids[at - 1] ?? 0))).toBe(true);
    });

    test("pages by offset, by id, and by facets", async () => {
      const services = async (query: Parameters<CatalogStore["list"]>[0]) =>
        (await store.list(query)).map(({ service }) => service);
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

    test("counts by facets", async () => {
      expect(
        await Promise.all([[ALL], [EVEN], [ALL, ODD], [EVEN, ODD], [404]].map((facets) => store.count(facets))),
      ).toEqual([10, 5, 5, 0, 0]);
    });

    test("finds by id, but for those that are not there or have not the facets", async () => {
      const found = await store.find([ids[1] ?? 0, ids[2] ?? 0, 999_999], [EVEN]);
      expect(found.map(({ service }) => service)).toEqual(["service 2"]);
      expect(await store.find([], [])).toEqual([]);
    });

    test("tells everything once, in parts, and then only what changes", async () => {
      const seen = new Map<number, Int8Array>();
      let mark: string | undefined;
      for (let isMore = true; isMore; ) {
        const changes = await store.changes(mark, 3);
        for (const entry of changes.entries) seen.set(entry.id, entry.vector);
        ({ mark, isMore } = changes);
      }
      expect([...seen.keys()].sort((one, other) => one - other)).toEqual(ids);
      expect(seen.get(ids[0] ?? 0)).toEqual(vector(-5));
      expect((await store.changes(mark, 3)).entries).toEqual([]);
      await store.update(keyAt(4), () => change("service 4", { facets: [ALL, EVEN, 77], vector: vector(9) }));
      const { entries } = await store.changes(mark, 3);
      expect(entries).toEqual([{ id: ids[4], facets: [ALL, EVEN, 77], vector: vector(9) }]);
      expect(await store.count([77])).toBe(1);
    });
  });

  describe(`${name} that is empty`, () => {
    let store: CatalogStore;
    beforeAll(async () => {
      store = await open();
    }, 60_000);
    afterAll(() => store.close());
    const rank = async (...words: string[]) => {
      const ranked = await store.rank({ words: words.map((word) => ({ word, weight: 1 })), facets: [ALL], limit: 10 });
      const found = new Map(
        (
          await store.find(
            ranked.map(({ id }) => id),
            [],
          )
        ).map(({ id, service }) => [id, service]),
      );
      expect(ranked.every(({ score }) => score > 0)).toBe(true);
      return ranked.map(({ id }) => found.get(id));
    };

    test("has nothing to say", async () => {
      expect(await store.list({ facets: [ALL], limit: 9, offset: 0, after: 0 })).toEqual([]);
      expect(await rank("weather")).toEqual([]);
      expect(await store.changes(undefined, 9)).toMatchObject({ entries: [], isMore: false });
      expect(await store.remove(keyAt(0))).toBe(false);
    });

    test("ranks by text: stems, weights, and the words of what was there before are forgotten", async () => {
      const texts = { name: "weather", description: "nothing else", parameters: "", other: "" };
      await store.update(keyAt(1), () => change("named", { texts, terms: ["weather"] }));
      await store.update(keyAt(2), () => change("forecasts of the weather"));
      await store.update(keyAt(3), () => change("old jokes"));
      await store.update(keyAt(3), () => change("translations"));
      expect(await rank("weather")).toEqual(["named", "forecasts of the weather"]);
      expect(await rank("forecasting")).toEqual(["forecasts of the weather"]);
      expect(await rank("joke")).toEqual([]);
      expect(await rank("joke", "translation")).toEqual(["translations"]);
      expect(await store.rank({ words: [{ word: "weather", weight: 1 }], facets: [404], limit: 10 })).toEqual([]);
    });

    test("knows its terms, how many entries have them, and those that are written alike", async () => {
      const counts = await store.countTerms(["weather", "jokes", "unheard", "forecasts"]);
      expect([...counts].sort()).toEqual([
        ["forecasts", 1],
        ["weather", 2],
      ]);
      expect((await store.similarTerms("wether"))[0]).toBe("weather");
      expect((await store.similarTerms("forcast"))[0]).toBe("forecasts");
      expect(await store.similarTerms("zz")).toEqual([]);
    });

    test("takes any word", async () => {
      for (const word of ["the", "½", "ß", "日本", "0", "x".repeat(40), "null", "or", "not", "near"]) {
        await expect(
          store.rank({
            words: [
              { word, weight: 1 },
              { word: "weather", weight: 1 },
            ],
            facets: [ALL],
            limit: 5,
          }),
        ).resolves.toHaveLength(2);
        await expect(store.similarTerms(word)).resolves.toBeInstanceOf(Array);
      }
    });

    test("says what is there to whoever decides, and writes nothing when that is decided", async () => {
      const key = { resource: "mcp://tool/x", toolName: "x" };
      expect(await store.update(key, (found) => (found === undefined ? change("first") : undefined))).toBe(true);
      expect(await store.update(key, (found) => (found === undefined ? change("second") : undefined))).toBe(false);
      const seen: unknown[] = [];
      await store.update(key, (found) => void seen.push(found?.service));
      await store.update({ ...key, toolName: "y" }, (found) => void seen.push(found?.service));
      expect(seen).toEqual(["first", undefined]);
    });

    test("writes nothing at all when whoever decides fails", async () => {
      const failing = store.update(keyAt(1), () => {
        throw new RangeError("no");
      });
      await expect(failing).rejects.toThrow(RangeError);
      expect(await rank("weather")).toHaveLength(2);
    });

    test("lets two that write one key at once take turns", async () => {
      const key = keyAt(50);
      await Promise.all(
        Array.from({ length: 20 }, () => store.update(key, (found) => change(String(Number(found?.service ?? 0) + 1)))),
      );
      const [entry] = await store.list({ facets: [ALL], limit: 1, offset: 4, after: 0 });
      expect(entry?.service).toBe("20");
    });

    test("removes an entry, and everything about it", async () => {
      expect(await store.remove(keyAt(2))).toBe(true);
      expect(await rank("forecast")).toEqual([]);
      expect(await store.countTerms(["forecasts"])).toEqual(new Map());
      expect(
        (await store.list({ facets: [ALL], limit: 99, offset: 0, after: 0 })).map(({ service }) => service),
      ).not.toContain("forecasts of the weather");
    });

    test("refuses when it is closed", async () => {
      const closed = await open();
      await closed.count([ALL]);
      await closed.close();
      await expect(closed.count([ALL])).rejects.toBeInstanceOf(Error);
      await expect(closed.countTerms(["weather"])).rejects.toBeInstanceOf(Error);
      await expect(closed.remove(keyAt(1))).rejects.toBeInstanceOf(Error);
    });
  });
}
