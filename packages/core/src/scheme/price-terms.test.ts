import { describe, expect, test } from "vitest";
import { compileTerms, type PricedTerms, type Pricing, priceTerms, pricingById } from "./price-terms.js";
import type { OfferTerms } from "./scheme.js";

const USDX = { id: "token-1", symbol: "USDX", decimals: 6, extra: { version: "1" } };
const EURX = { id: "token-2", symbol: "EURX", decimals: 2, extra: {} };

const pricing: Pricing = {
  assetsOn: (network) => (network === "test:1" ? [USDX, EURX] : []),
  assetForm: "{ asset, amount, extra }",
  nameAsset({ asset, extra }, network) {
    if (!asset.startsWith("token-")) return { ok: false, term: "price.asset", expected: "a token" };
    if (network === "test:3" && extra === undefined) return { ok: false, term: "price.extra", expected: "a name" };
    return { ok: true, asset: { id: asset, symbol: asset, decimals: undefined, extra: { ...extra } } };
  },
};
const most = { amount: 1_000_000n, expected: "a million at most" };
const capped: Pricing = { ...pricing, most };

function price(
  price: OfferTerms["price"],
  by: Pricing = pricing,
  network: OfferTerms["network"] = "test:1",
): PricedTerms {
  return priceTerms({ network, price, payTo: "payee" }, by);
}

describe("a price by a ticker", () => {
  test("a price in dollars is in the first known asset, and a price by a ticker in the one that it names", () => {
    expect(price("$0.01")).toEqual({ ok: true, asset: USDX, amount: 10_000n });
    expect(price("0.01 eurx")).toEqual({ ok: true, asset: EURX, amount: 1n });
  });

  test("a price is bounded by the option most only", () => {
    expect(price(`$1${"0".repeat(29)}`)).toMatchObject({ ok: true, amount: 10n ** 35n });
    expect(price("$1.000000", capped)).toMatchObject({ ok: true, amount: 1_000_000n });
  });

  test.each<[given: string, by: Pricing, network: OfferTerms["network"], expected: string]>([
    ["0.01", pricing, "test:1", 'a dollar price such as "$0.01", or "0.01 USDC"'],
    ["1 GBPX", pricing, "test:1", "one of the tickers on this network: USDX, EURX"],
    ["0.001 EURX", pricing, "test:1", "at most 2 decimals, which is all the asset has: a price is never rounded"],
    ["$1.000001", capped, "test:1", "a million at most"],
    ["$1", pricing, "test:2", "{ asset, amount, extra }, because no stablecoin is known on test:2"],
    ["rubbish", pricing, "test:2", "{ asset, amount, extra }, because no stablecoin is known on test:2"],
  ])("a price of %s is refused with its issue", (given, by, network, expected) => {
    expect(price(given, by, network)).toEqual({ ok: false, issues: [{ term: "price", expected }] });
  });
});

describe("a price in a named asset", () => {
  test("a price in a named asset is in the asset that the scheme makes of it, on any network", () => {
    const extra = { name: "Any" };
    const asset = { id: "token-9", symbol: "token-9", decimals: undefined, extra };
    for (const network of ["test:1", "test:2"] as const) {
      expect(price({ asset: "token-9", amount: "7", extra }, pricing, network)).toEqual({
        ok: true,
        asset,
        amount: 7n,
      });
    }
  });

  test("a price in a named asset may be the most", () => {
    expect(price({ asset: "token-9", amount: "1000000" }, capped)).toMatchObject({ ok: true, amount: 1_000_000n });
  });

  test.each<[given: OfferTerms["price"], term: string, expected: string, why: string]>([
    [{ asset: "USDX", amount: "7" }, "price.asset", "a token", "the asset"],
    [{ asset: "USDX", amount: "0.1" }, "price.asset", "a token", "the asset, before the amount is looked at"],
    [{ asset: "token-9", amount: "7" }, "price.extra", "a name", "facts about the asset"],
    [
      { asset: "token-9", amount: "0.1", extra: {} },
      "price.amount",
      'atomic units as digits, such as "10000"',
      "a point",
    ],
    [{ asset: "token-9", amount: "1000001", extra: {} }, "price.amount", "a million at most", "more than there can be"],
  ])("a price of %j is refused: %s is to be %s (%s)", (given, term, expected) => {
    expect(price(given, capped, "test:3")).toEqual({ ok: false, issues: [{ term, expected }] });
  });
});

describe("compiling terms", () => {
  const terms: OfferTerms = { network: "test:1", price: "$0.01", payTo: "payee" };
  const wrong = { term: "payTo", expected: "an address" } as const;

  test("compileTerms yields asset, amount and payee when price and check find nothing", () => {
    const checked: unknown[] = [];
    const compiled = compileTerms(terms, pricing, (assetId) => {
      checked.push(assetId);
      return [];
    });
    expect(compiled).toEqual({ ok: true, asset: USDX, amount: 10_000n, payTo: "payee" });
    expect(checked).toEqual(["token-1"]);
  });

  test("compileTerms yields all issues at once, those of the price first", () => {
    expect(compileTerms(terms, pricing, () => [wrong])).toEqual({ ok: false, issues: [wrong] });
    const compiled = compileTerms({ ...terms, price: "rubbish" }, pricing, (assetId) =>
      assetId === undefined ? [wrong] : [],
    );
    expect(compiled).toMatchObject({ ok: false, issues: [{ term: "price" }, wrong] });
  });
});

describe("pricing by id", () => {
  const byId = pricingById({
    assetsOn: (network) => (network === "test:1" ? [{ id: "1", symbol: "USDX", decimals: 6 }] : []),
    checkId: (id) => (/^\d+$/.test(id) ? undefined : "a number"),
  });

  test("pricingById knows assets by ticker and by id, and any other by its id alone", () => {
    const known = { id: "1", symbol: "USDX", decimals: 6, extra: {} };
    expect(price("$1", byId)).toEqual({ ok: true, asset: known, amount: 1_000_000n });
    expect(price({ asset: "1", amount: "7" }, byId)).toEqual({ ok: true, asset: known, amount: 7n });
    const unknown = { id: "2", symbol: "2", decimals: undefined, extra: {} };
    expect(price({ asset: "2", amount: "7" }, byId)).toEqual({ ok: true, asset: unknown, amount: 7n });
    expect(price({ asset: "1", amount: "7" }, byId, "test:2")).toMatchObject({ asset: { decimals: undefined } });
  });

  test("pricingById refuses other ids, and amounts of more than 64 bits", () => {
    const refusalOf = (asset: string, amount: bigint) => price({ asset, amount: amount.toString() }, byId);
    expect(refusalOf("USDX", 7n)).toMatchObject({ issues: [{ term: "price.asset", expected: "a number" }] });
    expect(refusalOf("1", 2n ** 64n - 1n)).toMatchObject({ ok: true });
    expect(refusalOf("1", 2n ** 64n)).toMatchObject({ issues: [{ term: "price.amount" }] });
  });
});
