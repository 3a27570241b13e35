/**
 * A facilitator that says yes to everything, so that what is measured is the seller's own work.
 *
 * @module
 */
import { FEE_PAYER, NETWORKS } from "./offers.js";

/** A transaction hash; which one does not matter here. */
const TRANSACTION = `0x${"5e".repeat(32)}`;

interface Payment {
  readonly payload: Record<string, unknown>;
}

interface Terms {
  readonly network: string;
  readonly amount: string;
}

/** All is well. */
export function verify({ payload }: Payment): { isValid: true; payer: string } {
  return { isValid: true, payer: payerOf(payload) };
}

/** All is paid. */
export function settle({ payload }: Payment, { network, amount }: Terms) {
  return { success: true, transaction: TRANSACTION, network, amount, payer: payerOf(payload) };
}

/** What the sellers of the benchmark need. */
export function supported() {
  const kinds = NETWORKS.map((network) => ({
    x402Version: 2,
    scheme: "exact",
    network,
    ...(network.startsWith("solana:") ? { extra: { feePayer: FEE_PAYER } } : {}),
  }));
  return { kinds, extensions: ["bazaar"], signers: {} };
}

function payerOf({ authorization, permit2Authorization = authorization }: Record<string, unknown>): string {
  return String((permit2Authorization as { from: unknown }).from);
}
