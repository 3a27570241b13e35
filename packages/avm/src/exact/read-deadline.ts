/**
 * Until when a payment can settle: until the last round that all transactions of its group name.
 *
 * @see Algorand documentation, "Transaction validity"
 * @module
 */
import type { DeadlineQuery, DeadlineReading } from "@farebox/core";
import { askAtMost, orUnclear, unclear } from "@farebox/core/scheme";
import { isNetworkOf } from "../networks.js";
import { readState, readStatus } from "./node-questions.js";
import { readAvmPayment, SECONDS_PER_ROUND, windowOf } from "./payment.js";
import { readTerms } from "./terms.js";

/** A node without a new round for so long has no connection, or the network stands still. */
const MAX_SILENCE_SECONDS = 30;

/** Implements `readDeadline` of the `exact` scheme. Total. */
export function readTransferDeadline(query: DeadlineQuery): Promise<DeadlineReading> {
  return orUnclear<DeadlineReading>(async () => {
    const terms = readTerms(query.requirements);
    const payment = terms.ok ? readAvmPayment(query.payload, terms.value) : terms;
    if (!terms.ok || !payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
    const { network } = terms.value;
    const node = askAtMost(2, query);
    const [state, status] = await Promise.all([readState(node), readStatus(node)]);
    if (!isNetworkOf(network, state.genesisHash)) return unclear(`the node is not of ${network}`);
    const { lastRound, secondsSince, isCatchingUp } = status;
    const { firstValid, lastValid } = windowOf(payment.value.group);
    if (lastRound >= lastValid) return { kind: "dead" };
    if (isCatchingUp || secondsSince > MAX_SILENCE_SECONDS) return unclear("the node has no recent round");
    // A client takes the first round from its node: the last round there.
    if (lastRound < firstValid) return { kind: "behind", problem: "the node has yet to see the payment's first round" };
    const secondsLeft = Number(lastValid - lastRound) * SECONDS_PER_ROUND.least;
    return { kind: "known", settleBySeconds: Math.floor(query.nowSeconds - secondsSince + secondsLeft) };
  });
}
