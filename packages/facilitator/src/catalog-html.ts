/**
 * The HTML of the catalog page: a search form and the results.
 *
 * Every text in an entry comes from a seller. It is escaped, and `<bdi>` isolates its writing direction.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { CatalogEntry, EntryOffer } from "@farebox/bazaar/facilitator";

/** The fields of the search form, as the visitor sent them; an empty text means any. */
export interface PageQuery {
  readonly query: string;
  readonly type: string;
  readonly network: string;
}

/** The results on one page. */
export interface PageResults {
  readonly entries: readonly CatalogEntry[];
  /** Number of matching entries; unknown for a search. */
  readonly total: number | undefined;
  /** URL of the next page; absent on the last. */
  readonly nextUrl: string | undefined;
  /** URL of the first page; absent on it. */
  readonly firstUrl: string | undefined;
}

/** Renders the page with its results. */
export function resultsPage(query: PageQuery, results: PageResults): string {
  const { entries, nextUrl, firstUrl } = results;
  const list = html`<ol>${entries.map((entry) => html`<li>${entryArticle(entry)}</li>\n`)}</ol>`;
  const pages = html`<nav aria-label="Pages">
${firstUrl && html`<a href="${firstUrl}">First page</a>`}
${nextUrl && html`<a href="${nextUrl}" rel="next">Next page</a>`}
</nav>`;
  return document(
    query,
    html`<p role="status">${countOf(results)}</p>
${entries.length > 0 ? list : undefined}
${nextUrl || firstUrl ? pages : undefined}`,
  );
}

/** Renders the page that says why there are no results. */
export function problemPage(query: PageQuery, problem: string): string {
  return document(query, html`<p role="alert">${problem}</p>`);
}

function document(query: PageQuery, content: Html): string {
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
${searchForm(query)}
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

function searchForm({ query, type, network }: PageQuery): Html {
  const options = TYPES.map(([value, name]) =>
    value === type
      ? html`<option value="${value}" selected>${name}</option>`
      : html`<option value="${value}">${name}</option>`,
  );
  return html`<form role="search" method="get">
<label class="words">Description <input type="search" name="query" value="${query}" maxlength="1000"></label>
<label>Kind <select name="type">${options}</select></label>
<label>Network <input name="network" value="${network}" placeholder="eip155:8453" maxlength="100"></label>
<button>Search</button>
</form>`;
}

function countOf({ total, entries }: PageResults): string {
  if (entries.length === 0) return "No service matches.";
  if (total === undefined) return "Best matches first.";
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

/** Only a concrete http(s) URL becomes a link: a route template and an MCP identifier have no address. */
function linkOf(resource: string): Html {
  const isAddress = /^https?:\/\//.test(resource) && !/\/[:*{]/.test(resource.slice("https://".length));
  if (!isAddress) return html`<code><bdi>${resource}</bdi></code>`;
  return html`<a href="${resource}" rel="nofollow noopener noreferrer"><code><bdi>${resource}</bdi></code></a>`;
}

/** Prices are in atomic units, because an entry does not say how many decimals its asset has. */
function priceOf({ scheme, amount, asset, network, extra }: EntryOffer): Html {
  const { name } = extra;
  const called = typeof name === "string" ? html` (<bdi>${name}</bdi>)` : undefined;
  const upTo = scheme === "upto" ? "Up to " : "";
  return html`${upTo}${amount} atomic units of <code><bdi>${asset}</bdi></code>${called} on <code><bdi>${network}</bdi></code>, scheme <code><bdi>${scheme}</bdi></code>`;
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
label { display: grid; gap: 0.25rem; }
label.words { flex: 1 1 16rem; }
input, select, button { font: inherit; padding: 0.4rem 0.6rem; }
ol { list-style: none; padding: 0; }
article { border-top: 1px solid GrayText; padding: 1rem 0; }
h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.25rem 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
.tags { color: GrayText; }
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

/** Trusted markup, as opposed to text that has to be escaped. */
class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** A value in a template. Markup stays as it is, anything else is escaped; `undefined` writes nothing. */
type Part = Html | string | number | undefined | readonly Part[];

/** Template tag for markup. Escapes values, both in elements and in quoted attributes. */
function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const [first = "", ...rest] = strings;
  return new Html(first + rest.map((markup, at) => write(parts[at]) + markup).join(""));
}

function write(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.toString();
  if (typeof part === "object") return part.map(write).join("");
  return escapeText(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
