/**
 * Measures the search with the words alone and with the sentence encoder, and writes `docs/background/search-quality.json` and
 * `.md`. Prints every question whose service is not first.
 *
 * Usage: `pnpm measure:search`
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createCatalog, type Embedder } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { sentenceEmbedder } from "@farebox/catalog-embeddings";
import { type Measured, type MeasuredSet, writeDocument } from "./document.js";
import { countWithin, listSamples, type Questions, search } from "./measure.js";
import { CHOSEN_WITH, QUERIES, REPORTED_ON } from "./queries.js";
import { SERVICES } from "./services.js";
import { FOREIGN, MISSPELT, NONSENSE, UNSEEN } from "./unseen.js";

const DOCUMENT = new URL("../../../../docs/background/search-quality", import.meta.url);

const half = NONSENSE.length / 2;
const SETS: Readonly<Record<string, Questions>> = {
  "own questions": QUERIES,
  "own, first half: the weights were chosen with it": CHOSEN_WITH,
  "own, second half": REPORTED_ON,
  "unseen questions": UNSEEN,
  "misspelt questions": MISSPELT,
  ...FOREIGN,
  "nonsense, first half: the least score was chosen with it": NONSENSE.slice(0, half).map((text) => [text, ""]),
  "nonsense, second half": NONSENSE.slice(half).map((text) => [text, ""]),
};

const measured: Measured = {
  services: SERVICES.length,
  words: await measure(false),
  encoder: await measure(sentenceEmbedder()),
};
writeFileSync(fileURLToPath(`${DOCUMENT}.json`), `${JSON.stringify(measured, null, 2)}\n`);
writeFileSync(fileURLToPath(`${DOCUMENT}.md`), writeDocument(measured));

async function measure(embedder: Embedder | false): Promise<readonly MeasuredSet[]> {
  const catalog = createCatalog({
    checkOwners: false,
    store: createSqliteCatalogStore(),
    embedder,
  });
  await listSamples(catalog);
  const sets: MeasuredSet[] = [];
  for (const [name, questions] of Object.entries(SETS)) {
    const results = await search(catalog, questions);
    const found = results.reduce((sum, result) => sum + result.found, 0);
    const set: MeasuredSet = {
      name,
      questions: questions.length,
      first: countWithin(results, 1),
      amongThree: countWithin(results, 3),
      withoutResult: results.filter((result) => result.found === 0).length,
      resultsPerQuestion: Number((found / questions.length).toFixed(1)),
    };
    sets.push(set);
    console.log(JSON.stringify(set));
    for (const { query, expected, place, first } of results) {
      if (place !== 1 && !/half/.test(name)) console.log(`  ${place || "-"} ${query}: ${expected}, first ${first}`);
    }
  }
  await catalog.close();
  return sets;
}
