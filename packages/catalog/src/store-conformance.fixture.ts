/**
 * What every store of a catalog must do, as tests.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogStore } from "./store.js";
import { ALL, keyAt, registerTen } from "./store-conformance/entries.fixture.js";
import { testChanges, testReading } from "./store-conformance/reading.fixture.js";
import { testSearching } from "./store-conformance/searching.fixture.js";
import { testWriting } from "./store-conformance/writing.fixture.js";

/** Runs every check on stores that `open` yields, each with nothing in it. */
export function describeStore(name: string, open: () => Promise<CatalogStore>): void {
  describe(`${name} with ten entries`, () => {
    const store = openForAll(open);
    beforeAll(() => registerTen(store()), 60_000);
    testReading(store);
    testChanges(store);
  });

  // Each test goes on with what the ones before it have written.
  describe(`${name} that is empty`, () => {
    const store = openForAll(open);
    testSearching(store);
    testWriting(store);

    test("refuses when it is closed", async () => {
      const closed = await open();
      await closed.count([ALL]);
      await closed.close();
      await expect(closed.count([ALL])).rejects.toBeInstanceOf(Error);
      await expect(closed.countTerms(["weather"])).rejects.toBeInstanceOf(Error);
      await expect(closed.remove(keyAt(1))).rejects.toBeInstanceOf(Error);
    });
  });
}

/** A store that is there for all tests of a block. */
function openForAll(open: () => Promise<CatalogStore>): () => CatalogStore {
  let store: CatalogStore;
  beforeAll(async () => {
    store = await open();
  }, 60_000);
  afterAll(() => store.close());
  return () => store;
}
