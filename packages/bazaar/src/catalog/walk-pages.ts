/**
 * Goes through the pages of a catalog, whichever way it numbers them.
 *
 * @module
 */
import { type DiscoveryPage, keyOf, type ReadPage } from "./read-page.js";

/** Where a page begins. */
interface PageQuery {
  readonly limit?: number;
  readonly offset?: number;
  readonly cursor?: string;
}

/** How far to go. */
export interface WalkBounds {
  readonly maxPages: number;
  /** Whether a catalog that gives no cursor can be asked for an offset. */
  readonly hasOffsets: boolean;
}

/**
 * Yields page after page, each entry once. Ends when the catalog says so, when a page has nothing new, which is what a
 * catalog without pages answers to every question, and after `maxPages`.
 */
export async function* walkPages<Query extends PageQuery>(
  ask: (query: Query) => Promise<ReadPage>,
  first: Query,
  { maxPages, hasOffsets }: WalkBounds,
): AsyncGenerator<DiscoveryPage, void, undefined> {
  const given = new Set<string>();
  const cursors = new Set<string>();
  let query: Query = first;
  for (let pages = 0; pages < maxPages; pages++) {
    const { page, keys } = await ask(query);
    const fresh = new Set(keys.filter((key) => isNew(given, key)));
    const isStale = keys.length > 0 && fresh.size === 0;
    // Deleted as it is given, so that a page which has an entry twice gives it once.
    yield { ...page, entries: page.entries.filter((entry) => fresh.delete(keyOf(entry))) };
    const next = isStale ? undefined : nextOf(page, query, hasOffsets);
    if (next === undefined) return;
    if (next.cursor !== undefined && !isNew(cursors, next.cursor)) return;
    query = { ...withoutPlace(query), ...next };
  }
}

function nextOf(page: DiscoveryPage, query: PageQuery, hasOffsets: boolean): PageQuery | undefined {
  const { cursor, total, limit = query.limit } = page;
  if (cursor !== undefined) return { cursor };
  // A page that was asked for by a cursor and has none is the last.
  if (!hasOffsets || query.cursor !== undefined) return undefined;
  const received = page.entries.length + page.filtered + page.skipped;
  const offset = (page.offset ?? query.offset ?? 0) + received;
  if (received === 0) return undefined;
  const isMore = total === undefined ? limit !== undefined && received >= limit : offset < total;
  return isMore ? { offset } : undefined;
}

/** The rest of the query stays; where it begins does not. */
function withoutPlace<Query extends PageQuery>(query: Query): Query {
  const { cursor: _, offset: __, ...rest } = query;
  return rest as Query;
}

function isNew(seen: Set<string>, key: string): boolean {
  const { size } = seen;
  return seen.add(key).size > size;
}
