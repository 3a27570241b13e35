/**
 * The `exact` scheme on `eip155:*`, seller's side: the payer signs a transfer of exactly the price (EIP-3009), and
 * whoever holds the signature can carry it out, once.
 *
 * @see x402 v2, scheme `exact` on EVM, §1 "AssetTransferMethod: EIP-3009"
 * @module
 */
import {
  type AssetPrice,
  type CompiledTerms,
  type OfferAsset,
  type OfferTerms,
  type ParsedPrice,
  parseAtomic,
  parsePrice,
  type Scheme,
  type TermsIssue,
} from "@farebox/core";
import { isAddress, sameAddress } from "../address.js";
import { defaultAsset, type EvmAsset, findAsset } from "../assets.js";
import { findAuthorizationPayment } from "./find-payment.js";
import { readAuthorizationPayment } from "./read-payment.js";

/** Creates the scheme. It needs no key and no chain library, and asks no node but the one that `findPayment` is given. */
export function exactEvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "eip155:*",
    compileTerms,
    sameAddress,
    readPayment: readAuthorizationPayment,
    findPayment: findAuthorizationPayment,
  } as const);
}

/** Chain ids are numbers, written without leading zeros, or the same chain would have many names. */
const CHAIN = /^eip155:[1-9]\d{0,15}$/;

function compileTerms(terms: OfferTerms): CompiledTerms {
  const priced =
    typeof terms.price === "string"
      ? priceInDollars(terms.network, terms.price)
      : priceInAsset(terms.network, terms.price);
  const issues: TermsIssue[] = priced.ok ? [] : [...priced.issues];
  if (!CHAIN.test(terms.network))
    issues.push({ term: "network", expected: "eip155 and a chain id, as in eip155:84532" });
  const payToIssue = checkPayTo(terms.payTo, priced.ok ? priced.asset.id : undefined);
  if (payToIssue !== undefined) issues.push({ term: "payTo", expected: payToIssue });
  if (!priced.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, asset: priced.asset, amount: priced.amount, payTo: terms.payTo };
}

type Priced =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

function priceInDollars(network: string, price: string): Priced {
  const asset = defaultAsset(network);
  if (asset === undefined) {
    return refused(
      "price",
      `{ asset, amount, extra: { name, version } }, because no stablecoin is known on ${network}`,
    );
  }
  if (asset.transfer !== "eip3009") {
    return refused("network", `a network whose stablecoin has EIP-3009; ${asset.symbol} on ${network} needs Permit2`);
  }
  return amounting(toOfferAsset(asset), parsePrice(price, asset.decimals), "price");
}

function priceInAsset(network: string, price: AssetPrice): Priced {
  if (!isAddress(price.asset))
    return refused("price.asset", "a token address: 0x and 40 hex digits, checksum right if mixed case");
  const known = findAsset(network, price.asset);
  if (known !== undefined && known.transfer !== "eip3009") {
    return refused("price.asset", `a token with EIP-3009; ${known.symbol} on ${network} needs Permit2`);
  }
  const asset = known === undefined ? unknownAsset(price) : toOfferAsset(known);
  if (asset === undefined) {
    return refused(
      "price.extra",
      'the token\'s EIP-712 domain, { name: "…", version: "…" }, because the token is not a known one',
    );
  }
  return amounting(asset, parseAtomic(price.amount), "price.amount");
}

function amounting(asset: OfferAsset, parsed: ParsedPrice, term: TermsIssue["term"]): Priced {
  return parsed.ok ? { ok: true, asset, amount: parsed.amount } : refused(term, parsed.expected);
}

function refused(term: TermsIssue["term"], expected: string): Priced {
  return { ok: false, issues: [{ term, expected }] };
}

function toOfferAsset(asset: EvmAsset): OfferAsset {
  const { address, symbol, decimals, name, version } = asset;
  return { id: address, symbol, decimals, extra: { name, version } };
}

function unknownAsset(price: AssetPrice): OfferAsset | undefined {
  const { name, version } = price.extra ?? {};
  if (typeof name !== "string" || typeof version !== "string" || name === "" || version === "") return undefined;
  return { id: price.asset, symbol: name, decimals: undefined, extra: { name, version } };
}

function checkPayTo(payTo: string, asset: string | undefined): string | undefined {
  if (!isAddress(payTo)) return "an EVM address: 0x and 40 hex digits, checksum right if mixed case";
  if (/^0x0{40}$/i.test(payTo)) return "an address somebody holds, not the zero address";
  if (asset !== undefined && sameAddress(payTo, asset))
    return "an address somebody holds, not the token's own contract";
  return undefined;
}
