/**
 * Asks the chain itself what has become of a payment, where the seller has named a node.
 *
 * @see `docs/reference/lifecycle.md`, "How an unknown outcome is resolved"
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import type { UnsettledPayment } from "./unsettled.js";

/** What is certain. `silent`: nothing is, or there is no node to ask. */
export type Seen =
  | { readonly kind: "moved"; readonly transaction: string }
  | { readonly kind: "never" }
  | { readonly kind: "silent" };

/** Whom to ask. */
export interface LookUpParts {
  /** Nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
}

/** A search may take many questions; the client waits, and what was not found will be looked for again. */
export const LOOK_UP_MS = 8_000;

const SILENT: Seen = Object.freeze({ kind: "silent" });

/** Looks for a payment on its chain. Never rejects. */
export async function lookUp(payment: UnsettledPayment, parts: LookUpParts): Promise<Seen> {
  const { payer, scheme, facilitatorRequest } = payment;
  const { paymentRequirements: requirements, paymentPayload } = facilitatorRequest;
  const { network } = requirements;
  const rpc = parts.rpc.get(canonicalNetwork(network));
  if (rpc === undefined || scheme.findPayment === undefined) return SILENT;
  try {
    const signal = AbortSignal.timeout(LOOK_UP_MS);
    const expiresAtSeconds = payment.claim.expiresAtMs / 1000;
    const query = { payload: paymentPayload.payload, requirements, rpc, signal, expiresAtSeconds };
    const found = await scheme.findPayment(query);
    if (found.kind === "moved" || found.kind === "never") return found;
    const problem = found.kind === "open" ? "it has not moved so far, and still may" : found.problem;
    parts.logger.info("payment_not_found", { network, payer, problem });
  } catch (error) {
    parts.logger.error("look_up_failed", { network, payer, error: error instanceof Error ? error.name : "unknown" });
  }
  return SILENT;
}

/** Whether there is a node that could be asked. */
export function canLookUp({ scheme, facilitatorRequest }: UnsettledPayment, { rpc }: LookUpParts): boolean {
  return scheme.findPayment !== undefined && rpc.has(canonicalNetwork(facilitatorRequest.paymentRequirements.network));
}
