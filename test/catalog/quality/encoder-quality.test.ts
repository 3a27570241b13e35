import type { LocalCatalog } from "@farebox/catalog";
import { sentenceEmbedder } from "@farebox/catalog-embeddings";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { measured, numbersOf, openSamples, searchGibberish, searchSamples } from "./samples.js";
import { MISSPELT, UNSEEN } from "./unseen.js";

/** All entries or searches, on any machine. */
const LIMIT_MS = 600_000;

let catalog: LocalCatalog;
beforeAll(async () => {
  // The encoder may take its time: no search goes on without it.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  catalog = await openSamples({ embedder: sentenceEmbedder() });
}, LIMIT_MS);
afterAll(async () => {
  await catalog.close();
  vi.useRealTimers();
});

test(
  "the sentence encoder finds what the page says",
  async () => {
    const sets = { "seen, a buyer's words": UNSEEN, "unseen, misspelt": MISSPELT };
    const found = await searchSamples(catalog, sets);
    // The last digits of its numbers depend on the instructions that the processor has.
    for (const [at, { first, amongThree }] of numbersOf(measured.encoder, Object.keys(sets)).entries()) {
      expect(found[at]?.first).toBeGreaterThanOrEqual(first - 1);
      expect(found[at]?.amongThree).toBeGreaterThanOrEqual(amongThree - 1);
    }
  },
  LIMIT_MS,
);

test(
  "gibberish finds nothing with the encoder",
  async () => {
    for (const { query, found } of await searchGibberish(catalog)) expect(found > 0, query).toBe(query === "weather");
  },
  LIMIT_MS,
);
