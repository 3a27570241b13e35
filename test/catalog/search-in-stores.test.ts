import { createCatalog } from "@farebox/catalog";
import { createPostgresCatalogStore } from "@farebox/catalog/postgres";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../packages/catalog/src/postgres/server.fixture.js";
import { half, NATURAL, NOTHING_FITS } from "./quality/held-out.js";
import { listSamples } from "./quality/measure.js";
import { SERVICES } from "./quality/services.js";
import { MISSPELT } from "./quality/unseen.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

test("a search finds the same in SQLite and in PostgreSQL, in the same order", async () => {
  const stores = [createSqliteCatalogStore(), createPostgresCatalogStore({ url: server.url })];
  const catalogs = stores.map((store) => createCatalog({ store, checkOwners: false, embedder: false }));
  for (const catalog of catalogs) await listSamples(catalog, SERVICES.slice(0, 150));
  const questions = [...half(NATURAL, 0), ...MISSPELT].map(([query]) => query);
  for (const query of [...questions, ...half(NOTHING_FITS, 0), "forecasting weathers", "translations under 5 cents"]) {
    const [one, other] = await Promise.all(catalogs.map((catalog) => catalog.search({ query, limit: 100 })));
    const told = (page: typeof one) => page?.entries.map((entry) => [entry.resource, entry.toolName, entry.score]);
    expect(told(other), query).toEqual(told(one));
  }
  await Promise.all(catalogs.map((catalog) => catalog.close()));
}, 600_000);
