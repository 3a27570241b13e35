/**
 * The terms of a payment: what `paymentRequirements` ask for, as it is compared with a transaction.
 *
 * @see x402 v2, scheme `exact` on SVM, "PaymentRequirements for exact"
 * @module
 */
import { parseAtomic } from "@farebox/core";
import { accept, type Fields, fieldsOf, type Reading, refuse } from "@farebox/core/scheme";
import { decodeAddress } from "../address.js";
import { findAsset } from "../assets.js";
import { type Program, TOKEN, TOKEN_2022 } from "../programs.js";

/** What is asked for, the addresses as bytes. */
export interface Terms {
  readonly mint: Buffer;
  readonly payTo: Buffer;
  /** Atomic units, 1 to 2^64 - 1. */
  readonly amount: bigint;
  /** Pays the transaction's fee. */
  readonly feePayer: Buffer;
  /** What the seller wants to find in the transaction's memo. */
  readonly memo: Buffer | undefined;
  /** What is known of the mint; of others only the chain knows it. */
  readonly known: { readonly decimals: number; readonly program: Program } | undefined;
}

/** The most that a token account can hold. */
export const MAX_AMOUNT: bigint = 2n ** 64n - 1n;

const MAX_MEMO_BYTES = 256;

const INVALID = "invalid_payment_requirements";

/** Reads the terms. Total: a seller's are right, but a facilitator's come from a stranger. */
export function readTerms(requirements: unknown): Reading<Terms> {
  const { network, asset, payTo, amount, extra } = fieldsOf(requirements);
  const mint = decodeAddress(asset);
  if (mint === undefined) return refuse(INVALID, "asset is not an address");
  const payee = decodeAddress(payTo);
  if (payee === undefined) return refuse(INVALID, "payTo is not an address");
  const atomic = readAmount(amount);
  if (atomic === undefined) return refuse(INVALID, "amount is not a decimal string above zero and below 2^64");
  const own = readExtra(fieldsOf(extra));
  if (!own.ok) return own;
  return accept({ mint, payTo: payee, amount: atomic, known: readKnown(network, asset), ...own.value });
}

/** Reads atomic units; `undefined` when the value is no amount above zero that a token account can hold. */
function readAmount(value: unknown): bigint | undefined {
  const parsed = typeof value === "string" ? parseAtomic(value) : undefined;
  return parsed?.ok === true && parsed.amount > 0n && parsed.amount <= MAX_AMOUNT ? parsed.amount : undefined;
}

function readExtra({ feePayer, memo }: Fields): Reading<Pick<Terms, "feePayer" | "memo">> {
  const payer = decodeAddress(feePayer);
  if (payer === undefined) {
    return refuse("invalid_exact_svm_payload_missing_fee_payer", "extra.feePayer is not an address");
  }
  if (memo === undefined) return accept({ feePayer: payer, memo: undefined });
  const text = readMemo(memo);
  return text === undefined
    ? refuse(INVALID, `extra.memo is not ${MEMO_EXPECTED}`)
    : accept({ feePayer: payer, memo: text });
}

/** What a memo has to be, for an error message. */
export const MEMO_EXPECTED: string = `a text of 1 to ${MAX_MEMO_BYTES} bytes`;

/** Reads a memo; `undefined` when it is none that a payment can be asked for. */
export function readMemo(memo: unknown): Buffer | undefined {
  const text = Buffer.from(typeof memo === "string" ? memo : "", "utf8");
  return text.length > 0 && text.length <= MAX_MEMO_BYTES ? text : undefined;
}

function readKnown(network: unknown, asset: unknown): Terms["known"] {
  const found = typeof network === "string" && typeof asset === "string" ? findAsset(network, asset) : undefined;
  if (found === undefined) return undefined;
  return { decimals: found.decimals, program: found.program === "token" ? TOKEN : TOKEN_2022 };
}
