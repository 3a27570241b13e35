/**
 * One service on the page: its methods with their prices, and how to call them.
 *
 * Every text in an entry comes from a seller. It is escaped, and `<bdi>` isolates its writing direction.
 *
 * @module
 */
import { type CatalogEntry, type EntryOffer, networkName, stablecoinOf } from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { formatAmount } from "@farebox/core/scheme";
import { httpCall, mcpConnection } from "./call.js";
import { type Html, html, visibleJson } from "./markup.js";

/** Writes the article of an entry. */
export function entryArticle(entry: CatalogEntry): Html {
  const { description, tags = [], lastUpdated, type } = entry;
  const body = type === "mcp" ? toolPart(entry) : methodsOf(entry).map((method) => methodPart(entry, method));
  return html`<article>
<h2><bdi>${titleOf(entry)}</bdi></h2>
<p>${verifiedMark(entry)}</p>
${titleOf(entry) === entry.resource ? undefined : html`<p><code><bdi>${entry.resource}</bdi></code></p>`}
${description && html`<p><bdi>${description}</bdi></p>`}
${tags.length > 0 ? html`<p class="quiet">${tags.map((tag) => html`<bdi>${tag}</bdi> `)}</p>` : undefined}
${body}
<p class="quiet">Listed <time datetime="${lastUpdated}">${lastUpdated.slice(0, 10)}</time></p>
</article>`;
}

function titleOf({ serviceName, toolName, resource }: CatalogEntry): string {
  return serviceName ?? toolName ?? resource;
}

function verifiedMark({ verified, verifiedAt }: CatalogEntry): Html {
  if (verified !== true) return html`<span class="quiet">Not confirmed by the owner of the URL</span>`;
  const since = verifiedAt && html` on <time datetime="${verifiedAt}">${verifiedAt.slice(0, 10)}</time>`;
  return html`<span class="confirmed">✓ Confirmed by the owner of the URL${since}</span>`;
}

/** One method, whether the entry lists several or stands for one. */
interface Method {
  readonly method: string;
  readonly accepts: readonly EntryOffer[];
  readonly description?: string | undefined;
  readonly discoveryInfo?: JsonObject | undefined;
}

function methodsOf(entry: CatalogEntry): readonly Method[] {
  const { method = "GET", accepts, discoveryInfo } = entry;
  return entry.methods ?? [{ method, accepts, discoveryInfo }];
}

function methodPart(entry: CatalogEntry, offered: Method): Html {
  const { method, accepts, discoveryInfo } = offered;
  const own = offered.description === entry.description ? undefined : offered.description;
  const call = httpCall(entry, method, inputOf(discoveryInfo));
  const missing = call?.missing.map((name) => `{${name}}`).join(", ");
  const tryIt =
    call &&
    html`<details><summary>Try it</summary>
<p>Without a payment the service responds with its price.${missing && html` Replace <code><bdi>${missing}</bdi></code> first.`}</p>
<pre><bdi>${call.curl}</bdi></pre>
${method === "GET" && call.url !== undefined ? html`<p><a href="${call.url}" rel="nofollow noopener noreferrer">Open it in the browser</a></p>` : undefined}
</details>`;
  return html`<div class="method">
<p class="price"><b><bdi>${method}</bdi></b> ${pricesOf(accepts)}</p>
${own && html`<p><bdi>${own}</bdi></p>`}
${tryIt}
${inputAndOutput(offered)}
</div>\n`;
}

function toolPart(entry: CatalogEntry): Html {
  const { accepts, discoveryInfo, toolName = "" } = entry;
  const input = inputOf(discoveryInfo);
  const connection = mcpConnection(entry, input);
  const how = connection
    ? html`<p>The server is at <code><bdi>${connection.url}</bdi></code>, over ${connection.transport}. A client is configured like this:</p>
<pre><bdi>${connection.config}</bdi></pre>`
    : html`<p>The seller does not say where the server of this tool is.</p>`;
  const example = input["example"];
  const call = { name: toolName, ...(example === undefined ? {} : { arguments: example }) };
  return html`<div class="method">
<p class="price"><b>MCP tool</b> <code><bdi>${toolName}</bdi></code> ${pricesOf(accepts)}</p>
<details><summary>How to connect</summary>
${how}
<p>Parameters of <code>tools/call</code>:</p>
<pre><bdi>${shorten(visibleJson(call, 2))}</bdi></pre>
</details>
${inputAndOutput({ method: "", accepts, discoveryInfo })}
</div>`;
}

function inputAndOutput({ accepts, discoveryInfo }: Method): Html | undefined {
  if (discoveryInfo === undefined) return undefined;
  const output = accepts[0]?.outputSchema.output ?? discoveryInfo["output"];
  const shown = { input: discoveryInfo["input"], ...(output === undefined || output === null ? {} : { output }) };
  return html`<details><summary>Input and output</summary><pre><bdi>${shorten(visibleJson(shown, 2))}</bdi></pre></details>`;
}

/** A page has twenty services, and each may declare a lot. The discovery API has the whole. */
const MAX_JSON = 6_000;

function shorten(json: string): string {
  return json.length > MAX_JSON ? `${json.slice(0, MAX_JSON)}\n…` : json;
}

function inputOf(info: JsonObject | undefined): JsonObject {
  const input = info?.["input"];
  return isJsonObject(input) ? input : {};
}

/** The same price is written once, e.g. where two payees take it. */
function pricesOf(offers: readonly EntryOffer[]): Html {
  const prices = [...new Map(offers.map(priceOf).map((price) => [String(price), price])).values()];
  return html`${prices.map((price, at) => html`${at === 0 ? undefined : " or "}<span>${price}</span>`)}`;
}

/** A token that is no known stablecoin is shown by its address: its name is only what the seller says. */
function priceOf(offer: EntryOffer): Html {
  const { scheme, amount, asset, network } = offer;
  const coin = stablecoinOf(offer);
  const price =
    coin === undefined
      ? html`${amount} atomic units of <code><bdi>${asset}</bdi></code>`
      : html`$${formatAmount(BigInt(amount), coin.decimals)} ${coin.symbol}`;
  const other = scheme === "exact" || scheme === "upto" ? undefined : html` by <code><bdi>${scheme}</bdi></code>`;
  const named = networkName(network) ?? html`<code><bdi>${network}</bdi></code>`;
  return html`${scheme === "upto" ? "up to " : ""}${price} on ${named}${other}`;
}
