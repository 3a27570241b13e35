/**
 * The HTML of the catalog page: a search form and the results.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type CatalogEntry, networkName, PRICE_LIMITS } from "@farebox/bazaar/facilitator";
import { entryCard, entryDetail, type GivenValues, titleOf } from "./entry.js";
import { Html, html } from "./markup.js";
import { STYLE } from "./style.js";

/** The fields of the search form, as the visitor sent them; an empty text means any. */
export interface PageQuery {
  readonly query: string;
  readonly type: string;
  readonly network: string;
  readonly maxPrice: string;
  readonly verified: string;
  readonly sort: string;
}

/** The results on one page. */
export interface PageResults {
  readonly entries: readonly CatalogEntry[];
  /** Number of matching entries; unknown for a search. */
  readonly total: number | undefined;
  readonly counts: FilterCounts;
  /** URL of the next page; absent on the last. */
  readonly nextUrl: string | undefined;
  /** URL of the first page; absent on it. */
  readonly firstUrl: string | undefined;
}

/** Numbers of entries, by the value of a filter. They are of the whole catalog, whatever else is filtered. */
export interface FilterCounts {
  readonly type: ReadonlyMap<string, number>;
  readonly network: ReadonlyMap<string, number>;
  readonly maxPrice: ReadonlyMap<string, number>;
  readonly verified: ReadonlyMap<string, number>;
}

const NO_COUNTS: FilterCounts = { type: new Map(), network: new Map(), maxPrice: new Map(), verified: new Map() };

/** Renders the page with its results. */
export function resultsPage(query: PageQuery, results: PageResults): string {
  const { entries, counts, nextUrl, firstUrl } = results;
  const list = html`<ol class="cards">${entries.map((entry) => html`<li>${entryCard(entry, urlOfEntry)}</li>\n`)}</ol>`;
  const pages = html`<nav aria-label="Pages">
${firstUrl && html`<a href="${firstUrl}">First page</a>`}
${nextUrl && html`<a href="${nextUrl}" rel="next">Next page</a>`}
</nav>`;
  return document(
    query,
    counts,
    html`<p role="status">${countOf(query, results)}</p>
${entries.length > 0 ? list : undefined}
${nextUrl || firstUrl ? pages : undefined}`,
  );
}

/** Where an entry is shown whole. Relative to the page: the path of a request comes from the client, and is not repeated. */
function urlOfEntry({ resource, toolName }: CatalogEntry): string {
  return `?${new URLSearchParams({ service: resource, ...(toolName === undefined ? {} : { tool: toolName }) })}`;
}

/** Renders the page of one service. */
export function servicePage(entry: CatalogEntry, given: GivenValues): string {
  return shell(
    titleOf(entry),
    html`<nav aria-label="Breadcrumb"><a href="?">All services</a></nav>
<main id="found" tabindex="-1">
<h1><bdi>${titleOf(entry)}</bdi></h1>
${entryDetail(entry, given)}
</main>`,
  );
}

/** Renders the page that says why there are no results. */
export function problemPage(query: PageQuery, problem: string): string {
  return document(query, NO_COUNTS, html`<p role="alert">${problem}</p>`);
}

function document(query: PageQuery, counts: FilterCounts, content: Html): string {
  return shell(
    query.query === "" ? "Services" : `${query.query}: services`,
    html`<header>
<h1>Services</h1>
<p>Services that programs pay for per request over <a href="https://www.x402.org">x402</a>, without an account. Descriptions are
the sellers' own words.</p>
${searchForm(query, counts)}
</header>
<main id="found" tabindex="-1">
${content}
</main>`,
  );
}

function shell(title: string, content: Html): string {
  return `<!doctype html>
${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<div class="frame">
<a class="skip" href="#found">Skip to the services</a>
${content}
</div>
</body>
</html>
`}`;
}

const TYPES = [
  ["", "All"],
  ["http", "HTTP endpoints"],
  ["mcp", "MCP tools"],
] as const;
const PRICES = [["", "Any"], ...PRICE_LIMITS.map((limit) => [limit, `Up to $${limit}`] as const)] as const;
const OWNERS = [
  ["", "All"],
  ["true", "Confirmed"],
] as const;

function searchForm(query: PageQuery, counts: FilterCounts): Html {
  const orders = [
    ["", query.query === "" ? "Oldest first" : "Best match first"],
    ["price", "Cheapest first"],
  ] as const;
  return html`<form role="search" method="get">
<label class="words">Description <input type="search" name="query" value="${query.query}" maxlength="1000"></label>
${select("Kind", "type", query, counted(TYPES, counts.type))}
${select("Network", "network", query, networkOptions(counts.network))}
${select("Price", "maxPrice", query, counted(PRICES, counts.maxPrice))}
${select("Owner", "verified", query, counted(OWNERS, counts.verified))}
${select("Order", "sort", query, orders)}
<button>Search</button>
</form>`;
}

type Options = readonly (readonly [value: string, name: string])[];

/** A value that the visitor sent and that is no option is added as one. */
function select(label: string, name: keyof PageQuery, query: PageQuery, options: Options): Html {
  const sent = query[name];
  const all = options.some(([value]) => value === sent) ? options : [...options, [sent, sent] as const];
  const written = all.map(([value, text]) =>
    value === sent
      ? html`<option value="${value}" selected>${text}</option>`
      : html`<option value="${value}">${text}</option>`,
  );
  return html`<label>${label} <select name="${name}">${written}</select></label>`;
}

function counted(options: Options, counts: ReadonlyMap<string, number>): Options {
  return options.map(([value, text]) => {
    const count = counts.get(value);
    return [value, count === undefined ? text : `${text} (${count})`] as const;
  });
}

function networkOptions(networks: ReadonlyMap<string, number>): Options {
  const byCount = [...networks].sort(([, one], [, other]) => other - one);
  return [
    ["", "Any"],
    ...byCount.map(([network, count]) => [network, `${networkName(network) ?? network} (${count})`] as const),
  ];
}

function countOf({ sort }: PageQuery, { total, entries }: PageResults): string {
  if (entries.length === 0) return "No service matches.";
  if (total === undefined) return sort === "price" ? "The best matches, the cheapest first." : "Best matches first.";
  return total === 1 ? "One service." : `${total} services.`;
}

/** A browser may load this style and nothing else: no script, no image, no frame. */
export const CONTENT_SECURITY_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
