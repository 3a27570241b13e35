/**
 * Looks on chain for what became of a payment. Its transaction has a name that nobody but its payer can have made, and gets
 * on chain in one of the rounds that it names or never, and as a whole or not at all. So it was never made once those rounds
 * are over and it is in none of them; a node that merely does not know it proves nothing.
 *
 * @module
 */
import type { ChainFinding, PaymentQuery } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { type AvmNetwork, isNetworkOf } from "../networks.js";
import type { Transaction } from "../transaction/read-transaction.js";
import { type Ask, createAsk, readConfirmedRound, readState, readTransactionIds } from "./node-questions.js";
import { MAX_ROUNDS, readAvmPayment } from "./payment.js";
import { readTerms } from "./terms.js";

/** So many rounds are left to a node that is behind, or does not remember quite as many as it should. */
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
    const ask = createAsk(query, Number(MAX_BLOCKS) + 3);
    return find(ask, payment.value.transfer, terms.value.network);
  });
}

type Sought = Pick<Transaction, "id" | "firstValid" | "lastValid">;

/** The round is asked for before and after: what was not there has to be told from what was not looked for. */
async function find(ask: Ask, sought: Sought, network: AvmNetwork): Promise<ChainFinding> {
  const before = await readState(ask);
  if (!isNetworkOf(network, before.genesisHash)) return unclear(`the node is not of ${network}`);
  const round = await readConfirmedRound(ask, sought.id);
  if (round !== undefined) return judge(sought, round);
  if (before.lastRound <= sought.lastValid + MARGIN) return { kind: "open" };
  const after = await readState(ask);
  const latest = after.lastRound < before.lastRound ? before : after;
  return findInBlocks(ask, sought, latest.lastRound);
}

/** No node can have a transaction in another round than it names. */
function judge({ id, firstValid, lastValid }: Sought, round: bigint): ChainFinding {
  if (round >= firstValid && round <= lastValid) return { kind: "moved", transaction: id };
  return unclear("the node has the transaction in a round in which it was not good");
}

/** Of the rounds that a node has forgotten transactions of, it may still have the blocks. The oldest go first. */
async function findInBlocks(ask: Ask, sought: Sought, lastRound: bigint): Promise<ChainFinding> {
  const { id, firstValid, lastValid } = sought;
  const remembered = lastRound - MAX_ROUNDS + MARGIN;
  const end = remembered <= lastValid ? remembered : lastValid + 1n;
  if (end - firstValid > MAX_BLOCKS) return unclear("the payment's rounds are over for too long to look into each");
  for (let round = firstValid; round < end; round += BigInt(AT_ONCE)) {
    const length = Math.min(AT_ONCE, Number(end - round));
    const rounds = Array.from({ length }, (_, nth) => round + BigInt(nth));
    const blocks = await Promise.all(rounds.map((each) => readTransactionIds(ask, each)));
    if (blocks.some((ids) => ids.includes(id))) return { kind: "moved", transaction: id };
  }
  return { kind: "never" };
}
