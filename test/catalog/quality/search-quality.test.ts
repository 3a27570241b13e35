import type { LocalCatalog } from "@farebox/catalog";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDocument } from "./document.js";
import { half, NATURAL } from "./held-out.js";
import { measured, numbersOf, openSamples, readBackground, searchGibberish, searchSamples } from "./samples.js";

let catalog: LocalCatalog;
beforeAll(async () => {
  catalog = await openSamples();
});
afterAll(() => catalog.close());

test("the page of the search's quality has the figures that were measured", () => {
  expect(readBackground("search-quality.md")).toBe(writeDocument(measured));
});

test("the words alone find what the page says", async () => {
  const found = await searchSamples(catalog, { "unseen, natural": half(NATURAL, 1) });
  expect(found).toEqual(numbersOf(measured.words, ["unseen, natural"]));
});

test("gibberish finds nothing without the encoder", async () => {
  for (const { query, found } of await searchGibberish(catalog)) expect(found > 0, query).toBe(query === "weather");
});
