/**
 * The discovery API: `GET /discovery/resources` lists the catalog, `GET /discovery/search` searches it.
 *
 * A parameter may hold any bytes. A wrong one gets status 400 with its name and the expected form.
 *
 * @see x402 v2 §8
 * @module
 */
import {
  type Catalog,
  type CatalogFilter,
  type ListQuery,
  PRICE_LIMITS,
  type SearchQuery,
} from "@farebox/bazaar/facilitator";
import { isNetwork } from "@farebox/core/protocol";
import type { Request, Response } from "express";

type DiscoveryHandler = (req: Request, res: Response) => Promise<void>;

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_OFFSET = 10_000_000;
const MAX_QUERY = 500;
const MAX_EXTENSIONS = 4;

/** Serves the list, page by page. Responds with 503 and rejects when the catalog cannot be reached. */
export function listHandler(catalog: Catalog): DiscoveryHandler {
  return (req, res) =>
    respond(res, readListQuery(req.url, catalog), async (query) => {
      const { entries, total, cursor } = await catalog.list(query);
      const { limit, offset } = query;
      return { x402Version: 2, items: entries, pagination: { limit, offset, total, cursor: cursor ?? null } };
    });
}

/** Serves a search, page by page. Rejects like {@link listHandler}. */
export function searchHandler(catalog: Catalog): DiscoveryHandler {
  return (req, res) =>
    respond(res, readSearchQuery(req.url, catalog), async (query) => {
      const { entries, isPartial, cursor } = await catalog.search(query);
      const pagination = { limit: query.limit, cursor: cursor ?? null };
      return { x402Version: 2, resources: entries, partialResults: isPartial, pagination };
    });
}

/** A query, or what is wrong with the first wrong parameter. */
type ReadQuery<Query> = { readonly ok: true; readonly query: Query } | { readonly ok: false; readonly error: string };

async function respond<Query>(
  res: Response,
  read: ReadQuery<Query>,
  ask: (query: Query) => Promise<object>,
): Promise<void> {
  // The catalog is public, also for pages in a browser.
  res.setHeader("Access-Control-Allow-Origin", "*");
  if (!read.ok) {
    res.status(400).json({ error: read.error });
    return;
  }
  try {
    res.status(200).json(await ask(read.query));
  } catch (error) {
    res.status(503).setHeader("Retry-After", "5").json({ error: "the catalog cannot be reached" });
    throw error;
  }
}

function readListQuery(url: string, catalog: Catalog): ReadQuery<ListQuery> {
  const read = createParameters(url);
  const filter = readFilter(read);
  const limit = read.number("limit", 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const offset = read.number("offset", 0, MAX_OFFSET);
  const sort = read.word("sort", ["price"]);
  const cursor = read.text("cursor", "a cursor of this list", (text) => catalog.isCursor("list", text));
  if (offset !== undefined && cursor !== undefined) read.fail("cursor", "none where there is an offset");
  const page = { limit, offset: offset ?? 0, ...(cursor === undefined ? {} : { cursor }) };
  return read.finish({ ...filter, ...page, ...(sort === undefined ? {} : { sort }) });
}

function readSearchQuery(url: string, catalog: Catalog): ReadQuery<SearchQuery> {
  const read = createParameters(url);
  const expected = `a text of 1 to ${MAX_QUERY} characters`;
  const query = read.text("query", expected, (text) => text.trim() !== "" && text.length <= MAX_QUERY);
  if (query === undefined) read.fail("query", expected);
  const filter = readFilter(read);
  const limit = read.number("limit", 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const sort = read.word("sort", ["price"]);
  const cursor = read.text("cursor", "a cursor of a search", (text) => catalog.isCursor("search", text));
  const order = sort === undefined ? {} : { sort };
  return read.finish({ ...filter, ...order, query: query ?? "", limit, ...(cursor === undefined ? {} : { cursor }) });
}

function readFilter(read: Parameters): CatalogFilter {
  const type = read.text("type", "http or mcp", (text) => text === "http" || text === "mcp");
  const network = read.text("network", "a CAIP-2 identifier such as eip155:8453", isNetwork);
  const scheme = read.text("scheme", "the name of a scheme", (text) => /^[\w.-]{1,64}$/.test(text));
  const payTo = read.text("payTo", "an address", (text) => /^[\x21-\x7e]{1,256}$/.test(text));
  const names = read.text("extensions", `up to ${MAX_EXTENSIONS} identifiers, separated by commas`, isListOfNames);
  const maxPrice = read.word("maxPrice", PRICE_LIMITS);
  const verified = read.word("verified", ["true", "false"]);
  return {
    ...(maxPrice === undefined ? {} : { maxPrice }),
    ...(verified === undefined ? {} : { verified: verified === "true" }),
    ...(type === undefined ? {} : { type: type === "mcp" ? "mcp" : "http" }),
    ...(network === undefined ? {} : { network }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(payTo === undefined ? {} : { payTo }),
    ...(names === undefined ? {} : { extensions: names.split(",") }),
  };
}

function isListOfNames(text: string): boolean {
  const names = text.split(",");
  return names.length <= MAX_EXTENSIONS && names.every((name) => /^[\w.-]{1,64}$/.test(name));
}

interface Parameters {
  /** The text of a parameter; `undefined` when it is absent, or wrong and noted. */
  text(name: string, expected: string, isValid: (text: string) => boolean): string | undefined;
  /** One of several words. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined;
  number(name: string, least: number, most: number): number | undefined;
  fail(name: string, expected: string): void;
  finish<Query>(query: Query): ReadQuery<Query>;
}

/** Parses the URL itself: `req.query` depends on the version and the settings of Express. */
function createParameters(url: string): Parameters {
  const at = url.indexOf("?");
  const values = new URLSearchParams(at < 0 ? "" : url.slice(at));
  let error: string | undefined;

  const fail: Parameters["fail"] = (name, expected) => {
    error ??= `${name}: expected ${expected}`;
  };
  const text: Parameters["text"] = (name, expected, isValid) => {
    const [value, ...more] = values.getAll(name);
    if (value === undefined) return undefined;
    if (more.length === 0 && isValid(value)) return value;
    fail(name, more.length === 0 ? expected : "one value");
    return undefined;
  };
  return {
    fail,
    text,
    word(name, words) {
      const given = text(name, `one of ${words.join(", ")}`, (value) => words.some((word) => word === value));
      return words.find((word) => word === given);
    },
    number(name, least, most) {
      const digits = text(name, `a whole number from ${least} to ${most}`, (given) => {
        return /^\d{1,8}$/.test(given) && Number(given) >= least && Number(given) <= most;
      });
      return digits === undefined ? undefined : Number(digits);
    },
    finish: (query) => (error === undefined ? { ok: true, query } : { ok: false, error }),
  };
}
