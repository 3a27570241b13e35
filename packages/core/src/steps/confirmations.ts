/**
 * Waits until a settlement is deep enough in the chain, if the seller asks for it. Until then it does not count as settled: a
 * transaction that the chain drops again has moved nothing.
 *
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { RpcNode } from "../http/rpc-node.js";
import type { StartTimer } from "../options.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import type { ConfirmationReading, Scheme } from "../scheme/scheme.js";

/** How long a client waits for confirmations. Afterwards it gets 503, and may repeat its request. */
export const CONFIRM_MS = 30_000;

/** How often a node is asked. */
const ASK_EVERY_MS = 1_000;

/** How long a node may take for one response. */
const ASKING_MS = 5_000;

/** What waiting for confirmations needs. */
export interface ConfirmationsDeps {
  /** How many blocks deep a settlement on a network must be. */
  readonly confirmationsOn: (network: string) => number;
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** A payment whose settlement is to be confirmed. */
interface SettledPayment {
  readonly payer: string;
  readonly scheme: Scheme;
  readonly facilitatorRequest: FacilitatorRequest;
}

/** Whether a transaction is as deep in the chain as is wanted, or gets there in time. Never rejects. */
export async function isConfirmed(
  payment: SettledPayment,
  { transaction, wanted }: { readonly transaction: string; readonly wanted: number },
  deps: ConfirmationsDeps,
): Promise<boolean> {
  const { network } = payment.facilitatorRequest.paymentRequirements;
  const { now, timer, logger } = deps;
  const untilMs = now() + CONFIRM_MS;
  for (;;) {
    const reading = await ask(payment, transaction, deps);
    if (reading.kind === "confirmed" && reading.confirmations >= wanted) return true;
    if (reading.kind === "failed" || now() + ASK_EVERY_MS > untilMs) {
      const problem = reading.kind === "unclear" ? reading.problem : reading.kind;
      logger.error("settlement_not_confirmed", { network, payer: payment.payer, transaction, problem });
      return false;
    }
    await new Promise<void>((resolve) => void timer(resolve, ASK_EVERY_MS));
  }
}

async function ask(
  { scheme, facilitatorRequest }: SettledPayment,
  transaction: string,
  { rpc: nodes }: ConfirmationsDeps,
): Promise<ConfirmationReading> {
  const { network } = facilitatorRequest.paymentRequirements;
  const rpc = nodes.get(canonicalNetwork(network));
  try {
    const signal = AbortSignal.timeout(ASKING_MS);
    const reading = rpc && (await scheme.readConfirmations?.({ transaction, network, rpc, signal }));
    return reading ?? { kind: "unclear", problem: "no node can be asked" };
  } catch {
    // A seller's own scheme may break its promise.
    return { kind: "unclear", problem: "its scheme failed" };
  }
}
