import type { OfferTerms } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { uptoEvm } from "./upto-evm.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const UNKNOWN = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const scheme = uptoEvm();

function compile(change: Partial<OfferTerms>) {
  return scheme.compileTerms({ network: "eip155:84532", price: "$0.10", payTo: PAY_TO, ...change });
}

test("uptoEvm names its scheme and networks, and is frozen", () => {
  expect(scheme).toMatchObject({ scheme: "upto", networks: "eip155:*", allowsLess: true });
  expect(Object.isFrozen(scheme)).toBe(true);
});

describe("a maximum", () => {
  test.each<[what: string, change: Partial<OfferTerms>, asset: object, amount: bigint]>([
    [
      "in dollars, 6 decimals",
      {},
      { id: USDC, symbol: "USDC", decimals: 6, extra: { name: "USDC", version: "2", assetTransferMethod: "permit2" } },
      100_000n,
    ],
    [
      "in dollars, 18 decimals",
      { network: "eip155:4326" },
      {
        id: "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7",
        symbol: "MegaUSD",
        decimals: 18,
        extra: { name: "MegaUSD", version: "1", assetTransferMethod: "permit2" },
      },
      10n ** 17n,
    ],
    [
      "in dollars, of a token without EIP-2612",
      { network: "eip155:38833" },
      {
        id: "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7",
        symbol: "USDC",
        decimals: 6,
        extra: { assetTransferMethod: "permit2" },
      },
      100_000n,
    ],
    [
      "in an unknown token",
      { price: { asset: UNKNOWN, amount: "7", extra: { name: "T", version: "1" } } },
      {
        id: UNKNOWN,
        symbol: "T",
        decimals: undefined,
        extra: { name: "T", version: "1", assetTransferMethod: "permit2" },
      },
      7n,
    ],
    [
      "in an unknown token without a domain",
      { price: { asset: UNKNOWN, amount: "7" } },
      { id: UNKNOWN, symbol: UNKNOWN, decimals: undefined, extra: { assetTransferMethod: "permit2" } },
      7n,
    ],
  ])("a maximum %s is authorized by Permit2", (_what, change, asset, amount) => {
    expect(compile(change)).toEqual({ ok: true, asset, amount, payTo: PAY_TO });
  });

  test("a maximum cannot be authorized by EIP-3009, which signs for one amount", () => {
    const terms = compile({ price: { asset: USDC, amount: "7", extra: { assetTransferMethod: "eip3009" } } });
    expect(terms).toEqual({
      ok: false,
      issues: [{ term: "price.extra", expected: "assetTransferMethod permit2, or left out" }],
    });
  });
});

describe("completeExtra", () => {
  test("an offer gets the facilitator's address, with the checksum that clients insist on", () => {
    const kind = { facilitatorAddress: PAY_TO.toLowerCase(), more: 1 };
    expect(scheme.completeExtra?.(kind)).toEqual({ facilitatorAddress: PAY_TO });
  });

  test.each<[kindExtra: Record<string, unknown>, why: string]>([
    [{}, "none"],
    [{ facilitatorAddress: null }, "nothing"],
    [{ facilitatorAddress: "0xFacilitatorAddress1234567890123456789012" }, "no hex"],
    [{ facilitatorAddress: PAY_TO.slice(0, -1) }, "a digit short"],
    [{ facilitatorAddress: [PAY_TO] }, "a list"],
    [{ facilitatorAddress: `0x${"0".repeat(40)}` }, "the zero address"],
  ])("a facilitator with %j cannot be used: %s", (kindExtra) => {
    expect(scheme.completeExtra?.(kindExtra)).toBeUndefined();
  });
});
