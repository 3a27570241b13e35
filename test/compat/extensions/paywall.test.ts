import { avmPaywall, createPaywall, evmPaywall, isOwnPaywall, svmPaywall } from "@farebox/compat/paywall";
import { expect, test } from "vitest";

const offer = (network: string) => ({ network, amount: "10000", asset: "0x<b>" });
const CHALLENGE = {
  accepts: [offer("eip155:84532"), offer("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1")],
  resource: { url: "https://api.example.com/?a=<script>", description: "Weather & more" },
};

test("the builder of the reference's example writes a page with every offer, and nothing that a client wrote as HTML", () => {
  const paywall = createPaywall()
    .withNetwork(evmPaywall)
    .withNetwork(svmPaywall)
    .withNetwork(avmPaywall)
    .withConfig({ appName: "<Shop>", appLogo: "/logo.svg", testnet: true })
    .build();
  const html = paywall.generateHtml(CHALLENGE);
  expect(html).toContain("&lt;Shop&gt;: payment required");
  expect(html).toContain("10000 atomic units of 0x&lt;b&gt; on eip155:84532");
  expect(html).toContain("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1");
  expect(html).toContain("Weather &amp; more");
  expect(html).not.toMatch(/<script|<b>|<Shop>/);
  expect(isOwnPaywall(paywall)).toBe(true);
});

test("a handler of the seller's writes its page for the first offer that it supports", () => {
  const seen: unknown[] = [];
  const handler = {
    supports: ({ network }: { network: string }) => network.startsWith("solana:"),
    generateHtml: (...args: unknown[]) => {
      seen.push(...args);
      return "own";
    },
  };
  const paywall = createPaywall().withNetwork(handler).withConfig({ appName: "a" }).build();
  expect(paywall.generateHtml(CHALLENGE, { currentUrl: "u" })).toBe("own");
  expect(seen).toEqual([CHALLENGE.accepts[1], CHALLENGE, { appName: "a", currentUrl: "u" }]);
  expect(isOwnPaywall(paywall)).toBe(false);
});

test("a builder without networks writes the page, too", () => {
  expect(createPaywall().build().generateHtml({ accepts: [] })).toContain("Payment required");
});
