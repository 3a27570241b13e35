/**
 * Whether a store says what is in it, and what has changed: with the ten entries of `registerTen`.
 *
 * @module
 */
import { expect, test } from "vitest";
import type { CatalogStore } from "../store.js";
import { ALL, change, EVEN, keyAt, LARGE, ODD, vector } from "./entries.fixture.js";

export function testReading(store: () => CatalogStore): void {
  test("lists them in the order of registration", async () => {
    const listed = await store().list({ facets: [ALL], limit: 100, offset: 0, after: 0 });
    expect(listed.map(({ service }) => service)).toEqual(Array.from({ length: 10 }, (_, at) => `service ${at}`));
    expect(listed[0]).toMatchObject({ updatedMs: 1_769_860_800_007 });
    const ids = listed.map(({ id }) => id);
    expect(ids.every((id, at) => Number.isSafeInteger(id) && id > (ids[at - 1] ?? 0))).toBe(true);
  });

  test("pages by offset, by id, and by facets", async () => {
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

  test("counts by facets", async () => {
    const counted = [[ALL], [EVEN], [ALL, ODD], [EVEN, ODD], [404]].map((facets) => store().count(facets));
    expect(await Promise.all(counted)).toEqual([10, 5, 5, 0, 0]);
  });

  test("finds by id, but for those that are not there or have not the facets", async () => {
    const ids = await idsIn(store());
    const found = await store().find([ids[1] ?? 0, ids[2] ?? 0, 999_999], [EVEN]);
    expect(found.map(({ service }) => service)).toEqual(["service 2"]);
    expect(await store().find([], [])).toEqual([]);
  });
}

export function testChanges(store: () => CatalogStore): void {
  test("tells everything once, in parts, and then only what changes", async () => {
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

/** In the order of registration. */
async function idsIn(store: CatalogStore): Promise<readonly number[]> {
  return (await store.list({ facets: [ALL], limit: 100, offset: 0, after: 0 })).map(({ id }) => id);
}
