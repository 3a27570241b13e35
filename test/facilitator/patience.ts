/**
 * A scheme that waits for a transaction until its outcome is known, or looks at it once. So no test depends on durations.
 *
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, type RpcChainOptions } from "@farebox/evm/facilitator";
import type { Hex } from "viem";
import { NETWORK, type Stage } from "./stage.js";

export interface Patience {
  readonly scheme: FacilitatorScheme;
  /** Whether to wait from now on. Initially it waits. */
  hasTime: boolean;
}

/** Opens a scheme, as in a new process. */
export function openPatience(stage: Stage, options: Partial<RpcChainOptions> & { readonly privateKey: Hex }): Patience {
  const limits = { pollingIntervalMs: 10, receiptTimeoutMs: 600_000 };
  const chain = createRpcChain({ network: NETWORK, rpcUrl: stage.chain.rpcUrl, ...limits, ...options });
  const outcomeOf = chain.outcomeOf.bind(chain);
  const patience = { scheme: createExactEvmScheme({ chain }), hasTime: true };
  chain.outcomeOf = (transaction, waitedMs) =>
    outcomeOf(transaction, patience.hasTime ? waitedMs : limits.receiptTimeoutMs);
  return patience;
}
