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
import { half, NATURAL, NOTHING_FITS, OTHER_LANGUAGES } from "./held-out.js";
import { countWithin, listSamples, type Questions, search } from "./measure.js";
import { MORE_NATURAL, MORE_NONSENSE } from "./more-questions.js";
import { CHOSEN_WITH, REPORTED_ON } from "./queries.js";
import { FIRST_SERVICES, type SampleService, SERVICES } from "./services.js";
import { FOREIGN, MISSPELT, NONSENSE, UNSEEN } from "./unseen.js";

const DOCUMENT = new URL("../../../../docs/background/search-quality", import.meta.url);

const unfit = (texts: readonly string[]): Questions => texts.map((text) => [text, ""]);

/** The limits were chosen with the sets whose names begin with `seen`. */
const TO_FIRST: Readonly<Record<string, Questions>> = {
  "seen, other words than the sellers' (A)": CHOSEN_WITH,
  "seen, other words than the sellers' (B)": REPORTED_ON,
  "seen, a buyer's words": UNSEEN,
  "unseen, misspelt": MISSPELT,
  "unseen, German": FOREIGN["German"] ?? [],
  "unseen, Spanish": FOREIGN["Spanish"] ?? [],
  "unseen, Chinese": FOREIGN["Chinese"] ?? [],
  "seen nonsense": unfit([...half(NOTHING_FITS, 0), ...NONSENSE.slice(0, NONSENSE.length / 2)]),
  "seen, more nonsense": unfit(MORE_NONSENSE),
  "unseen nonsense": unfit([...half(NOTHING_FITS, 1), ...NONSENSE.slice(NONSENSE.length / 2)]),
};

const TO_ALL: Readonly<Record<string, Questions>> = {
  "seen, natural": half(NATURAL, 0),
  "unseen, natural": half(NATURAL, 1),
  "seen, more natural": MORE_NATURAL,
  "seen, nine languages": half(OTHER_LANGUAGES, 0),
  "unseen, nine languages": half(OTHER_LANGUAGES, 1),
  ...TO_FIRST,
};

const measured: Measured = {
  services: SERVICES.length,
  firstServices: FIRST_SERVICES.length,
  encoder: await measure(sentenceEmbedder(), SERVICES, TO_ALL),
  words: await measure(false, SERVICES, TO_ALL),
  encoderAmongFirst: await measure(sentenceEmbedder(), FIRST_SERVICES, TO_FIRST),
  wordsAmongFirst: await measure(false, FIRST_SERVICES, TO_FIRST),
};
writeFileSync(fileURLToPath(`${DOCUMENT}.json`), `${JSON.stringify(measured, null, 2)}\n`);
writeFileSync(fileURLToPath(`${DOCUMENT}.md`), writeDocument(measured));

async function measure(
  embedder: Embedder | false,
  services: readonly SampleService[],
  questionsOf: Readonly<Record<string, Questions>>,
): Promise<readonly MeasuredSet[]> {
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder });
  await listSamples(catalog, services);
  const sets: MeasuredSet[] = [];
  for (const [name, questions] of Object.entries(questionsOf)) {
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
      if (place !== 1 && expected !== "") console.log(`  ${place || "-"} ${query}: ${expected}, first ${first}`);
    }
  }
  await catalog.close();
  return sets;
}
