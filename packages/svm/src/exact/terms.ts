/**
 * Reads the terms of a payment, `paymentRequirements`, in the form in which they are compared with a transaction.
 *
 * @see x402 v2, scheme `exact` on SVM, "PaymentRequirements for exact"
 * @module
 */
import { accept, fieldsOf, type Reading, readUint64, refuse } from "@farebox/core/scheme";
import { decodeAddress, type Program, tokenProgram } from "../address.js";
import { findAsset } from "../assets.js";

/** The terms, with addresses as bytes. */
export interface Terms {
  readonly mint: Buffer;
  readonly payTo: Buffer;
  /** Atomic units, 1 to 2^64 - 1. */
  readonly amount: bigint;
  /** Pays the transaction's fee. */
  readonly feePayer: Buffer;
  /** The transaction's memo, if the seller demands one. */
  readonly memo: Buffer | undefined;
  /** Set for a known mint. Other mints' decimals and program are only on chain. */
  readonly known: { readonly decimals: number; readonly program: Program } | undefined;
}

const INVALID = "invalid_payment_requirements";

/** Reads the terms. Total: a seller's terms were checked, but a facilitator's come from a client. */
export function readTerms(requirements: unknown): Reading<Terms> {
  const { network, asset, payTo, amount, extra } = fieldsOf(requirements);
  const mint = decodeAddress(asset);
  if (mint === undefined) return refuse(INVALID, "asset is not an address");
  const payee = decodeAddress(payTo);
  if (payee === undefined) return refuse(INVALID, "payTo is not an address");
  const atomic = readUint64(amount);
  if (atomic === undefined) return refuse(INVALID, "amount is not a decimal string above zero and below 2^64");
  const { feePayer, memo } = fieldsOf(extra);
  const payer = decodeAddress(feePayer);
  if (payer === undefined) {
    return refuse("invalid_exact_svm_payload_missing_fee_payer", "extra.feePayer is not an address");
  }
  const text = readMemo(memo);
  if (memo !== undefined && text === undefined) return refuse(INVALID, `extra.memo is not ${MEMO_EXPECTED}`);
  return accept({ mint, payTo: payee, amount: atomic, feePayer: payer, memo: text, known: readKnown(network, asset) });
}

const MAX_MEMO_BYTES = 256;

/** For an error message. */
export const MEMO_EXPECTED: string = `a text of 1 to ${MAX_MEMO_BYTES} bytes`;

/** Reads the memo that a seller demands; `undefined` when no payment can contain it. */
export function readMemo(memo: unknown): Buffer | undefined {
  const text = Buffer.from(typeof memo === "string" ? memo : "", "utf8");
  return text.length > 0 && text.length <= MAX_MEMO_BYTES ? text : undefined;
}

function readKnown(network: unknown, asset: unknown): Terms["known"] {
  const found = typeof network === "string" && typeof asset === "string" ? findAsset(network, asset) : undefined;
  return found === undefined ? undefined : { decimals: found.decimals, program: tokenProgram(found.program) };
}
