/**
 * The page for a person who opens a priced URL in a browser: what it is made of, and who gets it. The package `@farebox/paywall` writes
 * the page that can be paid in. Without it, or if it fails, a page without a script says the price.
 *
 * @module
 */
import type { PaywallColors, PaywallHtml } from "../options.js";
import type { ChosenTexts, PaywallTranslation } from "../paywall-texts.js";
import { formatAmount } from "../price/price.js";
import type { PaymentRequirements } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";
import type { GateRequest } from "../route/request.js";
import type { Offer } from "../scheme/offer.js";
import type { ChallengeSubject, WrittenChallenge } from "./challenge.js";

/** The page of a route: the seller's settings, and those of the route, field by field. */
export interface PaywallSettings {
  /** Default: the service name, or the host. */
  readonly title?: string;
  /** A `data:` URL, or a path of this origin. */
  readonly logo?: string;
  readonly colors?: PaywallColors;
  /** By language. */
  readonly texts: Readonly<Record<string, PaywallTranslation>>;
  /** Default: whether every offer is on a network that is known as a test network. */
  readonly testnet?: boolean;
  /** Replaces the page. */
  readonly html?: PaywallHtml;
}

/** Nothing is set. */
export const PLAIN_PAYWALL: PaywallSettings = Object.freeze({ texts: Object.freeze({}) });

/** One way to pay, in the order of the challenge. */
export interface PaywallOffer {
  readonly requirements: PaymentRequirements;
  /** `USDC`, … */
  readonly symbol: string;
  /** `undefined`: the amount is in atomic units. */
  readonly decimals: number | undefined;
  /** Whether the amount is a maximum. */
  readonly isUpTo: boolean;
  /** What the chain says and a wallet does not: a recent blockhash, for example. `undefined`: nothing is known. */
  readonly facts: JsonObject | undefined;
}

/** What a page is made of. Texts may come from the client. */
export interface PaywallInput {
  /** The challenge as JSON. */
  readonly challenge: string;
  readonly offers: readonly PaywallOffer[];
  readonly description: string;
  /** Default of the title. */
  readonly serviceName: string | undefined;
  readonly method: string;
  /** Absolute URL of the request. */
  readonly url: string;
  /** The fields of the form that was sent. `lost`: there was a body, and it is not known. `undefined`: there was none. */
  readonly form: PaywallForm | undefined;
  readonly settings: PaywallSettings;
  readonly chosen: ChosenTexts;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** A form that met a 402: its body as `application/x-www-form-urlencoded`, or that it is not known. */
export type PaywallForm = { readonly body: string } | "lost";

/** A document, and the `Content-Security-Policy` that it needs. */
export interface PaywallDocument {
  readonly html: string;
  readonly policy: string;
}

/** Writes pages. */
export interface PaywallRenderer {
  /** Writes the page. */
  page(input: PaywallInput): PaywallDocument;
  /** Writes what a page needs to be up to date, as JSON. */
  data(input: PaywallInput): string;
  /** Writes the document in which a page shows HTML that was paid for. It is the same for everybody. */
  viewer(): PaywallDocument;
}

/** Loads the writer of pages, when the first browser comes. */
export type LoadPaywall = () => Promise<PaywallRenderer>;

/** The media type by which a page asks for its data. */
export const PAGE_DATA = "application/vnd.farebox.page+json";

/** The cookie by which a page asks for the viewer, for the next navigation. */
const VIEW_COOKIE = /(?:^|;\s*)farebox-view=1(?:;|$)/;

/** What a request without a payment is shown. `undefined`: it comes from a program that reads JSON. */
export function viewOf(request: GateRequest): "page" | "data" | "viewer" | undefined {
  if (request.accept === PAGE_DATA) return "data";
  if (!wantsPage(request.accept, request.userAgent)) return undefined;
  const mode = request.header?.("Sec-Fetch-Mode");
  if (mode !== undefined && mode !== "navigate") return undefined;
  return VIEW_COOKIE.test(request.header?.("Cookie") ?? "") ? "viewer" : "page";
}

/** Allows the page its own style and nothing else. */
const PLAIN_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Whether a request comes from a browser that shows pages, rather than from a program that reads JSON. */
export function wantsPage(accept: string | undefined, userAgent: string | undefined): boolean {
  return accept?.includes("text/html") === true && userAgent?.includes("Mozilla") === true;
}

/** Writes a page that says the price, and cannot be paid in. */
export function writePlainPage(subject: ChallengeSubject, url: string, challenge: WrittenChallenge): PaywallDocument {
  return { html: writePlain(subject, url, challenge), policy: PLAIN_POLICY };
}

function writePlain(subject: ChallengeSubject, url: string, challenge: WrittenChallenge): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Payment required</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{overflow-wrap:anywhere}</style>
</head>
<body>
<main>
<h1>Payment required</h1>
<p>${escapeHtml(subject.description)}</p>
${subject.offers.length === 0 ? notForSale(url) : forSale(subject, url)}
</main>
<script type="application/json" id="payment-required">${escapeJson(challenge.body)}</script>
</body>
</html>
`;
}

function forSale({ offers }: ChallengeSubject, url: string): string {
  return `<p><code>${escapeHtml(url)}</code> costs, per request, one of:</p>
<ul>
${offers.map((offer) => `<li>${escapeHtml(describe(offer))}</li>`).join("\n")}
</ul>
<p>Programs pay for it over <a href="https://www.x402.org">x402</a>: they read the <code>PAYMENT-REQUIRED</code> header
of this response, sign a payment, and send the request again with a <code>PAYMENT-SIGNATURE</code> header.</p>`;
}

/** Of a route that only a hook grants. */
function notForSale(url: string): string {
  return `<p><code>${escapeHtml(url)}</code> is not sold per request. Its seller lets some requests through: programs read
how in the <code>PAYMENT-REQUIRED</code> header of this response.</p>`;
}

function describe({ scheme, asset, amount, requirements }: Offer): string {
  const { network } = requirements;
  const most = scheme.allowsLess ? "up to " : "";
  if (asset.decimals === undefined)
    return `${most}${amount} atomic units of ${asset.symbol} (${asset.id}) on ${network}`;
  return `${most}${formatAmount(amount, asset.decimals)} ${asset.symbol} on ${network}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for HTML, also inside of an attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** JSON inside a script element. A `<` could end the element or open a comment, so each one is escaped. */
function escapeJson(json: string): string {
  return json.replaceAll("<", "\\u003c");
}
