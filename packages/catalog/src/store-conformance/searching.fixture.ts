/**
 * Whether a store finds entries by their words: it is empty at first.
 *
 * @module
 */
import { expect, test } from "vitest";
import type { CatalogStore } from "../store.js";
import { ALL, change, keyAt } from "./entries.fixture.js";

export function testSearching(store: () => CatalogStore): void {
  test("has nothing to say", async () => {
    expect(await store().list({ facets: [ALL], limit: 9, offset: 0, after: 0 })).toEqual([]);
    expect(await rank(store(), "weather")).toEqual([]);
    expect(await store().changes(undefined, 9)).toMatchObject({ entries: [], isMore: false });
    expect(await store().remove(keyAt(0))).toBe(false);
  });

  test("ranks by text: stems, weights, and the words of what was there before are forgotten", async () => {
    const texts = { name: "weather", description: "nothing else", parameters: "", other: "" };
    await store().update(keyAt(1), () => change("named", { texts, terms: ["weather"] }));
    await store().update(keyAt(2), () => change("forecasts of the weather"));
    await store().update(keyAt(3), () => change("old jokes"));
    await store().update(keyAt(3), () => change("translations"));
    expect(await rank(store(), "weather")).toEqual(["named", "forecasts of the weather"]);
    expect(await rank(store(), "forecasting")).toEqual(["forecasts of the weather"]);
    expect(await rank(store(), "joke")).toEqual([]);
    expect(await rank(store(), "joke", "translation")).toEqual(["translations"]);
    expect(await store().rank({ words: weighted("weather"), facets: [404], limit: 10 })).toEqual([]);
  });

  test("knows its terms, how many entries have them, and those that are written alike", async () => {
    const counts = await store().countTerms(["weather", "jokes", "unheard", "forecasts"]);
    expect([...counts].sort()).toEqual([
      ["forecasts", 1],
      ["weather", 2],
    ]);
    expect((await store().similarTerms("wether"))[0]).toBe("weather");
    expect((await store().similarTerms("forcast"))[0]).toBe("forecasts");
    expect(await store().similarTerms("zz")).toEqual([]);
  });

  test("takes any word", async () => {
    for (const word of ["the", "½", "ß", "日本", "0", "x".repeat(40), "null", "or", "not", "near"]) {
      const ranked = store().rank({ words: weighted(word, "weather"), facets: [ALL], limit: 5 });
      await expect(ranked).resolves.toHaveLength(2);
      await expect(store().similarTerms(word)).resolves.toBeInstanceOf(Array);
    }
  });
}

/** The services that are found by some words, the best first. */
export async function rank(store: CatalogStore, ...words: readonly string[]): Promise<readonly unknown[]> {
  const ranked = await store.rank({ words: weighted(...words), facets: [ALL], limit: 10 });
  expect(ranked.every(({ score }) => score > 0)).toBe(true);
  const ids = ranked.map(({ id }) => id);
  const found = new Map((await store.find(ids, [])).map(({ id, service }) => [id, service]));
  return ids.map((id) => found.get(id));
}

const weighted = (...words: readonly string[]) => words.map((word) => ({ word, weight: 1 }));
