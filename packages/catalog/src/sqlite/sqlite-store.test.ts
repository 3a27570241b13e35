import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@farebox/core";
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

describe("a file", () => {
  const texts = { name: "weather", description: "", parameters: "", other: "" };
  const change: EntryChange = {
    service: "{}",
    updatedMs: 1,
    texts,
    terms: ["weather"],
    facets: [1],
    vector: new Int8Array(100),
  };

  test("keeps what was written, and is shared by several stores", async () => {
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

test("wrong options are refused", () => {
  expect(() => createSqliteCatalogStore({ path: "", file: "x" } as never)).toThrow(ConfigError);
});
