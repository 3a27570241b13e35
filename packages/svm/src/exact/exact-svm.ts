/**
 * The `exact` scheme on `solana:*`, seller's side: the payer signs a transaction that transfers exactly the price, and
 * whoever pays its fee can carry it out, once.
 *
 * @see x402 v2, scheme `exact` on SVM
 * @module
 */
import type { AssetPrice, CompiledTerms, OfferTerms, Scheme, TermsIssue } from "@farebox/core";
import { type KnownAsset, type NamedAsset, type Pricing, priceTerms } from "@farebox/core/scheme";
import { isAddress, sameAddress } from "../address.js";
import { assetsOn, findAsset, type SvmAsset } from "../assets.js";
import { PROGRAMS } from "../programs.js";
import { checkTokenAccount } from "./check-payee.js";
import { findTransferPayment } from "./find-payment.js";
import { readTransferPayment } from "./read-payment.js";
import { MAX_AMOUNT, MEMO_EXPECTED, readMemo } from "./terms.js";

/** Creates the scheme. It needs no key and no chain library, and asks no node but those that it is given. */
export function exactSvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "solana:*",
    compileTerms,
    sameAddress,
    readPayment: readTransferPayment,
    completeExtra,
    findPayment: findTransferPayment,
    checkPayee: checkTokenAccount,
  } as const);
}

/** The first 32 characters of the hash of a network's first block, in base58. */
const CHAIN = /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/;

function compileTerms(terms: OfferTerms): CompiledTerms {
  const priced = priceTerms(terms, PRICING);
  const issues: TermsIssue[] = priced.ok ? [] : [...priced.issues];
  if (!CHAIN.test(terms.network)) {
    issues.push({
      term: "network",
      expected: "solana and 32 characters, as in solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    });
  }
  const payToIssue = checkPayTo(terms.payTo, priced.ok ? priced.asset.id : undefined);
  if (payToIssue !== undefined) issues.push({ term: "payTo", expected: payToIssue });
  const memo = terms.extra?.["memo"];
  if (memo !== undefined && readMemo(memo) === undefined) issues.push({ term: "extra.memo", expected: MEMO_EXPECTED });
  if (!priced.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, asset: priced.asset, amount: priced.amount, payTo: terms.payTo };
}

const PRICING: Pricing = {
  assetsOn: (network) => assetsOn(network).map(toOfferAsset),
  assetForm: "{ asset, amount }",
  nameAsset,
  most: { amount: MAX_AMOUNT, expected: "an amount below 2^64 atomic units, which is all a token can have" },
};

function nameAsset({ asset }: AssetPrice, network: string): NamedAsset {
  if (!isAddress(asset)) return { ok: false, term: "price.asset", expected: "a token's mint: 32 bytes in base58" };
  if (isProgram(asset)) return { ok: false, term: "price.asset", expected: "a token's mint, not a program" };
  const known = findAsset(network, asset);
  if (known !== undefined) return { ok: true, asset: toOfferAsset(known) };
  return { ok: true, asset: { id: asset, symbol: asset, decimals: undefined, extra: {} } };
}

function toOfferAsset({ mint, symbol, decimals }: SvmAsset): KnownAsset {
  return { id: mint, symbol, decimals, extra: {} };
}

function checkPayTo(payTo: string, asset: string | undefined): string | undefined {
  if (!isAddress(payTo)) return "a Solana address: 32 bytes in base58";
  if (isProgram(payTo)) return "an address somebody holds, not a program";
  if (payTo === asset) return "an address somebody holds, not the token's own mint";
  return undefined;
}

function isProgram(address: string): boolean {
  return PROGRAMS.some((program) => program.address === address);
}

/** Payers sign for one fee payer, so an offer has to name the facilitator's. */
function completeExtra({ feePayer }: Readonly<Record<string, unknown>>): { readonly feePayer: string } | undefined {
  return isAddress(feePayer) && !isProgram(feePayer) ? { feePayer } : undefined;
}
