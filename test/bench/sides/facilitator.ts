/**
 * A facilitator that says yes to everything, so that what is measured is the seller's own work.
 *
 * @module
 */
import { FEE_PAYER, NETWORKS } from "./offers.js";

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

/** All is paid, each payment by a transaction of its own. */
export function settle({ payload }: Payment, { network, amount }: Terms) {
  const { nonce } = authorizationOf(payload);
  return { success: true, transaction: String(nonce), network, amount, payer: payerOf(payload) };
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

function payerOf(payload: Record<string, unknown>): string {
  return String(authorizationOf(payload).from);
}

function authorizationOf({ authorization, permit2Authorization = authorization }: Record<string, unknown>) {
  return permit2Authorization as { readonly from: unknown; readonly nonce: unknown };
}
