import type { OfferTerms, Scheme } from "@farebox/core";
import { ExactEvmScheme as TheirScheme } from "@x402/evm/exact/server";
import { expect, test } from "vitest";
import { ASSETS, assetsOn } from "./assets.js";
import { exactEvm } from "./exact/exact-evm.js";
import { uptoEvm } from "./upto/upto-evm.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const NETWORKS = [...new Set(ASSETS.map(({ network }) => network))];

test.each(NETWORKS)("a dollar on %s has the wire form that @x402/evm gives it", async (network) => {
  const ours = exactEvm().compileTerms({ network, price: "$1.00", payTo: PAY_TO });
  const theirs = await new TheirScheme().parsePrice("$1.00", network);
  if (!ours.ok) throw new Error("not for sale");
  expect({ asset: ours.asset.id.toLowerCase(), amount: ours.amount.toString(), extra: ours.asset.extra }).toEqual({
    ...theirs,
    asset: theirs.asset.toLowerCase(),
  });
});

test("an offer has the token's domain, except for a token without one", () => {
  const extraOf = (network: string, price: "$1.00" | { readonly asset: string; readonly amount: string }) => {
    const terms = exactEvm().compileTerms({ network: network as "eip155:1", price, payTo: PAY_TO });
    return terms.ok ? terms.asset.extra : undefined;
  };
  expect(extraOf("eip155:38833", "$1.00")).toEqual({ assetTransferMethod: "permit2" });
  expect(extraOf("eip155:14", "$1.00")).toEqual({ name: "USD\u20ae0", version: "1" });
  const celo = ASSETS.filter(({ network }) => network === "eip155:42220");
  expect(celo.map(({ address: asset }) => extraOf("eip155:42220", { asset, amount: "1" }))).toEqual([
    { name: "USDC", version: "2" },
    { name: "Tether USD", version: "1" },
    { name: "Tether America USD", version: "1" },
  ]);
  expect(assetsOn("eip155:42220")[0]).toBe(celo[0]);
});

const BASE_USDC = ASSETS.find(({ network, symbol }) => network === "eip155:8453" && symbol === "USDC")!.address;
const UNKNOWN = "0x1111111111111111111111111111111111111111";

test.each<[what: string, price: OfferTerms["price"], extra: Readonly<Record<string, unknown>>]>([
  ["a price in dollars", "$1.00", { name: "USD Coin", version: "2", assetTransferMethod: "permit2" }],
  [
    "a known token",
    { asset: BASE_USDC, amount: "1" },
    { name: "USD Coin", version: "2", assetTransferMethod: "permit2" },
  ],
  ["a token without a domain", { asset: UNKNOWN, amount: "1" }, { assetTransferMethod: "permit2" }],
])("an option by Permit2 compiles %s to an asset by Permit2", (_what, price, extra) => {
  const terms = { network: "eip155:8453", price, payTo: PAY_TO, extra: { assetTransferMethod: "permit2" } } as const;
  for (const scheme of [exactEvm(), uptoEvm()]) {
    expect(scheme.compileTerms(terms)).toMatchObject({ ok: true, asset: { extra } });
  }
});

test.each<[what: string, scheme: Scheme, price: OfferTerms["price"], asked: unknown, expected: string]>([
  ["upto by EIP-3009", uptoEvm(), "$1.00", "eip3009", '"permit2", or nothing'],
  ["an unknown method", exactEvm(), "$1.00", "permit3", '"eip3009", or nothing'],
  [
    "a price that says another method",
    exactEvm(),
    { asset: BASE_USDC, amount: "1", extra: { assetTransferMethod: "permit2" } },
    "eip3009",
    '"permit2", or nothing',
  ],
])("an option is refused for %s", (_what, scheme, price, asked, expected) => {
  const terms = { network: "eip155:8453", price, payTo: PAY_TO, extra: { assetTransferMethod: asked } } as const;
  const issues = [{ term: "extra.assetTransferMethod", expected }];
  expect(scheme.compileTerms(terms)).toEqual({ ok: false, issues });
});
