/**
 * Reads the catalog of a facilitator, whoever wrote it.
 *
 * @see x402 v2 §8 "Discovery API"
 * @module
 */
import { type DiscoveryClientConfig, type DiscoveryClientOptions, parseClientOptions } from "./client-options.js";
import { DiscoveryError } from "./discovery-error.js";
import type { CatalogEntry } from "./entry.js";
import { fetchJson } from "./fetch-json.js";
import type { EntryFilter } from "./filter-entries.js";
import { type DiscoveryPage, type ReadPage, readPage } from "./read-page.js";
import { walkPages } from "./walk-pages.js";

/** Which part of the list. */
export interface DiscoveryListQuery extends EntryFilter {
  /** Entries per page; catalogs take 1 to 100 and have 20 when nothing is said. */
  readonly limit?: number;
  readonly offset?: number;
  /** Of an earlier page, where the catalog gives one. */
  readonly cursor?: string;
}

/** What is looked for. */
export interface DiscoverySearchQuery extends EntryFilter {
  /** In your own words. */
  readonly query: string;
  readonly limit?: number;
  /** Of an earlier page. */
  readonly cursor?: string;
}

/** Reads a catalog. Calls reject with a {@link DiscoveryError}; entries that cannot be read are skipped and counted. */
export interface DiscoveryClient {
  /** One page of the list. */
  list(query?: DiscoveryListQuery): Promise<DiscoveryPage>;
  /** One page of a search. */
  search(query: DiscoverySearchQuery): Promise<DiscoveryPage>;
  /** Every page from there on, by cursor or by offset, as the catalog has it. Ends when a page has nothing new. */
  listPages(query?: DiscoveryListQuery): AsyncGenerator<DiscoveryPage, void, undefined>;
  /** Every page of a search. */
  searchPages(query: DiscoverySearchQuery): AsyncGenerator<DiscoveryPage, void, undefined>;
  /** Every entry that pays an address, also where the catalog cannot filter. */
  findMine(payTo: string): Promise<readonly CatalogEntry[]>;
}

/**
 * Creates a client. Nothing is sent before the first call.
 *
 * @throws ConfigError with every issue at once.
 */
export function createDiscoveryClient(options: DiscoveryClientOptions): DiscoveryClient {
  const config = parseClientOptions(options);
  const { maxPages } = config;
  const list = (query: DiscoveryListQuery): Promise<ReadPage> => ask(config, config.listUrl, query);
  const search = (query: DiscoverySearchQuery): Promise<ReadPage> => ask(config, config.searchUrl, query);
  const listPages: DiscoveryClient["listPages"] = (query = {}) =>
    walkPages(list, query, { maxPages, hasOffsets: true });
  return Object.freeze({
    list: async (query = {}) => (await list(query)).page,
    search: async (query) => (await search(query)).page,
    listPages,
    searchPages: (query) => walkPages(search, query, { maxPages, hasOffsets: false }),
    async findMine(payTo) {
      const mine: CatalogEntry[] = [];
      for await (const { entries } of listPages({ payTo, limit: 100 })) mine.push(...entries);
      return mine;
    },
  } satisfies DiscoveryClient);
}

async function ask(
  { headers, bounds }: DiscoveryClientConfig,
  address: string,
  query: DiscoveryListQuery | DiscoverySearchQuery,
): Promise<ReadPage> {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, Array.isArray(value) ? value.join() : String(value));
  }
  const page = readPage(await fetchJson(url, await headers(), bounds), query);
  if (page === undefined) throw new DiscoveryError("response");
  return page;
}
