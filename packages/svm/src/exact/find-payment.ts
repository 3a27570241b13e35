/**
 * Looks on chain for the outcome of a payment. On chain, a transaction's id is the fee payer's signature, which the seller has
 * not seen. But the seller knows the message and the fee payer's key. So this searches the history of the payer's account for
 * a signature that fits both; no node can forge one.
 *
 * @module
 */
import type { ChainFinding, PaymentQuery, RpcNode } from "@farebox/core";
import { askAtMost, isSignedBy, orUnclear, unclear } from "@farebox/core/scheme";
import { encodeBase58 } from "../address.js";
import { type HistoryEntry, PAGE, readBlockhashValidity, readHistory, readNetwork } from "./node-questions.js";
import { readSvmPayment, type SvmPayment } from "./payment.js";
import { readTerms, type Terms } from "./terms.js";

/** Enough for two thousand transactions of the payer's token account, and two other questions. */
const MAX_QUESTIONS = 12;

/** The longest time for which a payment is remembered: it was first read at most this long before its record expires. */
const LONGEST_MEMORY_SECONDS = 60 * 60;

/** Validators vote on a block's time, so it may differ from a clock by this much. */
const CLOCK_SECONDS = 10 * 60;

/** Implements `findPayment` of the `exact` scheme. Total. */
export function findTransferPayment(query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const terms = readTerms(query.requirements);
    const payment = terms.ok ? readSvmPayment(query.payload, terms.value) : terms;
    if (!terms.ok || !payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
    return find(askAtMost(MAX_QUESTIONS, query), query, terms.value, payment.value);
  });
}

async function find(
  node: RpcNode,
  { requirements, expiresAtSeconds }: PaymentQuery,
  terms: Terms,
  payment: SvmPayment,
): Promise<ChainFinding> {
  const { network } = requirements;
  if ((await readNetwork(node)) !== network) return unclear(`the node is not of ${network}`);
  const blockhash = encodeBase58(payment.transaction.blockhash);
  // Asked first: if the history at a later slot lacks the transaction, it was not made before this slot.
  const { isValid, slot } = await readBlockhashValidity(node, blockhash);
  const since = expiresAtSeconds === undefined ? undefined : expiresAtSeconds - LONGEST_MEMORY_SECONDS - CLOCK_SECONDS;
  const search = await findEntry(node, terms, payment, { since, minContextSlot: slot });
  if (search.entry !== undefined) return judge(search.entry);
  if (isValid) return { kind: "open" };
  if (!search.isComplete) return unclear("the payer's token account has too many transactions");
  return (await isOver(node, slot, expiresAtSeconds))
    ? { kind: "never" }
    : unclear("the blockhash is not valid, and may be newer than what the node has seen");
}

/**
 * Searches the history of the payer's token account. `isComplete`: if the payment was made, the search would have found it.
 *
 * @param bounds - `since`: the Unix second before which the payment cannot have been made, if known.
 */
async function findEntry(
  node: RpcNode,
  terms: Terms,
  payment: SvmPayment,
  { since, minContextSlot }: { readonly since: number | undefined; readonly minContextSlot: number },
): Promise<{ readonly entry?: HistoryEntry; readonly isComplete: boolean }> {
  const account = encodeBase58(payment.transfer.source);
  const { message } = payment.transaction;
  for (let before: string | undefined; ; ) {
    const page = await readHistory(node, account, { before, minContextSlot });
    const entry = page.find(({ signatureBytes }) => isSignedBy(terms.feePayer, message, signatureBytes));
    if (entry !== undefined) return { entry, isComplete: true };
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { isComplete: true };
    if (since !== undefined && last.blockTime !== undefined && last.blockTime < since) return { isComplete: true };
    if (last.signature === before) return { isComplete: false };
    before = last.signature;
  }
}

/** A failed transaction has used up its message too, once its block is final. */
function judge({ signature, failed, isFinal }: HistoryEntry): ChainFinding {
  if (!failed) return { kind: "moved", transaction: signature };
  return isFinal ? { kind: "never" } : { kind: "open" };
}

/**
 * An invalid blockhash is either too old, or newer than the node's newest block. It is too old if the node has a block from
 * after the payment's expiry.
 */
async function isOver(node: RpcNode, slot: number, expiresAtSeconds: number | undefined): Promise<boolean> {
  if (expiresAtSeconds === undefined) return false;
  const time = await node.call("getBlockTime", [slot]);
  return typeof time === "number" && time >= expiresAtSeconds;
}
