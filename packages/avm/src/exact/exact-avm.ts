/**
 * The `exact` scheme on Algorand (`algorand:*`), seller's side.
 *
 * @see x402 v2, scheme `exact` on Algorand
 * @module
 */
import {
  type AssetPrice,
  type CompiledTerms,
  type OfferAsset,
  type OfferTerms,
  type ParsedAmount,
  parseAtomic,
  parsePrice,
  type Scheme,
  type TermsIssue,
} from "@farebox/core";
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
  const priced =
    typeof terms.price === "string"
      ? priceInKnown(terms.network, terms.price)
      : priceInAsset(terms.network, terms.price);
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

type Priced =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/** In dollars, or in a stablecoin by its ticker. */
function priceInKnown(network: string, price: string): Priced {
  const known = assetsOn(network);
  if (known.length === 0) return refused("price", `{ asset, amount }, because no stablecoin is known on ${network}`);
  const parsed = parsePrice(price, known);
  return parsed.ok ? amounting(toOfferAsset(parsed.asset), parsed, "price") : refused("price", parsed.expected);
}

function priceInAsset(network: string, { asset, amount }: AssetPrice): Priced {
  if (readUint64(asset) === undefined) return refused("price.asset", "an asset's id: a decimal number below 2^64");
  const known = findAsset(network, asset);
  const offered =
    known === undefined ? { id: asset, symbol: asset, decimals: undefined, extra: {} } : toOfferAsset(known);
  return amounting(offered, parseAtomic(amount), "price.amount");
}

function amounting(asset: OfferAsset, parsed: ParsedAmount, term: TermsIssue["term"]): Priced {
  if (!parsed.ok) return refused(term, parsed.expected);
  if (parsed.amount > MAX_UINT64)
    return refused(term, "an amount below 2^64 atomic units, which is all an asset can have");
  return { ok: true, asset, amount: parsed.amount };
}

function refused(term: TermsIssue["term"], expected: string): Priced {
  return { ok: false, issues: [{ term, expected }] };
}

function toOfferAsset({ asset, symbol, decimals }: AvmAsset): OfferAsset {
  return { id: asset, symbol, decimals, extra: {} };
}

/** A payer may pay the fee too, so that a facilitator need not say who else does; what it says has to be an address. */
function completeExtra({ feePayer }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  if (feePayer === undefined) return {};
  return isAddress(feePayer) ? { feePayer } : undefined;
}
