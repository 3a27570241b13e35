/**
 * The samples of the measurement in a catalog, and what searches in it find.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { type CatalogOptions, createCatalog, type LocalCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import type { Measured } from "./document.js";
import { countWithin, listSamples, type Questions, search } from "./measure.js";
import { NONSENSE } from "./unseen.js";

/** How many questions found their service. */
export interface Found {
  readonly first: number;
  readonly amongThree: number;
}

/** A page about the background, or the measurements that it shows. */
export function readBackground(name: string): string {
  return readFileSync(new URL(`../../../docs/background/${name}`, import.meta.url), "utf8");
}

/** The measurements that the page shows. */
export const measured: Measured = JSON.parse(readBackground("search-quality.json"));

/** A catalog with all samples. */
export async function openSamples(options: Partial<CatalogOptions> = {}): Promise<LocalCatalog> {
  const catalog = createCatalog({ checkOwners: false, embedder: false, store: createSqliteCatalogStore(), ...options });
  await listSamples(catalog);
  return catalog;
}

export async function searchSamples(
  catalog: LocalCatalog,
  sets: Readonly<Record<string, Questions>>,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const questions of Object.values(sets)) {
    const results = await search(catalog, questions);
    found.push({ first: countWithin(results, 1), amongThree: countWithin(results, 3) });
  }
  return found;
}

/** The measured numbers of these sets. */
export function numbersOf(sets: Measured["words"], names: readonly string[]): readonly Found[] {
  return names.flatMap((name) =>
    sets.filter((set) => set.name === name).map(({ first, amongThree }) => ({ first, amongThree })),
  );
}

/** What is found for gibberish, and for one word that is none. */
export function searchGibberish(catalog: LocalCatalog): ReturnType<typeof search> {
  const gibberish = NONSENSE.filter((text) => /asdf|kjhgfdsa|hjkl/.test(text));
  return search(
    catalog,
    ["weather", ...gibberish].map((text) => [text, ""] as const),
  );
}
