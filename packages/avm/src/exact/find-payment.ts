/**
 * Looks on chain for the outcome of a payment. Only its payer can have made its transaction. The transaction gets on chain in
 * one of the rounds that it names, or never. So the payment failed if those rounds are over and none of them contains it. A
 * node that does not know the transaction proves nothing.
 *
 * @module
 */
import type { ChainFinding, PaymentQuery, RpcNode } from "@farebox/core";
import { askAtMost, orUnclear, unclear } from "@farebox/core/scheme";
import { type AvmNetwork, isNetworkOf } from "../networks.js";
import type { Transaction } from "../transaction/read-transaction.js";
import { readConfirmedRound, readState, readTransactionIds } from "./node-questions.js";
import { MAX_ROUNDS, readAvmPayment } from "./payment.js";
import { readTerms } from "./terms.js";

/** The number of rounds that a node may lag behind. It may also have forgotten as many. */
const MARGIN = 10n;

/** Some fourteen minutes after a payment's rounds. A running seller asks within seconds. */
const MAX_BLOCKS = 300n;

/** The number of blocks that are requested at once. */
const AT_ONCE = 8;

/** Implements `findPayment` of the `exact` scheme. Total. */
export function findTransferPayment(query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const terms = readTerms(query.requirements);
    const payment = terms.ok ? readAvmPayment(query.payload, terms.value) : terms;
    if (!terms.ok || !payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
    const node = askAtMost(Number(MAX_BLOCKS) + 3, query);
    return find(node, payment.value.transfer, terms.value.network);
  });
}

type Sought = Pick<Transaction, "id" | "firstValid" | "lastValid">;

/** Asks for the last round before and after, because a transaction is only missing if all its rounds were searched. */
async function find(node: RpcNode, sought: Sought, network: AvmNetwork): Promise<ChainFinding> {
  const before = await readState(node);
  if (!isNetworkOf(network, before.genesisHash)) return unclear(`the node is not of ${network}`);
  const round = await readConfirmedRound(node, sought.id);
  if (round !== undefined) return judge(sought, round);
  if (before.lastRound <= sought.lastValid + MARGIN) return { kind: "open" };
  const after = await readState(node);
  const latest = after.lastRound < before.lastRound ? before : after;
  return findInBlocks(node, sought, latest.lastRound);
}

/** A transaction cannot be in a round that it does not name. */
function judge({ id, firstValid, lastValid }: Sought, round: bigint): ChainFinding {
  if (round >= firstValid && round <= lastValid) return { kind: "moved", transaction: id };
  return unclear("the node has the transaction in a round in which it was not valid");
}

/** A node that has forgotten the transactions of a round may still have its block. It drops the oldest first. */
async function findInBlocks(node: RpcNode, sought: Sought, lastRound: bigint): Promise<ChainFinding> {
  const { id, firstValid, lastValid } = sought;
  const remembered = lastRound - MAX_ROUNDS + MARGIN;
  const end = remembered <= lastValid ? remembered : lastValid + 1n;
  if (end - firstValid > MAX_BLOCKS) return unclear("the payment's rounds ended too long ago to read each of them");
  for (let round = firstValid; round < end; round += BigInt(AT_ONCE)) {
    const length = Math.min(AT_ONCE, Number(end - round));
    const rounds = Array.from({ length }, (_, nth) => round + BigInt(nth));
    const blocks = await Promise.all(rounds.map((each) => readTransactionIds(node, each)));
    if (blocks.some((ids) => ids.includes(id))) return { kind: "moved", transaction: id };
  }
  return { kind: "never" };
}
