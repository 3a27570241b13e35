/**
 * Until when a payment can settle. A transaction is valid for 150 blocks after the block that its blockhash is of. Each bank has
 * a list of the last 150 blockhashes, the newest first, so the place in that list says how many blocks are left.
 *
 * @see Solana documentation, "Transaction Confirmation & Expiration"
 * @module
 */
import type { DeadlineQuery, DeadlineReading, RpcNode } from "@farebox/core";
import { askAtMost, orUnclear, unclear } from "@farebox/core/scheme";
import { MAX_BLOCKHASHES, type RecentBlockhashes, readNetwork, readRecentBlockhashes } from "./node-questions.js";
import { readSvmPayment } from "./payment.js";
import { readTerms } from "./terms.js";

/**
 * A block takes no less, on the average: 64 ticks of 6.25 ms. Skipped slots make it more. A chain that is some percent faster
 * takes seconds from the time that is kept for the settlement.
 */
const SECONDS_PER_BLOCK = 0.4;

/** The chain's clock is a median of its validators' clocks. One that differs by more says nothing about ours. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30;

/**
 * Creates `readDeadline` of the `exact` scheme. It keeps the last list of each node: a blockhash that is in it needs no other
 * response. So a busy seller asks once in some seconds, not for each payment.
 */
export function createDeadlineReader(): (query: DeadlineQuery) => Promise<DeadlineReading> {
  const lists = new WeakMap<RpcNode, RecentBlockhashes>();
  return (query) =>
    orUnclear<DeadlineReading>(async () => {
      const terms = readTerms(query.requirements);
      const payment = terms.ok ? readSvmPayment(query.payload, terms.value) : terms;
      if (!payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
      const { blockhash } = payment.value.transaction;
      const kept = lists.get(query.rpc);
      const known = kept && find(blockhash, kept, query);
      if (known !== undefined) return known;
      const { network } = query.requirements;
      const node = askAtMost(2, query);
      const [ofNode, list] = await Promise.all([readNetwork(node), readRecentBlockhashes(node)]);
      if (ofNode !== network) return unclear(`the node is not of ${network}`);
      if (Math.abs(list.unixSeconds - query.nowSeconds) > MAX_CLOCK_DIFFERENCE_SECONDS) {
        return unclear("the node's newest block is old, or its clock and ours differ");
      }
      lists.set(query.rpc, list);
      return find(blockhash, list, query) ?? judgeAbsent(list, query);
    });
}

/** Counts from the time of the list, so a node that is behind gives the same time. */
function find(
  blockhash: Buffer,
  { blockhashes, unixSeconds }: RecentBlockhashes,
  { nowSeconds }: DeadlineQuery,
): DeadlineReading | undefined {
  const place = blockhashes.findIndex((each) => each.equals(blockhash));
  if (place === -1) return undefined;
  const secondsLeft = (MAX_BLOCKHASHES - place) * SECONDS_PER_BLOCK;
  return { kind: "known", settleBySeconds: Math.floor(Math.min(unixSeconds, nowSeconds) + secondsLeft) };
}

/** A blockhash that is not listed is too old, or newer than the list. It is not newer if the payment was made before the list. */
function judgeAbsent(
  { blockhashes, unixSeconds }: RecentBlockhashes,
  { madeBeforeSeconds }: DeadlineQuery,
): DeadlineReading {
  if (blockhashes.length < MAX_BLOCKHASHES) return unclear("the node does not list the recent blockhashes");
  if (unixSeconds >= madeBeforeSeconds) return { kind: "dead" };
  return { kind: "behind", problem: "the blockhash may be newer than what the node has seen" };
}
