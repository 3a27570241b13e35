/**
 * Looks on chain for what became of a payment. Its transaction is known by the fee payer's signature, which a seller has
 * not seen. But the message is known and the fee payer's key: whichever signature of the payer's account is theirs is the
 * one, and no node can make it up.
 *
 * @module
 */
import type { ChainFinding, PaymentQuery } from "@farebox/core";
import { isSignedBy, orUnclear, unclear } from "@farebox/core/scheme";
import { encodeBase58 } from "../base58.js";
import {
  type Ask,
  createAsk,
  type HistoryEntry,
  PAGE,
  readBlockhashValidity,
  readHistory,
  readNetwork,
} from "./node-questions.js";
import { readSvmPayment, type SvmPayment } from "./payment.js";
import { readTerms, type Terms } from "./terms.js";

/** Two thousand transactions of the payer's token account, and two questions more. */
const MAX_QUESTIONS = 12;

/** No payment is remembered for longer, so it was first read at most so long before its record expires. */
const LONGEST_MEMORY_SECONDS = 60 * 60;

/** A block's time is what validators say it is, on average; clocks and that may disagree by so much. */
const CLOCK_SECONDS = 10 * 60;

/** Implements `findPayment` of the `exact` scheme. Total. */
export function findTransferPayment(query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const terms = readTerms(query.requirements);
    const payment = terms.ok ? readSvmPayment(query.payload, terms.value) : terms;
    if (!terms.ok || !payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
    return find(createAsk(query, MAX_QUESTIONS), { query, terms: terms.value, payment: payment.value });
  });
}

interface Sought {
  readonly query: PaymentQuery;
  readonly terms: Terms;
  readonly payment: SvmPayment;
}

async function find(ask: Ask, { query, terms, payment }: Sought): Promise<ChainFinding> {
  const { network } = query.requirements;
  if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
  const blockhash = encodeBase58(payment.transaction.blockhash);
  // Asked first: what is not in the history of a later slot was not made before this one either.
  const { isValid, slot } = await readBlockhashValidity(ask, blockhash, { commitment: "finalized" });
  const { expiresAtSeconds } = query;
  const since = expiresAtSeconds === undefined ? undefined : expiresAtSeconds - LONGEST_MEMORY_SECONDS - CLOCK_SECONDS;
  const search = await findEntry(ask, { terms, payment, since, minContextSlot: slot });
  if (search.entry !== undefined) return judge(search.entry);
  if (isValid) return { kind: "open" };
  if (!search.isComplete) return unclear("the payer's token account has too many transactions");
  return (await isOver(ask, slot, expiresAtSeconds))
    ? { kind: "never" }
    : unclear("the blockhash is not valid, and may be newer than what the node has seen");
}

interface Search {
  readonly terms: Terms;
  readonly payment: SvmPayment;
  /** Unix seconds before which the payment cannot have been made, if that is known. */
  readonly since: number | undefined;
  readonly minContextSlot: number;
}

/** `isComplete`: had it been made, it would have been found. */
async function findEntry(
  ask: Ask,
  { terms, payment, since, minContextSlot }: Search,
): Promise<{ readonly entry?: HistoryEntry; readonly isComplete: boolean }> {
  const account = encodeBase58(payment.transfer.source);
  const { message } = payment.transaction;
  for (let before: string | undefined; ; ) {
    const page = await readHistory(ask, account, { before, minContextSlot });
    const entry = page.find(({ signatureBytes }) => isSignedBy(terms.feePayer, message, signatureBytes));
    if (entry !== undefined) return { entry, isComplete: true };
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { isComplete: true };
    if (since !== undefined && last.blockTime !== undefined && last.blockTime < since) return { isComplete: true };
    if (last.signature === before) return { isComplete: false };
    before = last.signature;
  }
}

/** A transaction that failed used up its message as well, once nothing can take its block back. */
function judge({ signature, failed, isFinal }: HistoryEntry): ChainFinding {
  if (!failed) return { kind: "moved", transaction: signature };
  return isFinal ? { kind: "never" } : { kind: "open" };
}

/**
 * A blockhash that is not valid is too old, or newer than what the node has seen. It is too old where the node has seen a
 * block of a time at which the payment had long been read.
 */
async function isOver(ask: Ask, slot: number, expiresAtSeconds: number | undefined): Promise<boolean> {
  if (expiresAtSeconds === undefined) return false;
  const time = await ask("getBlockTime", [slot]);
  return typeof time === "number" && time >= expiresAtSeconds;
}
