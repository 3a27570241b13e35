/**
 * Parameters of the discovery API. Any bytes may stand there; a parameter that is wrong is said so, by name.
 *
 * @see x402 v2 §8.1
 * @module
 */
import type { Catalog, CatalogFilter, ListQuery, SearchQuery } from "@farebox/bazaar/facilitator";
import { isNetwork } from "@farebox/core";

/** A query, or what is wrong with the first parameter that is. */
export type ReadQuery<Query> =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly error: string };

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_OFFSET = 10_000_000;
const MAX_QUERY = 500;
const MAX_EXTENSIONS = 4;

/** Reads the URL of `GET /discovery/resources`. Total. */
export function readListQuery(url: string, catalog: Catalog): ReadQuery<ListQuery> {
  const read = createParameters(url);
  const filter = readFilter(read);
  const limit = read.number("limit", 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const offset = read.number("offset", 0, MAX_OFFSET);
  const cursor = read.text("cursor", "a cursor of this list", (text) => catalog.isCursor("list", text));
  if (offset !== undefined && cursor !== undefined) read.fail("cursor", "none where there is an offset");
  const page = { limit, offset: offset ?? 0, ...(cursor === undefined ? {} : { cursor }) };
  return read.finish({ ...filter, ...page });
}

/** Reads the URL of `GET /discovery/search`. Total. */
export function readSearchQuery(url: string, catalog: Catalog): ReadQuery<SearchQuery> {
  const read = createParameters(url);
  const query = read.text("query", `a text of 1 to ${MAX_QUERY} characters`, (text) => isQuery(text));
  if (query === undefined) read.fail("query", `a text of 1 to ${MAX_QUERY} characters`);
  const filter = readFilter(read);
  const limit = read.number("limit", 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const cursor = read.text("cursor", "a cursor of a search", (text) => catalog.isCursor("search", text));
  return read.finish({ ...filter, query: query ?? "", limit, ...(cursor === undefined ? {} : { cursor }) });
}

function isQuery(text: string): boolean {
  return text.trim() !== "" && text.length <= MAX_QUERY;
}

function readFilter(read: Parameters): CatalogFilter {
  const type = read.text("type", "http or mcp", (text) => text === "http" || text === "mcp");
  const network = read.text("network", "a CAIP-2 identifier such as eip155:8453", isNetwork);
  const scheme = read.text("scheme", "the name of a scheme", (text) => /^[\w.-]{1,64}$/.test(text));
  const payTo = read.text("payTo", "an address", (text) => /^[\x21-\x7e]{1,256}$/.test(text));
  const names = read.text("extensions", `up to ${MAX_EXTENSIONS} identifiers, separated by commas`, isListOfNames);
  return {
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
  /** A parameter's text; `undefined` when it is not there, or noted as wrong. */
  text(name: string, expected: string, isFit: (text: string) => boolean): string | undefined;
  number(name: string, least: number, most: number): number | undefined;
  fail(name: string, expected: string): void;
  finish<Query>(query: Query): ReadQuery<Query>;
}

/** Reads the URL itself: what Express makes of a query depends on its version and settings. */
function createParameters(url: string): Parameters {
  const at = url.indexOf("?");
  const values = new URLSearchParams(at < 0 ? "" : url.slice(at));
  let error: string | undefined;

  const fail: Parameters["fail"] = (name, expected) => {
    error ??= `${name}: expected ${expected}`;
  };
  const text: Parameters["text"] = (name, expected, isFit) => {
    const [value, ...more] = values.getAll(name);
    if (value === undefined) return undefined;
    if (more.length === 0 && isFit(value)) return value;
    fail(name, more.length === 0 ? expected : "one value");
    return undefined;
  };
  return {
    fail,
    text,
    number(name, least, most) {
      const isFit = (digits: string): boolean => {
        return /^\d{1,8}$/.test(digits) && Number(digits) >= least && Number(digits) <= most;
      };
      const digits = text(name, `a whole number from ${least} to ${most}`, isFit);
      return digits === undefined ? undefined : Number(digits);
    },
    finish: (query) => (error === undefined ? { ok: true, query } : { ok: false, error }),
  };
}
