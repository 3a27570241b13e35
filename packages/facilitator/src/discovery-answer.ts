/**
 * Answers of the discovery API.
 *
 * @see x402 v2 §8
 * @module
 */
import type { ListPage, ListQuery, SearchPage, SearchQuery } from "@farebox/bazaar/facilitator";
import type { Response } from "express";
import type { ReadQuery } from "./discovery-query.js";

/** One of the two calls: how the catalog is asked, and how its page is written. */
export interface DiscoveryOperation<Query, Page> {
  readonly ask: (query: Query) => Promise<Page>;
  readonly write: (page: Page, query: Query) => object;
}

/** Asks the catalog and writes what it says; a wrong parameter is answered 400 with `{ error }`. */
export async function answerDiscovery<Query, Page>(
  res: Response,
  read: ReadQuery<Query>,
  { ask, write }: DiscoveryOperation<Query, Page>,
): Promise<void> {
  // The catalog is for everybody, also for pages in a browser.
  res.setHeader("Access-Control-Allow-Origin", "*");
  if (!read.ok) {
    res.status(400).json({ error: read.error });
    return;
  }
  try {
    res.status(200).json(write(await ask(read.query), read.query));
  } catch (error) {
    res.status(503).setHeader("Retry-After", "5").json({ error: "the catalog cannot be reached" });
    throw error;
  }
}

/** A page of the list. */
export function writeList({ entries, total, cursor }: ListPage, { limit, offset }: ListQuery): object {
  return { x402Version: 2, items: entries, pagination: { limit, offset, total, cursor: cursor ?? null } };
}

/** A page of a search. */
export function writeSearch({ entries, isPartial, cursor }: SearchPage, { limit }: SearchQuery): object {
  return {
    x402Version: 2,
    resources: entries,
    partialResults: isPartial,
    pagination: { limit, cursor: cursor ?? null },
  };
}
