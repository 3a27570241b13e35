import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { expect, test } from "vitest";
import { ask, listSamples, share } from "./measure.js";
import { QUERIES } from "./queries.js";

test("paraphrases find the expected service", async () => {
  const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false });
  await listSamples(catalog);
  const results = await ask(catalog, QUERIES);
  for (const { query, expected, place, first } of results)
    if (place !== 1) console.info(`${place || "-"} ${query}: ${expected}, not ${first}`);
  console.info(
    `search quality: ${results.length} questions, first ${share(results, 1)}, among three ${share(results, 3)}`,
  );
  expect(share(results, 3)).toBeGreaterThan(0.68);
  await catalog.close();
}, 60_000);
