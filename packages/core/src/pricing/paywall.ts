/**
 * The page for a person who opens a priced URL in a browser. It shows the resource and its offers. Browsers cannot pay
 * by themselves, so the page has no script. It contains the challenge as data, for extensions and agents.
 *
 * @module
 */
import { formatAmount } from "../price/price.js";
import type { Offer } from "../scheme/offer.js";
import type { ChallengeSubject, WrittenChallenge } from "./challenge.js";

/** Allows the page its own style and nothing else. */
export const PAYWALL_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Whether a request comes from a browser that shows pages, rather than from a program that reads JSON. */
export function wantsPage(accept: string | undefined, userAgent: string | undefined): boolean {
  return accept?.includes("text/html") === true && userAgent?.includes("Mozilla") === true;
}

/** Writes the page. */
export function writePaywall(subject: ChallengeSubject, url: string, challenge: WrittenChallenge): string {
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
