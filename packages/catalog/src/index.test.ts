import { expect, test } from "vitest";
import * as catalog from "./index.js";
import * as postgres from "./postgres/postgres-store.js";
import * as sqlite from "./sqlite/sqlite-store.js";

test("the public surface is exactly this", () => {
  expect([catalog, sqlite, postgres].map(Object.keys)).toEqual([
    ["createCatalog"],
    ["createSqliteCatalogStore"],
    ["createPostgresCatalogStore"],
  ]);
});
