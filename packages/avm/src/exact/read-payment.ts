/**
 * Reads a payment for a seller: everything that can be told from the payload alone.
 *
 * @module
 */
import type { PaymentReading, PaymentRequirements } from "@farebox/core";
import { shortNetwork } from "../networks.js";
import { readAvmPayment } from "./payment.js";
import { readTerms } from "./terms.js";

/**
 * A round has taken from 2.7 to 4.5 seconds as a rule. Which round it is cannot be told, so a payment counts as good from
 * now on for all the rounds that it names; it has to be remembered for longer than it can be made, or it could be shown
 * again.
 */
const SECONDS_PER_ROUND = 5;
const SHORTEST_MEMORY_SECONDS = 180;

/** Implements `readPayment` of the `exact` scheme. Total. */
export function readTransferPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const terms = readTerms(requirements);
  const payment = terms.ok ? readAvmPayment(payload, terms.value) : terms;
  if (!terms.ok || !payment.ok) return { kind: "refused", reason: payment.ok ? "invalid_payload" : payment.reason };
  const { payer, transfer } = payment.value;
  return {
    kind: "readable",
    // The chain carries a transaction out once, whoever has signed it how often, and it names the group it is in.
    identity: `${shortNetwork(terms.value.network)}|${transfer.id}`,
    payer,
    expiresAtSeconds: Math.ceil(nowSeconds + memorySeconds(transfer)),
    expiredReason: "invalid_transaction_state",
  };
}

/** At most 5005 seconds, for no transaction is good for more than 1001 rounds. */
function memorySeconds({ firstValid, lastValid }: { readonly firstValid: bigint; readonly lastValid: bigint }): number {
  return Math.max(Number(lastValid - firstValid + 1n) * SECONDS_PER_ROUND, SHORTEST_MEMORY_SECONDS);
}
