import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@farebox/core";
import Database from "libsql";
import { afterAll, describe, expect, test } from "vitest";
import type { EntryChange } from "../store.js";
import { describeStore } from "../store-conformance.fixture.js";
import { createSqliteCatalogStore } from "./sqlite-store.js";

const folder = mkdtempSync(join(tmpdir(), "farebox-catalog-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

describeStore("a store in memory", async () => createSqliteCatalogStore());
describeStore("a store in a file", async () => {
  files += 1;
  return createSqliteCatalogStore({ path: join(folder, `${files}.db`) });
});

describe("a store in a file", () => {
  const texts = { name: "weather", description: "", parameters: "", other: "" };
  const change: EntryChange = {
    service: "{}",
    updatedMs: 1,
    texts,
    terms: ["weather"],
    facets: [1],
    vector: new Int8Array(100),
    price: "~",
  };

  test("a file keeps its entries, and several stores share it", async () => {
    const path = join(folder, "shared.db");
    const [one, other] = [createSqliteCatalogStore({ path }), createSqliteCatalogStore({ path })];
    await one.update({ resource: "https://a.example/", toolName: "" }, () => change);
    expect(await other.count([1])).toBe(1);
    expect((await other.changes(undefined, 9)).entries).toHaveLength(1);
    await Promise.all([one.close(), other.close()]);
    const again = createSqliteCatalogStore({ path });
    expect(await again.rank({ words: [{ word: "weather", weight: 1 }], facets: [1], limit: 5 })).toHaveLength(1);
    await again.close();
  });
});

test("a file of the first version is read, and has the later columns then", async () => {
  const path = join(folder, "first.db");
  const before = new Database(path);
  before.exec(`
    CREATE TABLE entries (
      id INTEGER PRIMARY KEY AUTOINCREMENT, resource TEXT NOT NULL, tool TEXT NOT NULL, service TEXT NOT NULL,
      updated INTEGER NOT NULL, digest BLOB NOT NULL, revision INTEGER NOT NULL, terms TEXT NOT NULL, facets TEXT NOT NULL,
      vector BLOB NOT NULL, UNIQUE (resource, tool)
    );
    INSERT INTO entries VALUES (1, 'https://a.example/', '', '{}', 7, x'00', 1, 'weather', '[1]', zeroblob(100));
  `);
  before.close();
  for (const _ of ["first", "again"]) {
    const store = createSqliteCatalogStore({ path });
    expect(await store.find([1], [])).toEqual([{ id: 1, service: "{}", updatedMs: 7, price: "~" }]);
    await store.close();
  }
});

test("wrong options are refused", () => {
  expect(() => createSqliteCatalogStore({ path: "", file: "x" } as never)).toThrow(ConfigError);
});

test("list finds every offset among thousands of entries, after some were removed or lost a facet", async () => {
  const store = createSqliteCatalogStore();
  const [all, even] = [1, 2];
  const texts = { name: "", description: "a", parameters: "", other: "" };
  const write = (at: number, facets: readonly number[]) =>
    store.update({ resource: String(at), toolName: "" }, () => ({
      ...{
        service: String(at),
        updatedMs: 0,
        texts,
        terms: ["a"],
        facets,
        vector: new Int8Array(100),
        price: String(9_999 - at),
      },
    }));
  for (let at = 0; at < 2_500; at++) await write(at, at % 2 === 0 ? [all, even] : [all]);
  for (let at = 0; at < 1_100; at++) await store.remove({ resource: String(at), toolName: "" });
  for (let at = 1_100; at < 1_400; at++) await write(at, [all]);

  const kept = Array.from({ length: 1_400 }, (_, at) => String(1_100 + at));
  const keptEven = kept.filter((name) => Number(name) >= 1_400 && Number(name) % 2 === 0);
  for (const [facet, names] of [
    [all, kept],
    [even, keptEven],
  ] as const) {
    expect(await store.count([facet])).toBe(names.length);
    const byPrice = await store.list({ facets: [facet], limit: 5, offset: 9, after: 0, afterPrice: "" });
    expect(byPrice.map(({ service }) => service)).toEqual(names.toReversed().slice(9, 14));
    for (const offset of [0, 1, 523, 524, 547, 548, names.length - 3, names.length - 1, names.length, 9_999]) {
      const page = await store.list({ facets: [facet], limit: 3, offset, after: 0 });
      expect(page.map(({ service }) => service)).toEqual(names.slice(offset, offset + 3));
    }
  }
  await store.close();
});
