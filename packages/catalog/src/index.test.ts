import { expect, test } from "vitest";
import * as catalog from "./index.js";
import * as postgres from "./postgres/index.js";
import * as sqlite from "./sqlite/index.js";

test("the public surface is exactly this", () => {
  expect([catalog, sqlite, postgres].map(Object.keys)).toEqual([
    ["createCatalog"],
    ["createSqliteCatalogStore"],
    ["createPostgresCatalogStore"],
  ]);
});
