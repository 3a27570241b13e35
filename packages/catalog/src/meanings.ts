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
import type { Indexer } from "./vector-index.js";

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
    while (isStale && !isClosed) {
      isStale = false;
      const { missing, giveUp } = await indexer.fresh();
      for (let ids = take(missing); ids.length > 0 && !isClosed; ids = take(missing)) {
        const isEmbedded = await embed(ids, giveUp);
        await indexer.fresh();
        for (const id of ids) {
          if (!missing.has(id)) failures.delete(id);
          else if (isEmbedded || ids.length === 1) countFailure(id, giveUp);
        }
        size = isEmbedded ? BATCH : 1;
        if (!isEmbedded) return false;
      }
    }
    return true;
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

  async function embed(ids: readonly number[], giveUp: (id: number) => void): Promise<boolean> {
    const found = await store.find(ids, []);
    const listed = new Set(found.map(({ id }) => id));
    for (const id of ids) if (!listed.has(id)) giveUp(id);
    if (found.length === 0) return true;
    const services = found.map(readService);
    const vectors = await encoder.encodeEntries(services.map(sentenceOf));
    if (vectors === undefined) return false;
    const terms = services.map((service) => termsOf(textsOf(service)));
    const meanings = vectors.map((vector, at) => ({ id: found[at]?.id ?? 0, terms: terms[at] ?? [], vector }));
    await store.putMeanings(encoder.id, meanings);
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
