/**
 * One service on the page: as a card among others, and with all that it takes.
 *
 * Every text in an entry comes from a seller. It is escaped, and `<bdi>` isolates its writing direction.
 *
 * @module
 */
import { type CatalogEntry, type EntryOffer, networkName, stablecoinOf } from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { formatAmount } from "@farebox/core/scheme";
import { type CallField, callFields, httpCall, mcpConnection } from "./call.js";
import { type Html, html, visibleJson } from "./markup.js";

/** Where a service is shown whole. */
export type UrlOfEntry = (entry: CatalogEntry) => string;

/** Writes the card of an entry. */
export function entryCard(entry: CatalogEntry, urlOf: UrlOfEntry): Html {
  const { description, tags = [], type } = entry;
  const methods = type === "mcp" ? ["MCP tool"] : methodsOf(entry).map(({ method }) => method);
  const chips = [...methods, ...tags].map((tag) => html`<li class="chip"><bdi>${tag}</bdi></li>`);
  return html`<article>
<div class="head">${monogram(titleOf(entry))}<div><h2><a href="${urlOf(entry)}"><bdi>${titleOf(entry)}</bdi></a></h2>
<p>${verifiedMark(entry)}</p></div></div>
${titleOf(entry) === entry.resource ? undefined : html`<p class="quiet"><code><bdi>${entry.resource}</bdi></code></p>`}
${description && html`<p class="clamp"><bdi>${description}</bdi></p>`}
<div class="foot">${cardPrice(entry)}<ul class="chips">${chips}</ul></div>
</article>`;
}

/** Values that the visitor filled in, by part of the call and by name. */
export type GivenValues = Readonly<Record<CallField["part"], Readonly<Record<string, string>>>>;

/** Writes everything about an entry. */
export function entryDetail(entry: CatalogEntry, given: GivenValues): Html {
  const { description, tags = [], lastUpdated, type, resource } = entry;
  const chips = tags.map((tag) => html`<li class="chip"><bdi>${tag}</bdi></li>`);
  const parts = type === "mcp" ? [toolPart(entry)] : methodsOf(entry).map((method) => methodPart(entry, method, given));
  return html`<div class="detail">
<article>
<div class="head">${monogram(titleOf(entry))}<p>${verifiedMark(entry)}</p></div>
${titleOf(entry) === resource ? undefined : html`<p><code><bdi>${resource}</bdi></code></p>`}
${description && html`<p><bdi>${description}</bdi></p>`}
${tags.length > 0 ? html`<ul class="chips">${chips}</ul>` : undefined}
<p class="quiet">Listed <time datetime="${lastUpdated}">${lastUpdated.slice(0, 10)}</time></p>
</article>
${parts}
</div>`;
}

/** The name of an entry for people. */
export function titleOf({ serviceName, toolName, resource }: CatalogEntry): string {
  return serviceName ?? toolName ?? resource;
}

/** A disk with a letter, in a color that depends on the name. The icon that a seller names may be anything, and is not loaded. */
function monogram(name: string): Html {
  const [letter = "?"] = name.replace(/^https?:\/\//, "").toUpperCase();
  const hue = [...name.slice(0, 100)].reduce((sum, one) => (sum * 7 + 53 * (one.codePointAt(0) ?? 0)) % 360, 7);
  return html`<svg viewBox="0 0 40 40" aria-hidden="true"><rect width="40" height="40" rx="10" fill="hsl(${hue} 55% 36%)"></rect><text x="20" y="26.5" text-anchor="middle" font-size="18" font-weight="700" fill="#fff">${letter}</text></svg>`;
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

function methodPart(entry: CatalogEntry, offered: Method, given: GivenValues): Html {
  const { method, accepts, discoveryInfo } = offered;
  const own = offered.description === entry.description ? undefined : offered.description;
  return html`<section class="card">
<h2><bdi>${method}</bdi></h2>
${own && html`<p><bdi>${own}</bdi></p>`}
${offersPart(accepts)}
${tryPart(entry, method, withGiven(entry, inputOf(discoveryInfo), given))}
${inputAndOutput(offered)}
</section>\n`;
}

/** The input of a call, and what of it a visitor may change. */
interface FilledInput {
  readonly input: JsonObject;
  readonly fields: readonly CallField[];
}

/** What the visitor filled in takes the place of the examples. A parameter of the query that is left empty is not sent. */
function withGiven(entry: CatalogEntry, example: JsonObject, given: GivenValues): FilledInput {
  const fields = callFields(entry, example).map((field) => {
    const sent = given[field.part];
    return Object.hasOwn(sent, field.name) ? { ...field, value: sent[field.name] } : field;
  });
  const partOf = (part: CallField["part"]): JsonObject => {
    const own = example[part];
    const values = new Map(Object.entries(isJsonObject(own) ? own : {}));
    for (const field of fields) {
      if (field.part !== part) continue;
      if (field.value === undefined || field.value === "") values.delete(field.name);
      else values.set(field.name, field.value);
    }
    return Object.fromEntries(values);
  };
  return { input: { ...example, pathParams: partOf("pathParams"), queryParams: partOf("queryParams") }, fields };
}

/** A link that opens the service in the browser, whose page takes the payment; or how to call it otherwise. */
function tryPart(entry: CatalogEntry, method: string, { input, fields }: FilledInput): Html | undefined {
  const call = httpCall(entry, method, input);
  if (call === undefined) return undefined;
  const line = html`<details><summary>From a terminal</summary>
<p>Without a payment the service responds with its price.</p>
<pre><bdi>${call.curl}</bdi></pre></details>`;
  if (method !== "GET") return html`<p>A link cannot send ${method}. A client can.</p>${line}`;
  if (call.url === undefined) {
    return html`<p>To try it, fill in what the URL needs:</p>${fieldsForm(entry, fields)}${line}`;
  }
  const others = html`<details><summary>With other values</summary>${fieldsForm(entry, fields)}</details>`;
  return html`<p><a class="button" href="${call.url}" target="_blank" rel="nofollow noopener noreferrer">Try it in the browser</a></p>
<p class="quiet">It opens the service. If the service asks for a payment, its page may take one from your wallet.</p>${fields.length > 0 ? others : undefined}${line}`;
}

/** The page itself builds the link, so that no form is sent to another server. */
function fieldsForm({ resource, toolName }: CatalogEntry, fields: readonly CallField[]): Html {
  const inputs = fields.slice(0, MAX_FIELDS).map(({ part, name, value = "" }) => {
    const input =
      part === "pathParams"
        ? html`<input name="p.${name}" value="${value}" required maxlength="200">`
        : html`<input name="q.${name}" value="${value}" maxlength="200">`;
    return html`<label><bdi>${name}</bdi> ${input}</label>`;
  });
  return html`<form method="get"><input type="hidden" name="service" value="${resource}">
${toolName && html`<input type="hidden" name="tool" value="${toolName}">`}${inputs}<button>Make the link</button></form>`;
}

/** More are not filled in by hand. The others keep their example values. */
const MAX_FIELDS = 30;

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
  return html`<section class="card">
<h2>MCP tool <code><bdi>${toolName}</bdi></code></h2>
${offersPart(accepts)}
<p>Browsers cannot call a tool. A client can.</p>
<details><summary>How to connect</summary>
${how}
<p>Parameters of <code>tools/call</code>:</p>
<pre><bdi>${shorten(visibleJson(call, 2))}</bdi></pre>
</details>
${inputAndOutput({ method: "", accepts, discoveryInfo })}
</section>`;
}

function inputAndOutput({ accepts, discoveryInfo }: Method): Html | undefined {
  if (discoveryInfo === undefined) return undefined;
  const output = accepts[0]?.outputSchema.output ?? discoveryInfo["output"];
  const shown = { input: discoveryInfo["input"], ...(output === undefined || output === null ? {} : { output }) };
  return html`<details><summary>Input and output</summary><pre><bdi>${shorten(visibleJson(shown, 2))}</bdi></pre></details>`;
}

/** A service may declare a lot. The discovery API has the whole. */
const MAX_JSON = 20_000;

function shorten(json: string): string {
  return json.length > MAX_JSON ? `${json.slice(0, MAX_JSON)}\n…` : json;
}

function inputOf(info: JsonObject | undefined): JsonObject {
  const input = info?.["input"];
  return isJsonObject(input) ? input : {};
}

/** Every way to pay: the price, the network, the whole address of the payee, and the time. */
function offersPart(offers: readonly EntryOffer[]): Html {
  return html`${offers.map((offer) => {
    const { scheme, payTo, maxTimeoutSeconds } = offer;
    return html`${priceOf(offer)}
<dl>
<div><dt>Paid to</dt><dd><code><bdi>${payTo}</bdi></code></dd></div>
<div><dt>Scheme</dt><dd><code><bdi>${scheme}</bdi></code></dd></div>
<div><dt>Time to pay</dt><dd>${maxTimeoutSeconds} s</dd></div>
</dl>`;
  })}`;
}

/** The cheapest price in dollars, or the first price. */
function cardPrice({ accepts }: CatalogEntry): Html {
  const inDollars = accepts.filter((offer) => stablecoinOf(offer) !== undefined);
  const [cheapest] = inDollars.toSorted((one, other) => compare(weigh(one), weigh(other)));
  const shown = cheapest ?? accepts[0];
  if (shown === undefined) return html``;
  const others =
    new Set(accepts.map(({ network, asset, amount, scheme }) => `${network} ${asset} ${amount} ${scheme}`)).size - 1;
  const more = others === 0 ? undefined : html`<small>and ${others} other ${others === 1 ? "price" : "prices"}</small>`;
  return html`<div>${priceOf(shown)}${more}</div>`;
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : Number(one > other);
}

/** In units of 10⁻¹⁸ dollars. */
function weigh(offer: EntryOffer): bigint {
  return BigInt(offer.amount) * 10n ** BigInt(18 - (stablecoinOf(offer)?.decimals ?? 0));
}

/** A token that is no known stablecoin is shown by its address: its name is only what the seller says. */
function priceOf(offer: EntryOffer): Html {
  const { scheme, amount, asset, network } = offer;
  const coin = stablecoinOf(offer);
  const upTo = scheme === "upto" ? "up to " : "";
  const named = networkName(network) ?? html`<code><bdi>${network}</bdi></code>`;
  const other = scheme === "exact" || scheme === "upto" ? undefined : html` by <code><bdi>${scheme}</bdi></code>`;
  if (coin === undefined) {
    return html`<p class="price">${upTo}${amount} <small>atomic units of <code><bdi>${asset}</bdi></code> on ${named}${other}</small></p>`;
  }
  const price = formatAmount(BigInt(amount), coin.decimals);
  return html`<p class="price">${upTo}$${price} <small>${price} ${coin.symbol} on ${named}${other}</small></p>`;
}
