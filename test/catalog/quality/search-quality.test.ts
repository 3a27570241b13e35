import { readFileSync } from "node:fs";
import { type CatalogOptions, createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { sentenceEmbedder } from "@farebox/catalog-embeddings";
import { expect, test } from "vitest";
import { type Measured, writeDocument } from "./document.js";
import { countWithin, listSamples, type Questions, search } from "./measure.js";
import { QUERIES } from "./queries.js";
import { MISSPELT, NONSENSE, UNSEEN } from "./unseen.js";

const read = (name: string) => readFileSync(new URL(`../../../docs/background/${name}`, import.meta.url), "utf8");
const measured = JSON.parse(read("search-quality.json")) as Measured;

test("the page of the search's quality has the figures that were measured", () => {
  expect(read("search-quality.md")).toBe(writeDocument(measured));
});

test("the words alone find what the page says", async () => {
  const found = await searchSamples({ "own questions": QUERIES });
  expect(found).toEqual(numbersOf(measured.words, ["own questions"]));
});

test("the sentence encoder finds what the page says", async () => {
  const sets = { "unseen questions": UNSEEN, "misspelt questions": MISSPELT };
  const found = await searchSamples(sets, { embedder: sentenceEmbedder() });
  // The last digits of its numbers depend on the instructions that the processor has.
  for (const [at, { first, amongThree }] of numbersOf(measured.encoder, Object.keys(sets)).entries()) {
    expect(found[at]?.first).toBeGreaterThanOrEqual(first - 1);
    expect(found[at]?.amongThree).toBeGreaterThanOrEqual(amongThree - 1);
  }
});

test("gibberish finds nothing, with the encoder and without", async () => {
  const gibberish = NONSENSE.filter((text) => /asdf|kjhgfdsa|hjkl/.test(text));
  for (const options of [{}, { embedder: sentenceEmbedder() }]) {
    const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), ...options });
    await listSamples(catalog);
    for (const { query, found } of await search(catalog, [
      ["weather", ""],
      ...gibberish.map((text) => [text, ""] as const),
    ])) {
      expect(found > 0, query).toBe(query === "weather");
    }
    await catalog.close();
  }
});

async function searchSamples(
  sets: Readonly<Record<string, Questions>>,
  options: Partial<CatalogOptions> = {},
): Promise<readonly { readonly first: number; readonly amongThree: number }[]> {
  const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), ...options });
  await listSamples(catalog);
  const found: { first: number; amongThree: number }[] = [];
  for (const questions of Object.values(sets)) {
    const results = await search(catalog, questions);
    found.push({ first: countWithin(results, 1), amongThree: countWithin(results, 3) });
  }
  await catalog.close();
  return found;
}

function numbersOf(
  sets: Measured["words"],
  names: readonly string[],
): readonly { first: number; amongThree: number }[] {
  return names.flatMap((name) =>
    sets.filter((set) => set.name === name).map(({ first, amongThree }) => ({ first, amongThree })),
  );
}
