/**
 * The catalog for people with a browser: one read-only page, made here, without a script.
 *
 * @module
 */
import type { Catalog, CatalogFilter } from "@farebox/bazaar/facilitator";
import { createIssues, type Logger } from "@farebox/core";
import type { RequestHandler } from "express";
import { checkLogger, isFunction } from "../logger-option.js";
import { type Asked, foundPage, problemPage, type Shown } from "./page.js";
import { POLICY } from "./style.js";

/** How many services are on one page. */
const PER_PAGE = 20;

/** The longest description anybody searches by, in UTF-16 units. */
const LONGEST_QUERY = 1_000;

/** Options of the page. */
export interface CatalogPageOptions {
  /** Hears of pages that could not be made. Default: nobody. */
  readonly logger?: Logger;
}

/**
 * Creates a handler that shows a catalog as a page: `app.get("/", catalogPage(catalog))`. It reads `query`, `type`,
 * `network` and `cursor` from the URL, writes nothing anywhere, and needs no script, image or cookie. Works in Express 4
 * and 5.
 *
 * @throws ConfigError with every issue at once.
 */
export function catalogPage(catalog: Catalog, options: CatalogPageOptions = {}): RequestHandler {
  const issues = createIssues();
  if (!isFunction(catalog?.list) || !isFunction(catalog.search)) {
    issues.add("catalog", "a catalog, e.g. createCatalog(…)", catalog);
  }
  issues.checkKeys("options", options, ["logger"]);
  const { logger } = options;
  checkLogger(logger, issues);
  issues.throwIfAny();
  return async (req, res) => {
    const { status, page } = await makePage(catalog, req.originalUrl, logger);
    res.status(status).set({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": POLICY,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-cache",
    });
    res.send(page);
  };
}

interface Made {
  readonly status: number;
  readonly page: string;
}

/** Never rejects: Express 4 ignores a handler that does. */
async function makePage(catalog: Catalog, url: string, logger: Logger | undefined): Promise<Made> {
  const at = url.indexOf("?");
  const wanted = new URLSearchParams(at === -1 ? "" : url.slice(at));
  const asked = readAsked(wanted);
  const cursor = wanted.get("cursor") ?? undefined;
  const problem = problemOf(asked, cursor, catalog);
  if (problem !== undefined) return { status: 400, page: problemPage(asked, problem) };
  try {
    return { status: 200, page: foundPage(asked, await find(catalog, asked, cursor)) };
  } catch (error) {
    report(logger, error);
    return { status: 503, page: problemPage(asked, "The catalog cannot be read right now. Please try again later.") };
  }
}

function readAsked(wanted: URLSearchParams): Asked {
  const read = (name: string) => (wanted.get(name) ?? "").trim();
  return { query: read("query"), type: read("type"), network: read("network") };
}

function problemOf({ query, type }: Asked, cursor: string | undefined, catalog: Catalog): string | undefined {
  if (query.length > LONGEST_QUERY) return `What it should do has to be said in ${LONGEST_QUERY} characters.`;
  if (type !== "" && type !== "http" && type !== "mcp") return "The kind is http or mcp.";
  const kind = query === "" ? "list" : "search";
  if (cursor !== undefined && !catalog.isCursor(kind, cursor)) return "There is no such page.";
  return undefined;
}

async function find(catalog: Catalog, asked: Asked, cursor: string | undefined): Promise<Shown> {
  const page = { limit: PER_PAGE, ...toFilter(asked), ...(cursor === undefined ? {} : { cursor }) };
  const { query } = asked;
  const found =
    query === ""
      ? await catalog.list({ ...page, offset: 0 })
      : { total: undefined, ...(await catalog.search({ ...page, query })) };
  return {
    entries: found.entries,
    total: found.total,
    nextUrl: found.cursor === undefined ? undefined : urlOf(asked, found.cursor),
    firstUrl: cursor === undefined ? undefined : urlOf(asked),
  };
}

function toFilter({ type, network }: Asked): CatalogFilter {
  return {
    ...(type === "http" || type === "mcp" ? { type } : {}),
    ...(network === "" ? {} : { network }),
  };
}

/** Relative to the page, wherever that is: the path of a request is a stranger's word. */
function urlOf(asked: Asked, cursor?: string): string {
  const given = Object.entries({ ...asked, cursor }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return `?${new URLSearchParams(given)}`;
}

function report(logger: Logger | undefined, error: unknown): void {
  try {
    logger?.error("catalog_page_failed", { error: error instanceof Error ? error.name : "not an error" });
  } catch {
    // There is nobody left to tell, and the process is not ended for it.
  }
}
