/**
 * Reads a payment for a seller: everything that can be told from the payload alone.
 *
 * @module
 */
import type { PaymentReading, PaymentRequirements } from "@farebox/core";
import { readSvmPayment } from "./payment.js";
import { readTerms } from "./terms.js";

/**
 * A transaction is good for 150 slots after its block, and it cannot be told when that was; a slot takes 0.4 seconds as a
 * rule. A payment has to be remembered for longer than it can be made, or it could be shown again.
 */
const SHORTEST_MEMORY_SECONDS = 180;
const LONGEST_MEMORY_SECONDS = 60 * 60;

/** Implements `readPayment` of the `exact` scheme. Total. */
export function readTransferPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const terms = readTerms(requirements);
  const payment = terms.ok ? readSvmPayment(payload, terms.value) : terms;
  if (!payment.ok) return { kind: "refused", reason: payment.reason };
  const { digest, payer } = payment.value;
  return {
    kind: "readable",
    // The chain carries a message out once, whoever has signed it how often, and in whatever encoding it came.
    identity: `${requirements.network}|${digest}`,
    payer,
    expiresAtSeconds: Math.ceil(nowSeconds + memorySeconds(requirements.maxTimeoutSeconds)),
    expiredReason: "invalid_transaction_state",
  };
}

function memorySeconds(maxTimeoutSeconds: number): number {
  return Math.min(Math.max(maxTimeoutSeconds, SHORTEST_MEMORY_SECONDS), LONGEST_MEMORY_SECONDS);
}
