/**
 * The catalog as a page: a form to search by, and what was found. Everything in an entry is a seller's word, so it is
 * text here, in a frame of its own for the direction of writing.
 *
 * @module
 */
import type { CatalogEntry, EntryOffer } from "@farebox/bazaar/facilitator";
import { Html, html } from "./html.js";
import { STYLE } from "./style.js";

/** What somebody asked for, as they wrote it. */
export interface Asked {
  readonly query: string;
  readonly type: string;
  readonly network: string;
}

/** What there is to see. */
export interface Shown {
  readonly entries: readonly CatalogEntry[];
  /** How many fit; unknown of a search. */
  readonly total: number | undefined;
  /** Where the next page is; absent on the last. */
  readonly nextUrl: string | undefined;
  /** Where the first page is; absent on it. */
  readonly firstUrl: string | undefined;
}

/** Writes the page with what was found. */
export function foundPage(asked: Asked, shown: Shown): string {
  const { entries, nextUrl, firstUrl } = shown;
  const list = html`<ol>${entries.map((entry) => html`<li>${entryArticle(entry)}</li>\n`)}</ol>`;
  const pages = html`<nav aria-label="Pages">
${firstUrl && html`<a href="${firstUrl}">First page</a>`}
${nextUrl && html`<a href="${nextUrl}" rel="next">Next page</a>`}
</nav>`;
  return document(
    asked,
    html`<p role="status">${countOf(shown)}</p>
${entries.length > 0 ? list : undefined}
${nextUrl || firstUrl ? pages : undefined}`,
  );
}

/** Writes the page that says why there is nothing to see. */
export function problemPage(asked: Asked, problem: string): string {
  return document(asked, html`<p role="alert">${problem}</p>`);
}

function document(asked: Asked, content: Html): string {
  return `<!doctype html>
${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${asked.query === "" ? "Services" : `${asked.query}: services`}</title>
<style>${MARKED_STYLE}</style>
</head>
<body>
<a class="skip" href="#found">Skip to the services</a>
<header>
<h1>Services</h1>
<p>What programs can pay for per request, over <a href="https://www.x402.org">x402</a>, without an account. Descriptions are
the sellers' own words.</p>
${searchForm(asked)}
</header>
<main id="found" tabindex="-1">
${content}
</main>
</body>
</html>
`}`;
}

const MARKED_STYLE = new Html(STYLE);

const TYPES = [
  ["", "All"],
  ["http", "HTTP endpoints"],
  ["mcp", "MCP tools"],
] as const;

function searchForm({ query, type, network }: Asked): Html {
  const options = TYPES.map(([value, name]) =>
    value === type
      ? html`<option value="${value}" selected>${name}</option>`
      : html`<option value="${value}">${name}</option>`,
  );
  return html`<form role="search" method="get">
<label class="words">What it should do <input type="search" name="query" value="${query}" maxlength="1000"></label>
<label>Kind <select name="type">${options}</select></label>
<label>Network <input name="network" value="${network}" placeholder="eip155:8453" maxlength="100"></label>
<button>Search</button>
</form>`;
}

function countOf({ total, entries }: Shown): string {
  if (entries.length === 0) return "No service fits.";
  if (total === undefined) return "The best come first.";
  return total === 1 ? "One service." : `${total} services.`;
}

function entryArticle(entry: CatalogEntry): Html {
  const { description, tags = [], accepts, lastUpdated, discoveryInfo } = entry;
  return html`<article>
<h2><bdi>${titleOf(entry)}</bdi></h2>
<p>${methodOf(entry)} ${linkOf(entry.resource)}</p>
${description && html`<p><bdi>${description}</bdi></p>`}
${accepts.map((offer) => html`<p>${priceOf(offer)}</p>\n`)}
${tags.length > 0 ? html`<p class="tags">${tags.map((tag) => html`<bdi>${tag}</bdi> `)}</p>` : undefined}
${discoveryInfo && html`<details><summary>How to call it</summary><pre><bdi>${JSON.stringify(discoveryInfo, null, 2)}</bdi></pre></details>`}
<p>Listed <time datetime="${lastUpdated}">${lastUpdated.slice(0, 10)}</time></p>
</article>`;
}

function titleOf({ serviceName, toolName, resource }: CatalogEntry): string {
  return serviceName ?? toolName ?? resource;
}

function methodOf({ type, method, toolName }: CatalogEntry): Html {
  return type === "mcp" ? html`MCP tool <code><bdi>${toolName}</bdi></code> at` : html`${method}`;
}

/** A template is no address, and an MCP tool has none. */
function linkOf(resource: string): Html {
  const isAddress = /^https?:\/\//.test(resource) && !/\/[:*{]/.test(resource.slice("https://".length));
  if (!isAddress) return html`<code><bdi>${resource}</bdi></code>`;
  return html`<a href="${resource}" rel="nofollow noopener noreferrer"><code><bdi>${resource}</bdi></code></a>`;
}

/** In atomic units: how many of them are a dollar, only whoever knows the asset can say. */
function priceOf({ scheme, amount, asset, network, extra }: EntryOffer): Html {
  const { name } = extra;
  const called = typeof name === "string" ? html` (<bdi>${name}</bdi>)` : undefined;
  const upTo = scheme === "upto" ? "Up to " : "";
  return html`${upTo}${amount} atomic units of <code><bdi>${asset}</bdi></code>${called} on <code><bdi>${network}</bdi></code>, scheme <code><bdi>${scheme}</bdi></code>`;
}
