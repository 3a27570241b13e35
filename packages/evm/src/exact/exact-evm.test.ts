import type { CompiledTerms, OfferTerms } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ASSETS } from "../assets.js";
import { exactEvm } from "./exact-evm.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const UNKNOWN = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const DOMAIN = { name: "Some Token", version: "3" };

const BY_PERMIT2 = { assetTransferMethod: "permit2" };
const MEGA_USD = { name: "MegaUSD", version: "1" };

const TERMS: OfferTerms = { network: "eip155:84532", price: "$0.01", payTo: PAY_TO };
const scheme = exactEvm();

function compile(change: Partial<OfferTerms>): CompiledTerms {
  return scheme.compileTerms({ ...TERMS, ...change });
}

/** Issues as `term: expected`. */
function issuesOf(change: Partial<OfferTerms>): readonly string[] {
  const terms = compile(change);
  return terms.ok ? [] : terms.issues.map(({ term, expected }) => `${term}: ${expected}`);
}

describe("the scheme", () => {
  test("exactEvm names its scheme and networks, and is frozen", () => {
    expect(scheme).toMatchObject({ scheme: "exact", networks: "eip155:*" });
    expect(Object.isFrozen(scheme)).toBe(true);
  });
});

describe("a price in dollars", () => {
  test("a dollar price is in the network's stablecoin, with its EIP-712 domain in the offer", () => {
    expect(compile({})).toEqual({
      ok: true,
      asset: { id: USDC, symbol: "USDC", decimals: 6, extra: { name: "USDC", version: "2" } },
      amount: 10_000n,
      payTo: PAY_TO,
    });
  });

  test.each(
    ASSETS.filter(({ network, address }) => ASSETS.find((asset) => asset.network === network)?.address === address),
  )(
    "a dollar price on $networkName is in its stablecoin, moved by $transfer",
    ({ network, address, decimals, symbol, transfer, name, version }) => {
      const amount = 10n ** BigInt(decimals - 2);
      const extra = {
        eip3009: { name, version },
        permit2: { assetTransferMethod: "permit2" },
        "permit2+eip2612": { name, version, assetTransferMethod: "permit2" },
      }[transfer];
      const asset = { id: address, symbol, decimals, extra };
      expect(compile({ network })).toEqual({ ok: true, asset, amount, payTo: PAY_TO });
    },
  );

  test.each<[change: Partial<OfferTerms>, issue: string, why: string]>([
    [{ price: "0.01" }, 'price: a dollar price such as "$0.01"', "no currency"],
    [{ price: "1.5 EURC" }, "price: one of the tickers on this network: USDC", "a ticker that is unknown there"],
    [{ price: "1.5USDC" }, "price: a dollar price such as", "no space"],
    [{ price: "$0.0000001" }, "price: at most 6 decimals", "would be rounded"],
    [{ price: "" }, 'price: a dollar price such as "$0.01"', "empty"],
    [{ network: "eip155:31337" }, "price: { asset, amount, extra: { name, version } }", "no stablecoin known"],
  ])("a dollar price of %j is refused: %s (%s)", (change, issue) => {
    expect(issuesOf(change)).toEqual([expect.stringContaining(issue)]);
  });
});

describe("a price by a ticker", () => {
  test.each(ASSETS)(
    "a price by ticker is in $symbol on $networkName, with its decimals",
    ({ network, address, symbol, decimals }) => {
      const asset = { id: address, symbol, decimals };
      for (const ticker of [symbol, symbol.toLowerCase(), symbol.toUpperCase()]) {
        expect(compile({ network, price: `0.10 ${ticker}` })).toMatchObject({
          ok: true,
          asset,
          amount: 10n ** BigInt(decimals - 1),
        });
      }
    },
  );

  test("a price by ticker has the token's domain in the offer", () => {
    const terms = compile({ network: "eip155:42220", price: "0.10 USDT" });
    expect(terms.ok && terms.asset).toEqual({
      id: "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e",
      symbol: "USDT",
      decimals: 6,
      extra: { name: "Tether USD", version: "1" },
    });
  });

  test("a ticker of another network is refused, and the known ones are named", () => {
    expect(issuesOf({ network: "eip155:42220", price: "1 PYUSD" })).toEqual([
      "price: one of the tickers on this network: USDC, USDT, USAT",
    ]);
    expect(issuesOf({ price: "1 USDT" })).toEqual(["price: one of the tickers on this network: USDC"]);
  });
});

describe("a price in an asset", () => {
  test("a known asset needs only its address, in any case", () => {
    for (const asset of [USDC, USDC.toLowerCase()]) {
      expect(compile({ price: { asset, amount: "7" } })).toEqual({
        ok: true,
        asset: { id: USDC, symbol: "USDC", decimals: 6, extra: { name: "USDC", version: "2" } },
        amount: 7n,
        payTo: PAY_TO,
      });
    }
  });

  test("a known asset keeps its EIP-712 domain, regardless of the seller's extra", () => {
    const terms = compile({ price: { asset: USDC, amount: "7", extra: DOMAIN } });
    expect(terms.ok && terms.asset.extra).toEqual({ name: "USDC", version: "2" });
  });

  test("a known asset need not be the network's first", () => {
    const asset = "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e";
    const terms = compile({ network: "eip155:42220", price: { asset, amount: "7" } });
    expect(terms.ok && terms.asset.symbol).toBe("USDT");
  });

  test.each(["eip155:84532", "eip155:31337"] as const)("an unknown asset on %s needs its EIP-712 domain", (network) => {
    expect(compile({ network, price: { asset: UNKNOWN, amount: "7", extra: { ...DOMAIN, more: 1 } } })).toEqual({
      ok: true,
      asset: { id: UNKNOWN, symbol: "Some Token", decimals: undefined, extra: DOMAIN, priceExtra: { more: 1 } },
      amount: 7n,
      payTo: PAY_TO,
    });
  });

  test.each<[price: OfferTerms["price"], issue: string, why: string]>([
    [{ asset: "USDC", amount: "7" }, "price.asset: a token address", "a ticker"],
    [
      { asset: UNKNOWN.replace("5aA", "5AA"), amount: "7", extra: DOMAIN },
      "price.asset: a token address",
      "a checksum",
    ],
    [{ asset: UNKNOWN, amount: "7" }, "price.extra: the token's EIP-712 domain", "no domain"],
    [{ asset: UNKNOWN, amount: "7", extra: { name: "T" } }, "price.extra: the token's EIP-712 domain", "no version"],
    [{ asset: UNKNOWN, amount: "7", extra: { ...DOMAIN, name: "" } }, "price.extra: the token's", "an empty name"],
    [{ asset: UNKNOWN, amount: "7", extra: { ...DOMAIN, version: 2 } }, "price.extra: the token's", "a number"],
    [{ asset: USDC, amount: "-7" }, "price.amount: atomic units", "a sign"],
    [{ asset: USDC, amount: "0.01" }, "price.amount: atomic units", "a point"],
    [{ asset: USDC, amount: "1e3" }, "price.amount: atomic units", "an exponent"],
    [{ asset: USDC, amount: "$1" }, "price.amount: atomic units", "dollars"],
    [{ asset: USDC, amount: (2n ** 256n).toString() }, "price.amount: an amount below 2^256", "too much"],
  ])("a price of %j is refused: %s (%s)", (price, issue) => {
    expect(issuesOf({ price })).toEqual([expect.stringContaining(issue)]);
  });

  const MUSD = "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7";

  test.each<[what: string, change: Partial<OfferTerms>, extra: Readonly<Record<string, unknown>>]>([
    ["has EIP-3009 too", { price: { asset: USDC, amount: "7", extra: BY_PERMIT2 } }, { name: "USDC", version: "2" }],
    ["is known to have nothing else", { network: "eip155:4326", price: { asset: MUSD, amount: "7" } }, MEGA_USD],
    ["is unknown", { price: { asset: UNKNOWN, amount: "7", extra: BY_PERMIT2 } }, {}],
    [
      "is unknown, with EIP-2612",
      { price: { asset: UNKNOWN, amount: "7", extra: { ...DOMAIN, ...BY_PERMIT2 } } },
      DOMAIN,
    ],
  ])("an asset that %s is moved by Permit2 if the seller says so, or as the only method", (_what, change, extra) => {
    const terms = compile(change);
    expect(terms.ok && terms.asset.extra).toEqual({ ...extra, ...BY_PERMIT2 });
  });

  test("an unknown asset without a name has its address as symbol", () => {
    const terms = compile({ price: { asset: UNKNOWN, amount: "7", extra: BY_PERMIT2 } });
    expect(terms.ok && terms.asset.symbol).toBe(UNKNOWN);
  });

  test.each<[change: Partial<OfferTerms>, issue: string, why: string]>([
    [
      { price: { asset: USDC, amount: "7", extra: { assetTransferMethod: "erc7710" } } },
      "price.extra: assetTransferMethod eip3009 or permit2, or left out",
      "another method",
    ],
    [
      { network: "eip155:4326", price: { asset: MUSD, amount: "7", extra: { assetTransferMethod: "eip3009" } } },
      "price.extra: assetTransferMethod permit2, or left out",
      "a method that the token does not have",
    ],
    [
      { price: { asset: UNKNOWN, amount: "7", extra: { ...BY_PERMIT2, name: "T" } } },
      "price.extra: the token's EIP-712 domain",
      "half a domain",
    ],
  ])("terms with %j are refused: %s (%s)", (change, issue) => {
    expect(issuesOf(change)).toEqual([expect.stringContaining(issue)]);
  });
});

describe("a network", () => {
  test.each(["eip155:base", "eip155:084532", "eip155:0", "eip155:-1", "eip155:1e3", "eip155:0x1"] as const)(
    "%s is refused as a network",
    (network) => {
      const price = { asset: UNKNOWN, amount: "7", extra: DOMAIN };
      expect(issuesOf({ network, price })).toEqual(["network: eip155 and a chain id, as in eip155:84532"]);
    },
  );
});

describe("payTo", () => {
  test.each<[payTo: string, issue: string, why: string]>([
    ["", "an EVM address", "empty"],
    ["vitalik.eth", "an EVM address", "a name"],
    [PAY_TO.slice(0, -1), "an EVM address", "a digit short"],
    [PAY_TO.replace("Bc", "bC"), "an EVM address", "a mistyped checksum"],
    ["2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "an EVM address", "of another family"],
    [`0x${"0".repeat(40)}`, "not the zero address", "no owner"],
    [USDC, "not the token's own contract", "lost for good"],
    [USDC.toLowerCase(), "not the token's own contract", "lost for good, in any case"],
  ])("payTo %s is refused: %s (%s)", (payTo, issue) => {
    expect(issuesOf({ payTo })).toEqual([expect.stringContaining(issue)]);
    expect(issuesOf({ payTo })[0]).toMatch(/^payTo: /);
  });

  test.each([PAY_TO, PAY_TO.toLowerCase(), `0x${PAY_TO.slice(2).toUpperCase()}`])(
    "payTo %s is kept as it is",
    (payTo) => {
      const terms = compile({ payTo });
      expect(terms.ok && terms.payTo).toBe(payTo);
    },
  );

  test("payTo is checked even if the price is wrong", () => {
    expect(issuesOf({ payTo: "alice", price: "1" })).toHaveLength(2);
  });
});

test("compileTerms never throws for any text, and never yields an amount below zero", () => {
  const price = fc.oneof(
    fc.string(),
    fc.record({
      asset: fc.constantFrom(USDC, UNKNOWN, "x"),
      amount: fc.string(),
      extra: fc.dictionary(fc.string(), fc.anything()),
    }),
  );
  fc.assert(
    fc.property(fc.string(), price, fc.oneof(fc.string(), fc.constant(PAY_TO)), (reference, some, payTo) => {
      const terms = scheme.compileTerms({ network: `eip155:${reference}`, price: some, payTo });
      if (terms.ok) expect(terms.amount >= 0n).toBe(true);
      else expect(terms.issues.length).toBeGreaterThan(0);
    }),
  );
});
