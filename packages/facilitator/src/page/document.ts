/**
 * The HTML of the catalog page: a search form and the results.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type CatalogEntry, networkName, PRICE_LIMITS } from "@farebox/bazaar/facilitator";
import { entryArticle } from "./entry.js";
import { Html, html } from "./markup.js";

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
  /** Number of entries on each network. */
  readonly networks: ReadonlyMap<string, number>;
  /** URL of the next page; absent on the last. */
  readonly nextUrl: string | undefined;
  /** URL of the first page; absent on it. */
  readonly firstUrl: string | undefined;
}

/** Renders the page with its results. */
export function resultsPage(query: PageQuery, results: PageResults): string {
  const { entries, networks, nextUrl, firstUrl } = results;
  const list = html`<ol>${entries.map((entry) => html`<li>${entryArticle(entry)}</li>\n`)}</ol>`;
  const pages = html`<nav aria-label="Pages">
${firstUrl && html`<a href="${firstUrl}">First page</a>`}
${nextUrl && html`<a href="${nextUrl}" rel="next">Next page</a>`}
</nav>`;
  return document(
    query,
    networks,
    html`<p role="status">${countOf(query, results)}</p>
${entries.length > 0 ? list : undefined}
${nextUrl || firstUrl ? pages : undefined}`,
  );
}

/** Renders the page that says why there are no results. */
export function problemPage(query: PageQuery, problem: string): string {
  return document(query, new Map(), html`<p role="alert">${problem}</p>`);
}

function document(query: PageQuery, networks: ReadonlyMap<string, number>, content: Html): string {
  return `<!doctype html>
${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${query.query === "" ? "Services" : `${query.query}: services`}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<a class="skip" href="#found">Skip to the services</a>
<header>
<h1>Services</h1>
<p>Services that programs pay for per request over <a href="https://www.x402.org">x402</a>, without an account. Descriptions are
the sellers' own words.</p>
${searchForm(query, networks)}
</header>
<main id="found" tabindex="-1">
${content}
</main>
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

function searchForm(query: PageQuery, networks: ReadonlyMap<string, number>): Html {
  const orders = [
    ["", query.query === "" ? "Oldest first" : "Best match first"],
    ["price", "Cheapest first"],
  ] as const;
  return html`<form role="search" method="get">
<label class="words">Description <input type="search" name="query" value="${query.query}" maxlength="1000"></label>
${select("Kind", "type", query, TYPES)}
${select("Network", "network", query, networkOptions(networks))}
${select("Price", "maxPrice", query, PRICES)}
${select("Owner", "verified", query, OWNERS)}
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

/** Readable in light and dark mode, at any width. The focused element is always visible. */
const STYLE: string = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 0 auto; padding: 1rem; }
a:focus-visible, input:focus-visible, select:focus-visible, button:focus-visible, summary:focus-visible {
  outline: 3px solid Highlight; outline-offset: 2px;
}
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; }
form { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; }
label { display: grid; gap: 0.25rem; min-width: 0; }
label.words { flex: 1 1 16rem; }
input, select, button { font: inherit; padding: 0.4rem 0.6rem; max-width: 100%; box-sizing: border-box; }
ol { list-style: none; padding: 0; }
article { border-top: 1px solid GrayText; padding: 1rem 0; }
h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.25rem 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { margin: 0.25rem 0; padding: 0.5rem; border: 1px solid GrayText; }
.method { margin: 0.75rem 0; }
.price span { display: inline-block; max-width: 100%; }
.quiet { opacity: 0.75; }
.confirmed { font-weight: 600; }
summary { cursor: pointer; }
nav { display: flex; gap: 1.5rem; }
`;

/** A browser may load this style and nothing else: no script, no image, no frame. */
export const CONTENT_SECURITY_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
