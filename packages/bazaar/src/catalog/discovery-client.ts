/**
 * A client for the catalog of any facilitator.
 *
 * @see x402 v2 §8 "Discovery API"
 * @module
 */
import { createIssues, type Issues } from "@farebox/core/issues";
import type { CatalogEntry, EntryFilter } from "./entry.js";
import { DiscoveryError, fetchJson } from "./fetch-json.js";
import { type DiscoveryPage, keyOf, type ReadPage, readPage } from "./read-page.js";

/** Request headers, most often credentials. */
export type DiscoveryHeaders = Readonly<Record<string, string>>;

/** Options of `createDiscoveryClient`. */
export interface DiscoveryClientOptions {
  /** Base URL of the facilitator, e.g. `https://x402.org/facilitator`. */
  readonly url: string | URL;
  /** Sent to the catalog's own origin only. A function is called before each request. Default: none. */
  readonly headers?: DiscoveryHeaders | (() => DiscoveryHeaders | Promise<DiscoveryHeaders>);
  /** Time limit of one call, 100 to 120000 ms. Default 10000. */
  readonly timeoutMs?: number;
  /** Longest response, 1024 to 67108864 bytes. Default 4194304. */
  readonly maxBytes?: number;
  /** Most pages that one iteration fetches, 1 to 100000. Default 1000. */
  readonly maxPages?: number;
  /** Default `/discovery/resources`. */
  readonly listPath?: string;
  /** Default `/discovery/search`; catalogs differ. */
  readonly searchPath?: string;
}

/** Which part of the list to fetch. */
export interface DiscoveryListQuery extends EntryFilter {
  /** Entries per page. Catalogs accept 1 to 100, most with a default of 20. */
  readonly limit?: number;
  readonly offset?: number;
  /** `price`: the cheapest first. Catalogs that do not know it keep their own order. */
  readonly sort?: "price";
  /** The cursor of an earlier page, if the catalog returned one. */
  readonly cursor?: string;
}

/** A search. */
export interface DiscoverySearchQuery extends EntryFilter {
  /** A description in natural language. */
  readonly query: string;
  /** `price`: the best matches, the cheapest first. Catalogs that do not know it keep their own order. */
  readonly sort?: "price";
  readonly limit?: number;
  /** The cursor of an earlier page. */
  readonly cursor?: string;
}

/** Reads a catalog. Calls reject with a {@link DiscoveryError}; entries that cannot be read are skipped and counted. */
export interface DiscoveryClient {
  /** One page of the list. */
  list(query?: DiscoveryListQuery): Promise<DiscoveryPage>;
  /** One page of a search. */
  search(query: DiscoverySearchQuery): Promise<DiscoveryPage>;
  /** Every page from the query on, by cursor or by offset. Ends when a page has no new entry. */
  listPages(query?: DiscoveryListQuery): AsyncGenerator<DiscoveryPage, void, undefined>;
  /** Every page of a search. */
  searchPages(query: DiscoverySearchQuery): AsyncGenerator<DiscoveryPage, void, undefined>;
  /** Every entry that pays an address, even if the catalog cannot filter. */
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
  const listPages: DiscoveryClient["listPages"] = (query = {}) => walkPages(list, query, maxPages, true);
  return Object.freeze({
    list: async (query = {}) => (await list(query)).page,
    search: async (query) => (await search(query)).page,
    listPages,
    searchPages: (query) => walkPages(search, query, maxPages, false),
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

/** Where a page begins. */
interface PageStart {
  readonly limit?: number;
  readonly offset?: number;
  readonly cursor?: string;
}

/**
 * Yields page after page, each entry once. Ends on the last page, on a page without a new entry, and after `maxPages`. A
 * catalog that ignores paging returns the same page again, so it ends there too.
 */
async function* walkPages<Query extends PageStart>(
  fetchPage: (query: Query) => Promise<ReadPage>,
  first: Query,
  maxPages: number,
  hasOffsets: boolean,
): AsyncGenerator<DiscoveryPage, void, undefined> {
  const yielded = new Set<string>();
  const cursors = new Set<string>();
  let query: Query = first;
  for (let pages = 0; pages < maxPages; pages++) {
    const { page, keys } = await fetchPage(query);
    const fresh = new Set(keys.filter((key) => isNew(yielded, key)));
    const isStale = keys.length > 0 && fresh.size === 0;
    // `delete` also drops an entry that is twice on one page.
    yield { ...page, entries: page.entries.filter((entry) => fresh.delete(keyOf(entry))) };
    const next = isStale ? undefined : nextOf(page, query, hasOffsets);
    if (next === undefined) return;
    if (next.cursor !== undefined && !isNew(cursors, next.cursor)) return;
    query = { ...withoutStart(query), ...next };
  }
}

function nextOf(page: DiscoveryPage, query: PageStart, hasOffsets: boolean): PageStart | undefined {
  const { cursor, total, limit = query.limit } = page;
  if (cursor !== undefined) return { cursor };
  // A page that was requested by a cursor and has none is the last.
  if (!hasOffsets || query.cursor !== undefined) return undefined;
  const received = page.entries.length + page.filtered + page.skipped;
  const offset = (page.offset ?? query.offset ?? 0) + received;
  if (received === 0) return undefined;
  const isMore = total === undefined ? limit !== undefined && received >= limit : offset < total;
  return isMore ? { offset } : undefined;
}

function withoutStart<Query extends PageStart>(query: Query): Query {
  const { cursor: _, offset: __, ...rest } = query;
  return rest as Query;
}

function isNew(seen: Set<string>, key: string): boolean {
  const { size } = seen;
  return seen.add(key).size > size;
}

/** The options, checked. */
interface DiscoveryClientConfig {
  readonly listUrl: string;
  readonly searchUrl: string;
  readonly headers: () => DiscoveryHeaders | Promise<DiscoveryHeaders>;
  readonly bounds: { readonly timeoutMs: number; readonly maxBytes: number };
  readonly maxPages: number;
}

const KEYS = ["url", "headers", "timeoutMs", "maxBytes", "maxPages", "listPath", "searchPath"];
const RANGES = { timeoutMs: [100, 120_000], maxBytes: [1_024, 64 * 1_024 * 1_024], maxPages: [1, 100_000] } as const;

/** @throws ConfigError with every issue at once. */
function parseClientOptions(options: DiscoveryClientOptions): DiscoveryClientConfig {
  const { timeoutMs = 10_000, maxBytes = 4 * 1_024 * 1_024, maxPages = 1_000, headers = {} } = options ?? {};
  const { listPath = "/discovery/resources", searchPath = "/discovery/search" } = options ?? {};
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const base = baseUrlOf(options?.url);
  if (base === undefined)
    issues.addText("options.url", "an http or https URL without credentials and query", "another");
  for (const [name, value] of Object.entries({ timeoutMs, maxBytes, maxPages })) {
    const [least, most] = RANGES[name as keyof typeof RANGES];
    const isWithin = Number.isInteger(value) && value >= least && value <= most;
    if (!isWithin) issues.add(`options.${name}`, `a whole number from ${least} to ${most}`, value);
  }
  checkPaths({ listPath, searchPath }, issues);
  if (typeof headers !== "function" && !isHeaders(headers)) {
    issues.addText("options.headers", "header names with string values, or a function that returns them", "others");
  }
  issues.throwIfAny();
  return Object.freeze({
    listUrl: `${base}${listPath}`,
    searchUrl: `${base}${searchPath}`,
    headers: typeof headers === "function" ? headers : () => headers,
    bounds: { timeoutMs, maxBytes },
    maxPages,
  });
}

function baseUrlOf(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, username, password, search, hash } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (username + password + search + hash !== "") return undefined;
  return `${origin}${pathname.endsWith("/") ? pathname.slice(0, -1) : pathname}`;
}

function checkPaths(paths: Readonly<Record<string, unknown>>, issues: Issues): void {
  for (const [name, path] of Object.entries(paths)) {
    const isPath = typeof path === "string" && /^\/[\w\-./~]{0,200}$/.test(path) && !path.includes("//");
    if (!isPath) issues.add(`options.${name}`, 'a path such as "/discovery/search"', path);
  }
}

function isHeaders(value: unknown): value is DiscoveryHeaders {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
