/**
 * The catalog of a facilitator: lists services in a store, page by page, and searches them.
 *
 * @module
 */
import {
  BAZAAR,
  type Catalog,
  type CatalogEntry,
  type CatalogFilter,
  type ListPage,
  type ListQuery,
  type Registered,
  type Registration,
  type RegistrationRules,
  type SearchPage,
  type SearchQuery,
} from "@farebox/bazaar/facilitator";
import type { Logger } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import { type Asked, rankAsked } from "./asked.js";
import { checkEmbedder, createEncoder, type Embedder, type Encoder, installedEmbedder } from "./embedder.js";
import { facetsOfFilter, facetsOfService } from "./facets.js";
import { createMeaningKeeper, type MeaningKeeper } from "./meanings.js";
import type { Unverified } from "./ownership/claims.js";
import type { HostLookup } from "./ownership/guarded-fetch.js";
import { createOwners } from "./ownership/owners.js";
import { MAX_RANKED, type SearchSources } from "./search.js";
import { mergeService, NO_PRICE, priceOf, readService, type Service, toEntry } from "./service.js";
import type { CatalogStore, EntryChange, EntryKey, StoredEntry, StoreQuery } from "./store.js";
import { termsOf, textsOf } from "./texts.js";
import { createIndexer, type Indexer, type Near } from "./vector-index.js";
import { embedEntry, VECTOR_SIZE, vocabulary } from "./word-vectors.js";

/** Options of `createCatalog`. */
export interface CatalogOptions {
  /** Stores the entries, e.g. `createSqliteCatalogStore()`. The catalog closes it. */
  readonly store: CatalogStore;
  /** Whether to list `http:` URLs and private hosts, for development. Default false. */
  readonly allowLocal?: boolean;
  /** Whether the catalog checks with the server of a URL who sells there. Without that it believes the first payee. Default true. */
  readonly checkOwners?: boolean;
  /**
   * What happens to services that no server has confirmed: the catalog hides them, shows them last in a search, or shows them
   * like others. Default `"hide"`; with `allowLocal` or without `checkOwners` `"show"`.
   */
  readonly unverified?: Unverified;
  /** Finds the addresses of a server that is checked. Default: DNS. */
  readonly lookup?: HostLookup;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /**
   * Compares queries with entries by meaning. The catalog closes it. Default: `sentenceEmbedder()` of
   * `@farebox/catalog-embeddings`, if that package is installed. Without it, and with `false`, only words are compared, which
   * finds less.
   */
  readonly embedder?: Embedder | false;
  /** Receives a line when the embedder fails. Default: no log. */
  readonly logger?: Logger;
}

/** A catalog in this process. */
export interface LocalCatalog extends Catalog {
  /** How it searches: `words`, or the name of the embedder. */
  readonly searchesBy: Promise<string>;
  /** Checks the claims that are due now, and waits for the outcomes. The catalog also does that by itself. */
  checkDue(): Promise<void>;
  /** Removes an entry, with any payee; `false` when it is not listed. */
  remove(key: { readonly resource: string; readonly toolName?: string }): Promise<boolean>;
  /** Ends the checks, and closes the store. */
  close(): Promise<void>;
}

/**
 * Creates a catalog. Its calls reject with the store's error when the store cannot be reached.
 *
 * @throws ConfigError with every issue at once.
 */
export function createCatalog(options: CatalogOptions): LocalCatalog {
  const { store, allowLocal = false, checkOwners = true, lookup, now = Date.now } = parseOptions(options);
  const { unverified = allowLocal || !checkOwners ? "show" : "hide", logger } = options;
  const searching = startSearching(options, logger);
  const refresh = (): void => void searching.then(({ keeper }) => keeper?.refresh());
  const rules: RegistrationRules = Object.freeze({ allowLocal });
  const owners = checkOwners
    ? createOwners({ store, allowLocal, unverified, lookup, now, toChange: changeFor })
    : undefined;
  return Object.freeze({
    rules,
    searchesBy: searching.then(({ encoder }) => encoder?.name ?? "words"),
    async register(registration) {
      const registered = await (owners?.register(registration) ?? register(store, registration, now()));
      refresh();
      return registered;
    },
    list: (query) => list(store, query, unverified),
    async search(query) {
      const { indexer, encoder } = await searching;
      const index = await indexer.current();
      // Another process may have registered an entry and ended, or an owner has confirmed one.
      if (index.missing.size > 0) refresh();
      return search(query, { store, index, words: vocabulary(), encoder }, unverified);
    },
    async find({ resource, toolName = "" }) {
      const found = await store.get({ resource, toolName }, shownFacets({}, unverified));
      return found && readEntry(found);
    },
    countEach: (filters) => countEach(store, filters),
    isCursor: (kind, text) => (kind === "list" ? readListCursor(text) : readSearchCursor(text)) !== undefined,
    checkDue: async () => owners?.checkDue(),
    remove: ({ resource, toolName = "" }) => store.remove({ resource, toolName }),
    async close() {
      await owners?.close();
      await (await searching).keeper?.close();
      await store.close();
    },
  } satisfies LocalCatalog);
}

interface Searching {
  readonly indexer: Indexer;
  /** Without an embedder there is none of these. */
  readonly encoder?: Encoder;
  readonly keeper?: MeaningKeeper;
}

async function startSearching({ store, embedder }: CatalogOptions, logger: Logger | undefined): Promise<Searching> {
  const found = embedder ?? (await installedEmbedder(logger));
  if (!found) return { indexer: createIndexer(store, undefined) };
  const encoder = createEncoder(found, logger);
  const indexer = createIndexer(store, encoder);
  const keeper = createMeaningKeeper(store, indexer, encoder);
  keeper.refresh();
  return { indexer, encoder, keeper };
}

const KEYS = ["store", "allowLocal", "checkOwners", "unverified", "lookup", "now", "embedder", "logger"];

function parseOptions(options: CatalogOptions): CatalogOptions {
  const issues = createIssues();
  if (issues.checkKeys("options", options, KEYS)) {
    const { store, unverified, checkOwners, embedder, logger } = options;
    if (typeof store?.update !== "function")
      issues.add("options.store", "a store, e.g. createSqliteCatalogStore()", store);
    for (const name of ["allowLocal", "checkOwners"] as const) {
      const value = options[name];
      if (value !== undefined && typeof value !== "boolean") issues.add(`options.${name}`, "true or false", value);
    }
    for (const name of ["lookup", "now"] as const) {
      const value = options[name];
      if (value !== undefined && typeof value !== "function") issues.add(`options.${name}`, "a function", value);
    }
    const allowed = checkOwners === false ? ["last", "show"] : ["hide", "last", "show"];
    if (unverified !== undefined && !allowed.includes(unverified)) {
      issues.add("options.unverified", `one of ${allowed.join(", ")}`, unverified);
    }
    checkEmbedder(embedder, issues);
    if (logger !== undefined && typeof logger?.warn !== "function") {
      issues.addText("options.logger", "an object with info, warn and error", "something else");
    }
  }
  issues.throwIfAny();
  return options;
}

async function register(store: CatalogStore, registration: Registration, updatedMs: number): Promise<Registered> {
  const { resource, toolName } = registration;
  const key: EntryKey = { resource, toolName };
  let refusal: string | undefined;
  await store.update(key, (found) => {
    const merged = mergeService(found && readService(found), registration, updatedMs);
    if (merged.ok) return changeFor(key, merged.service, updatedMs);
    refusal = merged.reason;
    return undefined;
  });
  return refusal === undefined ? { kind: "listed" } : { kind: "rejected", reason: refusal };
}

function changeFor({ resource, toolName }: EntryKey, service: Service | undefined, updatedMs: number): EntryChange {
  // No filter and no word finds an entry that is not listed.
  if (service === undefined)
    return { ...UNLISTED, service: JSON.stringify({ resource, toolName, methods: [] }), updatedMs };
  const texts = textsOf(service);
  const terms = termsOf(texts);
  const facets = facetsOfService(service, [BAZAAR]);
  const vector = embedEntry(texts, vocabulary());
  return { service: JSON.stringify(service), updatedMs, texts, terms, facets, vector, price: priceOf(service) };
}

const UNLISTED = {
  texts: { name: "", description: "", parameters: "", other: "" },
  terms: [],
  facets: [],
  vector: new Int8Array(VECTOR_SIZE),
  price: NO_PRICE,
} as const;

/** The facets of entries that match a filter and are shown. */
function shownFacets(filter: CatalogFilter, unverified: Unverified): readonly number[] {
  if (unverified !== "hide") return facetsOfFilter(filter);
  const facets = facetsOfFilter({ ...filter, verified: true });
  return filter.verified === false ? [...facets, ...facetsOfFilter({ verified: false })] : facets;
}

async function list(store: CatalogStore, query: ListQuery, unverified: Unverified): Promise<ListPage> {
  const { limit, offset, cursor, sort, ...filter } = query;
  const facets = shownFacets(filter, unverified);
  const start = cursor === undefined ? undefined : readListCursor(cursor);
  const page = start ?? { offset, after: 0, ...(sort === undefined ? {} : { afterPrice: "" }) };
  // One entry more than the page shows whether there is a next page.
  const [found, total] = await Promise.all([store.list({ facets, limit: limit + 1, ...page }), store.count(facets)]);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const isMore = found.length > limit && last !== undefined;
  return { entries: shown.map(readEntry), total, ...(isMore ? { cursor: writeListCursor(last, page) } : {}) };
}

/** Matches that are sorted by price. Others match too little to stand before them. */
const MAX_SORTED = 40;

/** Among the same prices the better match stays first. */
async function cheapestFirst(store: CatalogStore, ranked: readonly Near[]): Promise<readonly Near[]> {
  const best = ranked.slice(0, MAX_SORTED);
  const ids = best.map(({ id }) => id);
  const prices = new Map((await store.find(ids, [])).map(({ id, price }) => [id, price]));
  const priceAt = ({ id }: Near): string => prices.get(id) ?? "";
  return best.toSorted((one, other) => (priceAt(one) < priceAt(other) ? -1 : Number(priceAt(one) > priceAt(other))));
}

async function countEach(store: CatalogStore, filters: readonly CatalogFilter[]): Promise<readonly number[]> {
  const facets = filters.map((filter) => facetsOfFilter(filter)[0] ?? 0);
  const counts = await store.countEach(facets);
  return facets.map((facet) => counts.get(facet) ?? 0);
}

async function search(
  { query, limit, cursor, sort, ...filter }: SearchQuery,
  sources: SearchSources,
  unverified: Unverified,
): Promise<SearchPage> {
  const { store } = sources;
  const rest = cursor === undefined ? undefined : readSearchCursor(cursor);
  const rankPart = (part: readonly number[]): Promise<Ranked> => {
    const facetsOf = (some: CatalogFilter): readonly number[] => [...shownFacets(some, unverified), ...part];
    return rankSorted({ query, filter, facetsOf }, { sources, sort });
  };
  // Entries that an owner has confirmed are ranked by themselves first: others push none of them out.
  const isInParts = unverified === "last" && filter.verified === undefined;
  const parts = isInParts ? [facetsOfFilter({ verified: true }), []] : [[]];
  const rankings = rest ? [rest] : await Promise.all(parts.map(rankPart));
  const ordered = withoutRepeats(rankings.flatMap(({ ranked }) => ranked)).slice(0, MAX_RANKED);
  const shown = ordered.slice(0, limit);
  const more = ordered.slice(limit);
  const ids = shown.map(({ id }) => id);
  const found = new Map((await store.find(ids, shownFacets(filter, unverified))).map((entry) => [entry.id, entry]));
  return {
    entries: shown.flatMap(({ id, score }) => {
      const entry = found.get(id);
      return entry === undefined ? [] : { ...readEntry(entry), score: roundScore(score) };
    }),
    isPartial: rankings.some(({ isPartial }) => isPartial),
    ...(more.length > 0 ? { cursor: writeSearchCursor(more) } : {}),
  };
}

function withoutRepeats(ranked: readonly Near[]): readonly Near[] {
  const seen = new Set<number>();
  return ranked.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** Scores have three decimals. */
function roundScore(score: number): number {
  return Math.round(score * 1_000) / 1_000;
}

interface Ranked {
  readonly ranked: readonly Near[];
  readonly isPartial: boolean;
}

/** Ranks entries, and sorts the best of them by price if that is asked for. */
async function rankSorted(
  asked: Asked,
  { sources, sort }: { readonly sources: SearchSources; readonly sort: SearchQuery["sort"] },
): Promise<Ranked> {
  const ranking = await rankAsked(asked, sources);
  if (sort !== "price") return ranking;
  const ranked = await cheapestFirst(sources.store, ranking.ranked);
  return { ranked, isPartial: ranking.isPartial || ranked.length < ranking.ranked.length };
}

function readEntry(entry: StoredEntry): CatalogEntry {
  return toEntry(readService(entry), entry.updatedMs);
}

// A cursor marks where the next page begins. Entries that are registered in the meantime do not shift it.

const LIST = /^l\.([0-9a-z]{1,10})(?:\.(\d{3,99}|~))?$/;
const SEARCH = /^s(?:\.[0-9a-z]{1,10}-[0-9a-z]{1,2}){1,200}$/;

/** Where a page of the list begins. */
type ListStart = Pick<StoreQuery, "offset" | "after" | "afterPrice">;

/** A cursor of the list is the id of the last entry on the page; when the list is sorted by price, with the price. */
function writeListCursor({ id, price }: StoredEntry, { afterPrice }: ListStart): string {
  return `l.${id.toString(36)}${afterPrice === undefined ? "" : `.${price}`}`;
}

/** Reads a cursor of the list; `undefined` for every other text. */
function readListCursor(text: string): ListStart | undefined {
  const [, id, price] = LIST.exec(text) ?? [];
  if (id === undefined) return undefined;
  return { offset: 0, after: Number.parseInt(id, 36), ...(price === undefined ? {} : { afterPrice: price }) };
}

/** A cursor of a search holds the remaining entries with their scores, so that their ranking stays the same. */
function writeSearchCursor(ranked: readonly Near[]): string {
  return ["s", ...ranked.map(({ id, score }) => `${id.toString(36)}-${Math.round(score * 1_000).toString(36)}`)].join(
    ".",
  );
}

/** Reads a cursor of a search; `undefined` for every other text. */
function readSearchCursor(text: string): Ranked | undefined {
  if (!SEARCH.test(text)) return undefined;
  const ranked = text
    .split(".")
    .slice(1)
    .map((part) => part.split("-").map((digits) => Number.parseInt(digits, 36)));
  return { ranked: ranked.map(([id = 0, score = 0]) => ({ id, score: Math.min(1, score / 1_000) })), isPartial: false };
}
