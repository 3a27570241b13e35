/**
 * The catalog for people with a browser: one read-only page, rendered on the server, without a script.
 *
 * @module
 */
import { type Catalog, type CatalogFilter, NAMED_NETWORKS, PRICE_LIMITS } from "@farebox/bazaar/facilitator";
import type { Logger } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import type { RequestHandler } from "express";
import { logFailure } from "../log.js";
import { checkLogger, hasMethods } from "../options.js";
import {
  CONTENT_SECURITY_POLICY,
  type FilterCounts,
  type PageQuery,
  type PageResults,
  problemPage,
  resultsPage,
  servicePage,
} from "./document.js";

/** Services per page. */
const PER_PAGE = 20;

/** Longest search text, in UTF-16 units. */
const MAX_QUERY = 1_000;
const MAX_NETWORK = 100;

/** Options of the page. */
export interface CatalogPageOptions {
  /** Receives one line per page that could not be rendered. Default: no log. */
  readonly logger?: Logger;
}

/**
 * Creates a handler that shows a catalog as a page: `app.get("/", catalogPage(catalog))`. It reads `query`, `type`, `network`,
 * `maxPrice`, `verified`, `sort`, `cursor`, `service` and `tool` from the URL, stores nothing, and needs no script, image or cookie. Works in
 * Express 4 and 5.
 *
 * @throws ConfigError with every issue at once.
 */
export function catalogPage(catalog: Catalog, options: CatalogPageOptions = {}): RequestHandler {
  const issues = createIssues();
  if (!hasMethods(catalog, ["list", "search", "find", "countEach"])) {
    issues.add("catalog", "a catalog, e.g. createCatalog(…)", catalog);
  }
  issues.checkKeys("options", options, ["logger"]);
  const { logger } = options;
  checkLogger(logger, issues);
  issues.throwIfAny();
  return async (req, res) => {
    const { status, page } = await renderPage(catalog, req.originalUrl, logger);
    res.status(status).set({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-cache",
    });
    res.send(page);
  };
}

/** Never rejects: Express 4 ignores a handler that does. */
async function renderPage(
  catalog: Catalog,
  url: string,
  logger: Logger | undefined,
): Promise<{ readonly status: number; readonly page: string }> {
  const at = url.indexOf("?");
  const parameters = new URLSearchParams(at === -1 ? "" : url.slice(at));
  const read = (name: string) => (parameters.get(name) ?? "").trim();
  const query: PageQuery = {
    query: read("query"),
    type: read("type"),
    network: read("network"),
    maxPrice: read("maxPrice"),
    verified: read("verified"),
    sort: read("sort"),
  };
  const resource = parameters.get("service");
  if (resource !== null) return renderService(catalog, { parameters, resource, query, logger });
  const cursor = parameters.get("cursor") ?? undefined;
  const problem = problemOf(query, cursor, catalog);
  if (problem !== undefined) return { status: 400, page: problemPage(query, problem) };
  try {
    return { status: 200, page: resultsPage(query, await find(catalog, query, cursor)) };
  } catch (error) {
    logFailure(logger, "catalog_page_failed", error);
    return { status: 503, page: problemPage(query, UNREADABLE) };
  }
}

/** The page of one service. Values of the path come as `p.city=Lisbon`, those of the query as `q.units=metric`. */
async function renderService(
  catalog: Catalog,
  {
    parameters,
    resource,
    query,
    logger,
  }: {
    readonly parameters: URLSearchParams;
    readonly resource: string;
    readonly query: PageQuery;
    readonly logger: Logger | undefined;
  },
): Promise<{ readonly status: number; readonly page: string }> {
  const given = (prefix: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...parameters].flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value.slice(0, MAX_VALUE)] as const] : [],
      ),
    );
  try {
    const toolName = parameters.get("tool") ?? "";
    const entry = resource.length > MAX_RESOURCE ? undefined : await catalog.find({ resource, toolName });
    if (entry === undefined) return { status: 404, page: problemPage(query, "There is no such service.") };
    return { status: 200, page: servicePage(entry, { pathParams: given("p."), queryParams: given("q.") }) };
  } catch (error) {
    logFailure(logger, "catalog_page_failed", error);
    return { status: 503, page: problemPage(query, UNREADABLE) };
  }
}

const MAX_RESOURCE = 4_096;
const MAX_VALUE = 200;
const UNREADABLE = "The catalog cannot be read right now. Please try again later.";

function problemOf(query: PageQuery, cursor: string | undefined, catalog: Catalog): string | undefined {
  const { type, network, maxPrice, verified, sort } = query;
  if (query.query.length > MAX_QUERY) return `The search text must not be longer than ${MAX_QUERY} characters.`;
  if (!isOneOf(["", "http", "mcp"], type)) return "The kind must be http or mcp.";
  if (network.length > MAX_NETWORK) return `The network must not be longer than ${MAX_NETWORK} characters.`;
  if (!isOneOf(["", ...PRICE_LIMITS], maxPrice)) return `The price must be one of ${PRICE_LIMITS.join(", ")}.`;
  if (!isOneOf(["", "true", "false"], verified)) return "The owner must be true or false.";
  if (!isOneOf(["", "price"], sort)) return "The order must be price.";
  const kind = query.query === "" ? "list" : "search";
  if (cursor !== undefined && !catalog.isCursor(kind, cursor)) return "There is no such page.";
  return undefined;
}

function isOneOf(words: readonly string[], text: string): boolean {
  return words.includes(text);
}

async function find(catalog: Catalog, pageQuery: PageQuery, cursor: string | undefined): Promise<PageResults> {
  const { query, network } = pageQuery;
  const order = pageQuery.sort === "price" ? ({ sort: "price" } as const) : {};
  const page = { limit: PER_PAGE, ...order, ...toFilter(pageQuery), ...(cursor === undefined ? {} : { cursor }) };
  const found =
    query === ""
      ? await catalog.list({ ...page, offset: 0 })
      : { total: undefined, ...(await catalog.search({ ...page, query })) };
  // A network without a name can be chosen where it is on the page.
  const shown = found.entries.flatMap(({ accepts }) => accepts.map((offer) => offer.network));
  const networks = new Set([...NAMED_NETWORKS, ...shown, ...(network === "" ? [] : [network])]);
  return {
    entries: found.entries,
    total: found.total,
    counts: await countAll(catalog, [...networks]),
    nextUrl: found.cursor === undefined ? undefined : urlOf(pageQuery, found.cursor),
    firstUrl: cursor === undefined ? undefined : urlOf(pageQuery),
  };
}

/** Counts for every filter, in one call. Networks of no entry are left out. */
async function countAll(catalog: Catalog, networks: readonly string[]): Promise<FilterCounts> {
  const filters: readonly (readonly [keyof FilterCounts, string, CatalogFilter])[] = [
    ...(["http", "mcp"] as const).map((type) => ["type", type, { type }] as const),
    ...PRICE_LIMITS.map((maxPrice) => ["maxPrice", maxPrice, { maxPrice }] as const),
    ["verified", "true", { verified: true }],
    ...networks.map((network) => ["network", network, { network }] as const),
  ];
  const counts = await catalog.countEach(filters.map(([, , filter]) => filter));
  const of = (wanted: keyof FilterCounts) =>
    new Map(
      filters.flatMap(([name, value], at) => {
        const count = counts[at] ?? 0;
        return name !== wanted || (name === "network" && count === 0) ? [] : [[value, count] as const];
      }),
    );
  return { type: of("type"), network: of("network"), maxPrice: of("maxPrice"), verified: of("verified") };
}

function toFilter({ type, network, maxPrice, verified }: PageQuery): CatalogFilter {
  const limit = PRICE_LIMITS.find((some) => some === maxPrice);
  return {
    ...(type === "http" || type === "mcp" ? { type } : {}),
    ...(network === "" ? {} : { network }),
    ...(limit === undefined ? {} : { maxPrice: limit }),
    ...(verified === "" ? {} : { verified: verified === "true" }),
  };
}

/** Relative to the page: the path of a request comes from the client, and is not repeated. */
function urlOf(query: PageQuery, cursor?: string): string {
  const given = Object.entries({ ...query, cursor }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return `?${new URLSearchParams(given)}`;
}
