/**
 * Whether a store writes what was decided, once and whole: with the entries of `testSearching`.
 *
 * @module
 */
import { expect, test } from "vitest";
import type { CatalogStore } from "../store.js";
import { ALL, change, keyAt } from "./entries.fixture.js";
import { rank } from "./searching.fixture.js";

export function testWriting(store: () => CatalogStore): void {
  test("says what is there to whoever decides, and writes nothing when that is decided", async () => {
    const key = { resource: "mcp://tool/x", toolName: "x" };
    expect(await store().update(key, (found) => (found === undefined ? change("first") : undefined))).toBe(true);
    expect(await store().update(key, (found) => (found === undefined ? change("second") : undefined))).toBe(false);
    const seen: unknown[] = [];
    await store().update(key, (found) => void seen.push(found?.service));
    await store().update({ ...key, toolName: "y" }, (found) => void seen.push(found?.service));
    expect(seen).toEqual(["first", undefined]);
  });

  test("writes nothing at all when whoever decides fails", async () => {
    const failing = store().update(keyAt(1), () => {
      throw new RangeError("no");
    });
    await expect(failing).rejects.toThrow(RangeError);
    expect(await rank(store(), "weather")).toHaveLength(2);
  });

  test("lets two that write one key at once take turns", async () => {
    const next = (service: unknown) => change(String(Number(service ?? 0) + 1));
    const writing = Array.from({ length: 20 }, () => store().update(keyAt(50), (found) => next(found?.service)));
    await Promise.all(writing);
    const [entry] = await store().list({ facets: [ALL], limit: 1, offset: 4, after: 0 });
    expect(entry?.service).toBe("20");
  });

  test("removes an entry, and everything about it", async () => {
    expect(await store().remove(keyAt(2))).toBe(true);
    expect(await rank(store(), "forecast")).toEqual([]);
    expect(await store().countTerms(["forecasts"])).toEqual(new Map());
    const left = await store().list({ facets: [ALL], limit: 99, offset: 0, after: 0 });
    expect(left.map(({ service }) => service)).not.toContain("forecasts of the weather");
  });
}
