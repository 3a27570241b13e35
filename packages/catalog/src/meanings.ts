/**
 * Embeds entries in the background, off the path of payments: new and changed ones, and all of them after the embedder was
 * replaced. Until then an entry is found by its words and text.
 *
 * @module
 */
import type { Encoder } from "./embedder.js";
import { readService } from "./service.js";
import type { CatalogStore } from "./store.js";
import { sentenceOf, termsOf, textsOf } from "./texts.js";
import type { Indexer, VectorIndex } from "./vector-index.js";

/** The background work of one catalog. */
export interface MeaningKeeper {
  /** Looks for entries without a vector. Never throws. */
  refresh(): void;
  /** Ends the work, and the embedder. */
  close(): Promise<void>;
}

/** Entries that are embedded at once: a query waits for them. */
const BATCH = 8;
const RETRY_MS = 10_000;
/** An entry that fails this often is left to its words and text. */
const MAX_FAILURES = 3;

/** Creates the background work. It keeps no process alive. */
export function createMeaningKeeper(store: CatalogStore, indexer: Indexer, encoder: Encoder): MeaningKeeper {
  const failures = new Map<number, number>();
  let size = BATCH;
  let isClosed = false;
  let isStale = false;
  let working: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;

  /** Embeds what is missing; `false` when the embedder failed. */
  async function work(): Promise<boolean> {
    let isEmbedded = true;
    while (isStale && isEmbedded && !isClosed) {
      isStale = false;
      const index = await indexer.fresh();
      for (let ids = take(index.missing); ids.length > 0 && isEmbedded && !isClosed; ids = take(index.missing)) {
        isEmbedded = await embed(ids, index);
        size = isEmbedded ? BATCH : 1;
        await indexer.fresh();
        if (isEmbedded || ids.length === 1) for (const id of ids) count(id, index);
      }
    }
    return isEmbedded;
  }

  /** Entries that never failed come first, so that one that fails does not hold up the others. */
  function take(missing: ReadonlySet<number>): readonly number[] {
    const ids: number[] = [];
    for (const id of missing) {
      if (ids.length === size) break;
      if (!failures.has(id)) ids.push(id);
    }
    return ids.length > 0 ? ids : [...missing].slice(0, 1);
  }

  async function embed(ids: readonly number[], index: VectorIndex): Promise<boolean> {
    // An entry that waits for its owner has no method yet.
    const found = (await store.find(ids, [])).filter((entry) => readService(entry).methods.length > 0);
    const listed = new Set(found.map(({ id }) => id));
    for (const id of ids) if (!listed.has(id)) index.giveUp(id);
    if (found.length === 0) return true;
    const services = found.map(readService);
    const vectors = await encoder.encodeEntries(services.map(sentenceOf));
    if (vectors === undefined) return false;
    const terms = services.map((service) => termsOf(textsOf(service)));
    const meanings = vectors.map((vector, at) => ({ id: found[at]?.id ?? 0, terms: terms[at] ?? [], vector }));
    await store.putMeanings(encoder.id, meanings);
    return true;
  }

  function count(id: number, index: VectorIndex): void {
    const count = (failures.get(id) ?? 0) + 1;
    const isLast = count >= MAX_FAILURES || !index.missing.has(id);
    if (isLast) failures.delete(id);
    else failures.set(id, count);
    if (isLast) index.giveUp(id);
  }

  function refresh(): void {
    isStale = true;
    if (isClosed || working !== undefined) return;
    clearTimeout(retry);
    working = work()
      // The store cannot be reached. Searches say so.
      .catch(() => false)
      .then((isDone) => {
        working = undefined;
        if (isClosed) return;
        if (!isDone) retry = setTimeout(refresh, RETRY_MS).unref();
        else if (isStale) refresh();
      });
  }

  return {
    refresh,
    async close() {
      isClosed = true;
      clearTimeout(retry);
      await encoder.close();
    },
  };
}
