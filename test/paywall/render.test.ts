import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { PaywallInput, PaywallOffer, PaywallSettings } from "@farebox/core/adapter";
import { describe, expect, test } from "vitest";
import { chooseTexts } from "../../packages/core/src/paywall-texts.js";
import { paywall } from "../../packages/paywall/src/index.js";

const OFFER: PaywallOffer = {
  requirements: {
    scheme: "exact",
    network: "eip155:84532",
    amount: "10000",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    maxTimeoutSeconds: 60,
    extra: { name: "USDC", version: "2" },
  },
  symbol: "USDC",
  decimals: 6,
  isUpTo: false,
  facts: undefined,
};

function inputOf({ settings = { texts: {} }, ...more }: Partial<PaywallInput> = {}): PaywallInput {
  const offers = more.offers ?? [OFFER];
  return {
    challenge: JSON.stringify({ x402Version: 2, accepts: offers.map(({ requirements }) => requirements) }),
    offers,
    description: "The weather",
    serviceName: undefined,
    method: "GET",
    url: "https://api.example.com/weather",
    form: undefined,
    settings,
    chosen: chooseTexts(settings.texts, undefined),
    nowMs: 1_790_000_000_000,
    ...more,
  };
}

const pageOf = (settings: Partial<PaywallSettings>, more: Partial<PaywallInput> = {}) =>
  paywall.page(inputOf({ ...more, settings: { texts: {}, ...settings } }));

test("the page with three offers takes less than 20 kB with gzip, the challenge included", () => {
  const { html } = paywall.page(inputOf({ offers: [OFFER, OFFER, OFFER] }));
  expect(gzipSync(html).length).toBeLessThan(20_000);
});

test("the policy allows the style and the script of the page, and nothing of another origin", () => {
  const { html, policy } = pageOf({ colors: { accent: "#0b6b43" } });
  const hashOf = (text = "") => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const [, style] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
  const [, script] = /<script type="module">(.*?)<\/script>/s.exec(html) ?? [];
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src 'self' data: blob:",
    "media-src blob:",
    "frame-src blob:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(html).not.toMatch(/\son\w+=|javascript:|style="/);
});

test("an amount is written exactly, whatever its size", () => {
  const priceOf = (amount: string, decimals: number | undefined, asset = "0xabc") => {
    const offer = { ...OFFER, decimals, symbol: "T", requirements: { ...OFFER.requirements, amount, asset } };
    return /<span id="price">([^<]*)/.exec(paywall.page(inputOf({ offers: [offer] })).html)?.[1];
  };
  expect(priceOf("1", 18)).toBe("0.000000000000000001 T");
  expect(priceOf("123456789012345678901234567890", 6)).toBe("123456789012345678901234.56789 T");
  expect(priceOf("100", 0)).toBe("100 T");
  expect(priceOf("100", 2)).toBe("1 T");
  expect(priceOf("7", undefined)).toBe("7 T");
  expect(priceOf("10000", 6, OFFER.requirements.asset)).toBe("$0.01");
});

describe("the seller's", () => {
  test("title, logo and colors are in the page", () => {
    const { html } = pageOf({ title: "A & B", logo: "/logo.svg", colors: { accent: "#ff0", text: "#123456" } });
    expect(html).toContain("<title>A &amp; B: Payment required</title>");
    expect(html).toContain('<img src="/logo.svg" alt="">');
    // Yellow has black text.
    expect(html).toContain("--accent: #ff0; --on-accent: #000000; --text: #123456; --muted: #123456;");
    expect(pageOf({ colors: { accent: "#003" } }).html).toContain("--accent: #003; --on-accent: #ffffff;");
  });

  test("title is the service name by default, and else the host", () => {
    expect(pageOf({}, { serviceName: "Weather" }).html).toContain("<title>Weather: Payment required</title>");
    expect(pageOf({}).html).toContain("<title>api.example.com: Payment required</title>");
  });

  test("testnet overrides what is known of the networks", () => {
    const main = { ...OFFER, requirements: { ...OFFER.requirements, network: "eip155:8453" } };
    const says = (settings: Partial<PaywallSettings>, offers = [OFFER]) =>
      pageOf(settings, { offers }).html.includes('class="badge"');
    expect([says({}), says({}, [main]), says({}, [OFFER, main])]).toEqual([true, false, false]);
    expect([says({ testnet: false }), says({ testnet: true }, [main])]).toEqual([false, true]);
  });
});

test("a route that nobody can pay for says so, and has no button", () => {
  const { html } = paywall.page(inputOf({ offers: [] }));
  expect(html).toContain("This is not sold per request.");
});

test("the data of a page are the challenge and what the page needs", () => {
  const facts = { blockhash: "9".repeat(44), program: "Token", decimals: 6 };
  const solana = { ...OFFER, facts, requirements: { ...OFFER.requirements, network: "solana:x" } };
  const { challenge, page } = JSON.parse(
    paywall.data(inputOf({ offers: [solana], form: { body: "a=1" }, method: "POST" })),
  );
  expect(challenge.accepts).toHaveLength(1);
  expect(page).toMatchObject({ method: "POST", form: { body: "a=1" }, options: [{ family: "svm", solana: facts }] });
});

test("the viewer has no policy but that no frame shows it", () => {
  expect(paywall.viewer()).toMatchObject({ policy: "frame-ancestors 'none'" });
});
