/**
 * Embeds entries in the background, off the path of payments: new and changed ones, and all of them after the embedder was
 * replaced. Until then an entry is found by its words and text.
 *
 * @module
 */
import type { Encoder } from "./embedder.js";
import type { Service } from "./service.js";
import type { CatalogStore } from "./store.js";
import { sentenceOf } from "./texts.js";
import type { Indexer } from "./vector-index.js";

/** The background work of one catalog. */
export interface MeaningKeeper {
  /** Looks for entries without a vector. Never throws. */
  refresh(): void;
  /** Resolves when no work is under way. */
  idle(): Promise<void>;
  /** Ends the work, and the embedder. */
  close(): Promise<void>;
}

/** Entries that are embedded at once: a query waits for them. */
const BATCH = 8;
const RETRY_MS = 10_000;
/** An entry that fails this often alone is left to its words and text. */
const MAX_FAILURES = 3;

/** Creates the background work. It keeps no process alive. */
export function createMeaningKeeper(store: CatalogStore, indexer: Indexer, encoder: Encoder): MeaningKeeper {
  const failures = new Map<number, number>();
  let size = BATCH;
  let isClosed = false;
  let isStale = false;
  let working: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;

  async function work(): Promise<void> {
    let hasFailed = false;
    while (isStale && !isClosed && !hasFailed) {
      isStale = false;
      const { missing, giveUp } = await indexer.current();
      for (let ids = take(missing); ids.length > 0 && !isClosed && !hasFailed; ids = take(missing)) {
        if (!(await embed(ids, giveUp))) hasFailed = true;
        await indexer.current();
      }
    }
    if (hasFailed && !isClosed) retry = setTimeout(refresh, RETRY_MS).unref();
  }

  /** The entries that failed least come first, so that one does not hold up the others. */
  function take(missing: ReadonlySet<number>): readonly number[] {
    const ids: number[] = [];
    for (const id of missing) {
      if (ids.length === size) break;
      if (!failures.has(id)) ids.push(id);
    }
    return ids.length > 0 ? ids : [...missing].slice(0, 1);
  }

  async function embed(ids: readonly number[], giveUp: (id: number) => void): Promise<boolean> {
    const found = await store.find(ids, []);
    const gone = new Set(ids);
    for (const { id } of found) gone.delete(id);
    gone.forEach(giveUp);
    if (found.length === 0) return true;
    const vectors = await encoder.encodeEntries(found.map(({ service }) => sentenceOf(JSON.parse(service) as Service)));
    if (vectors === undefined) {
      size = 1;
      if (ids.length === 1) countFailure(ids[0] ?? 0, giveUp);
      return false;
    }
    size = BATCH;
    const meanings = found.map(({ id, service }, at) => ({ id, service, vector: vectors[at] ?? new Int8Array() }));
    await store.putMeanings(encoder.id, meanings);
    for (const id of ids) failures.delete(id);
    return true;
  }

  function countFailure(id: number, giveUp: (id: number) => void): void {
    const count = (failures.get(id) ?? 0) + 1;
    failures.set(id, count);
    if (count < MAX_FAILURES) return;
    failures.delete(id);
    giveUp(id);
  }

  function refresh(): void {
    isStale = true;
    if (isClosed || working !== undefined) return;
    clearTimeout(retry);
    working = work()
      .catch(() => {
        // The store cannot be reached. Searches say so.
        if (!isClosed) retry = setTimeout(refresh, RETRY_MS).unref();
      })
      .finally(() => {
        working = undefined;
      });
  }

  return {
    refresh,
    idle: async () => working,
    async close() {
      isClosed = true;
      clearTimeout(retry);
      await encoder.close();
      await working;
    },
  };
}
