/**
 * Looks for a payment on chain. Only its payer can have made its transaction, which gets on chain in one of the rounds that
 * it names, or never. So it was never made once those rounds are over and it is in none of them. A node that does not know
 * the transaction proves nothing by that.
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

/** So many rounds a node may be behind, or remember too few. */
const MARGIN = 10n;

/** Some fourteen minutes after a payment's rounds; a seller who is there asks within seconds. */
const MAX_BLOCKS = 300n;

/** Blocks that are asked for at once. */
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

/** Asks for the last round before and after: a transaction that is missing has to be told from one that was not looked for. */
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

/** No node can have a transaction in another round than it names. */
function judge({ id, firstValid, lastValid }: Sought, round: bigint): ChainFinding {
  if (round >= firstValid && round <= lastValid) return { kind: "moved", transaction: id };
  return unclear("the node has the transaction in a round in which it was not good");
}

/** A node that has forgotten the transactions of a round may still have its block. The oldest go first. */
async function findInBlocks(node: RpcNode, sought: Sought, lastRound: bigint): Promise<ChainFinding> {
  const { id, firstValid, lastValid } = sought;
  const remembered = lastRound - MAX_ROUNDS + MARGIN;
  const end = remembered <= lastValid ? remembered : lastValid + 1n;
  if (end - firstValid > MAX_BLOCKS) return unclear("the payment's rounds ended too long ago to look into each");
  for (let round = firstValid; round < end; round += BigInt(AT_ONCE)) {
    const length = Math.min(AT_ONCE, Number(end - round));
    const rounds = Array.from({ length }, (_, nth) => round + BigInt(nth));
    const blocks = await Promise.all(rounds.map((each) => readTransactionIds(node, each)));
    if (blocks.some((ids) => ids.includes(id))) return { kind: "moved", transaction: id };
  }
  return { kind: "never" };
}
