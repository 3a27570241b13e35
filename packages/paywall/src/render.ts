/**
 * Writes the page: a summary that reads without JavaScript, the data for the script, the script and the style, and a policy that allows
 * these two and nothing else.
 *
 * Texts come from the seller, from the client, and from tokens. They are escaped here, in one place for HTML and in one for data.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { networkName, stablecoinOf } from "@farebox/bazaar";
import {
  escapeHtml,
  type PaywallDocument,
  type PaywallInput,
  type PaywallOffer,
  type PaywallSettings,
} from "@farebox/core/adapter";
import { formatAmount } from "@farebox/core/scheme";
import { factsOf } from "./networks.js";
import { PAGE_SCRIPT, VIEWER_SCRIPT } from "./page.generated.js";
import type { FreshData, OptionData, PageData, SolanaData } from "./page-data.js";
import { STYLE } from "./style.js";

/** Writes the page of one request. */
export function writePage(input: PaywallInput): PaywallDocument {
  const { settings, chosen, challenge } = input;
  const { texts, language, direction } = chosen;
  const data = dataOf(input);
  const title = settings.title ?? input.serviceName ?? hostOf(input.url);
  const style = styleOf(settings);
  const html = `<!doctype html>
<html lang="${escapeHtml(language)}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(`${title}: ${texts.title}`)}</title>
<style>${style.text}</style>
</head>
<body>
<div class="frame">
<header>${logoOf(settings, title)}<span>${escapeHtml(title)}</span></header>
<main>
<section class="card" aria-labelledby="what">
${isTestnet(input) ? `<p class="badge">${escapeHtml(texts.testnet)}</p>\n` : ""}<h1 id="what">${escapeHtml(input.description || texts.title)}</h1>
${summaryOf(input, data)}
</section>
<section class="card" id="checkout" aria-label="${escapeHtml(texts.title)}">
<noscript><p>${escapeHtml(texts.noScript)}</p></noscript>
${clientHelp(input, data)}
</section>
</main>
</div>
<script type="application/json" id="payment-required">${escapeJson(challenge)}</script>
<script type="application/json" id="farebox-page">${escapeJson(JSON.stringify(data))}</script>
<script type="module">${PAGE_SCRIPT}</script>
</body>
</html>
`;
  return { html, policy: style.policy };
}

/** Writes the data of a page that is open already. */
export function writeData(input: PaywallInput): string {
  const fresh: FreshData = { challenge: JSON.parse(input.challenge), page: dataOf(input) };
  return JSON.stringify(fresh);
}

/** Writes the document in which a page shows HTML that was paid for. It has no policy, as the seller's own document has none of ours. */
export function writeViewer(): PaywallDocument {
  return {
    html: `<!doctype html><meta charset="utf-8"><script>${VIEWER_SCRIPT}</script>`,
    policy: "frame-ancestors 'none'",
  };
}

function dataOf({ method, url, form, offers, chosen, nowMs }: PaywallInput): PageData {
  return { method, url, form: form ?? null, options: offers.map(optionOf), texts: chosen.texts, nowMs };
}

function optionOf({ requirements, symbol, decimals, isUpTo, facts }: PaywallOffer): OptionData {
  const { network, amount } = requirements;
  const known = factsOf(network);
  const coin = stablecoinOf(requirements);
  return {
    family: network.startsWith("eip155:") ? "evm" : network.startsWith("solana:") ? "svm" : "other",
    networkName: networkName(network) ?? network,
    symbol,
    decimals: decimals ?? null,
    amount: decimals === undefined ? `${amount} ${symbol}` : `${formatAmount(BigInt(amount), decimals)} ${symbol}`,
    dollars: coin === undefined ? null : `$${formatAmount(BigInt(amount), coin.decimals)}`,
    isUpTo,
    chain: known?.chain ?? null,
    explorer: known?.explorer ?? null,
    solana: readSolana(facts),
  };
}

function readSolana(facts: PaywallOffer["facts"]): SolanaData | null {
  const { blockhash, program, decimals } = facts ?? {};
  const isWhole = typeof blockhash === "string" && typeof program === "string" && typeof decimals === "number";
  return isWhole ? { blockhash, program, decimals } : null;
}

function summaryOf({ chosen: { texts }, url, offers }: PaywallInput, { options }: PageData): string {
  const [first] = options;
  if (first === undefined) return `<p>${escapeHtml(texts.notForSale)}</p>`;
  const main = first.dollars ?? first.amount;
  const price = first.isUpTo ? fill(texts.upTo, { price: main }) : main;
  const small =
    first.dollars === null ? "" : `<small id="token">${escapeHtml(`${first.amount} · ${first.networkName}`)}</small>`;
  const payee = offers[0]?.requirements.payTo ?? "";
  return `<p class="price"><span id="price">${escapeHtml(price)}</span>${small}</p>
${first.isUpTo ? `<p class="quiet" id="up-to">${escapeHtml(texts.upToNote)}</p>\n` : ""}<dl>
<div><dt>${escapeHtml(texts.for)}</dt><dd><code>${escapeHtml(url)}</code></dd></div>
<div><dt>${escapeHtml(texts.network)}</dt><dd id="network">${escapeHtml(first.networkName)}</dd></div>
<div><dt>${escapeHtml(texts.payee)}</dt><dd id="payee"><code>${escapeHtml(payee)}</code></dd></div>
</dl>`;
}

/** For clients, and for people without JavaScript: every way to pay. The script moves it to the end. */
function clientHelp({ chosen: { texts }, offers }: PaywallInput, { options }: PageData): string {
  if (options.length === 0) return "";
  const rows = options.map(({ amount, networkName: name, isUpTo }, at) => {
    const price = isUpTo ? fill(texts.upTo, { price: amount }) : amount;
    return `<li>${escapeHtml(`${price} · ${name} · ${offers[at]?.requirements.network}`)}</li>`;
  });
  return `<div id="client">
<h2>${escapeHtml(texts.withClient)}</h2>
<p class="quiet">${escapeHtml(texts.withClientHelp)}</p>
<ul class="quiet">
${rows.join("\n")}
</ul>
</div>`;
}

function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => values[name] ?? hole);
}

function isTestnet({ settings: { testnet }, offers }: PaywallInput): boolean {
  return testnet ?? (offers.length > 0 && offers.every(({ requirements }) => factsOf(requirements.network)?.isTest));
}

function logoOf({ logo }: PaywallSettings, title: string): string {
  if (logo !== undefined) return `<img src="${escapeHtml(logo)}" alt="">`;
  const [letter = "?"] = title.trim().toUpperCase();
  return `<span class="mark" aria-hidden="true">${escapeHtml(letter)}</span>`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

interface Style {
  readonly text: string;
  /** The policy of a page with it. */
  readonly policy: string;
}

const STYLES: WeakMap<PaywallSettings, Style> = /* @__PURE__ */ new WeakMap();

function styleOf(settings: PaywallSettings): Style {
  const kept = STYLES.get(settings);
  if (kept !== undefined) return kept;
  const text = STYLE + colorsOf(settings);
  const style = { text, policy: policyOf(text) };
  STYLES.set(settings, style);
  return style;
}

const SCRIPT_HASH = /* @__PURE__ */ hashOf(PAGE_SCRIPT);

function policyOf(style: string): string {
  return [
    "default-src 'none'",
    `script-src ${SCRIPT_HASH}`,
    `style-src ${hashOf(style)}`,
    // The logo, icons of wallets, and responses that are images, sounds, films or PDF.
    "img-src 'self' data: blob:",
    "media-src blob:",
    "frame-src blob:",
    "connect-src 'self'",
    // A form that was paid for is sent once more, to show its response.
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** The seller's colors, checked at start-up to be `#rgb` or `#rrggbb`. */
function colorsOf({ colors = {} }: PaywallSettings): string {
  const { accent, background, surface, text } = colors;
  const rules = [
    ...(accent === undefined ? [] : [`--accent: ${accent}; --on-accent: ${textOn(accent)};`]),
    ...(background === undefined ? [] : [`--bg: ${background};`]),
    ...(surface === undefined ? [] : [`--surface: ${surface};`]),
    ...(text === undefined ? [] : [`--text: ${text}; --muted: ${text};`]),
  ];
  return rules.length === 0 ? "" : `:root:root { ${rules.join(" ")} }\n`;
}

/** Black or white, as it has more contrast. @see WCAG 2.2, "relative luminance" */
function textOn(color: string): string {
  const digits = color.length === 4 ? color.slice(1).replace(/./g, "$&$&") : color.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff";
}

/** JSON inside a script element. A `<` could end the element or open a comment. */
function escapeJson(json: string): string {
  return json.replaceAll("<", "\\u003c");
}
