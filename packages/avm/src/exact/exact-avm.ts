/**
 * The `exact` scheme on Algorand (`algorand:*`), seller's side.
 *
 * @see x402 v2, scheme `exact` on Algorand
 * @module
 */
import type { AssetPrice, CompiledTerms, OfferTerms, Scheme, TermsIssue } from "@farebox/core";
import { type KnownAsset, type NamedAsset, type Pricing, priceTerms } from "@farebox/core/scheme";
import { isAddress, sameAddress } from "../address.js";
import { type AvmAsset, assetsOn, findAsset } from "../assets.js";
import { isAvmNetwork } from "../networks.js";
import { checkOptIn } from "./check-payee.js";
import { findTransferPayment } from "./find-payment.js";
import { readTransferPayment } from "./read-payment.js";
import { MAX_UINT64, readUint64 } from "./terms.js";

/** Creates the scheme. It needs no key and no chain library, and asks only nodes that it is given. */
export function exactAvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "algorand:*",
    compileTerms,
    sameAddress,
    readPayment: readTransferPayment,
    completeExtra,
    findPayment: findTransferPayment,
    checkPayee: checkOptIn,
  } as const);
}

function compileTerms(terms: OfferTerms): CompiledTerms {
  const priced = priceTerms(terms, PRICING);
  const issues: TermsIssue[] = priced.ok ? [] : [...priced.issues];
  if (!isAvmNetwork(terms.network)) {
    const expected = "algorand and 32 or all 44 characters, as in algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
    issues.push({ term: "network", expected });
  }
  if (!isAddress(terms.payTo)) {
    const expected = "an Algorand address that somebody holds: 58 characters, the last of them its checksum";
    issues.push({ term: "payTo", expected });
  }
  if (!priced.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, asset: priced.asset, amount: priced.amount, payTo: terms.payTo };
}

const PRICING: Pricing = {
  assetsOn: (network) => assetsOn(network).map(toOfferAsset),
  assetForm: "{ asset, amount }",
  nameAsset,
  most: { amount: MAX_UINT64, expected: "an amount below 2^64 atomic units, which is all an asset can have" },
};

function nameAsset({ asset }: AssetPrice, network: string): NamedAsset {
  if (readUint64(asset) === undefined) {
    return { ok: false, term: "price.asset", expected: "an asset's id: a decimal number below 2^64" };
  }
  const known = findAsset(network, asset);
  if (known !== undefined) return { ok: true, asset: toOfferAsset(known) };
  return { ok: true, asset: { id: asset, symbol: asset, decimals: undefined, extra: {} } };
}

function toOfferAsset({ asset, symbol, decimals }: AvmAsset): KnownAsset {
  return { id: asset, symbol, decimals, extra: {} };
}

/** A payer may pay the fee too, so that a facilitator need not say who else does; what it says has to be an address. */
function completeExtra({ feePayer }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  if (feePayer === undefined) return {};
  return isAddress(feePayer) ? { feePayer } : undefined;
}
