/**
 * Keeps the vectors of this process in step with the store, into which other processes may write too.
 *
 * @module
 */
import type { CatalogStore } from "./store.js";
import { createVectorIndex, type VectorIndex } from "./vector-index.js";

/** Yields the index as the store is now. */
export interface Indexer {
  current(): Promise<VectorIndex>;
}

const BATCH = 2_000;

/** Reads nothing before the first search. */
export function createIndexer(store: CatalogStore): Indexer {
  const index = createVectorIndex();
  let mark: string | undefined;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const changes = await store.changes(mark, BATCH);
      index.put(changes.entries);
      ({ mark, isMore } = changes);
    }
  }

  return {
    async current() {
      // Searches that come while it is read wait for the same reading.
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      return index;
    },
  };
}
