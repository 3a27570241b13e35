/**
 * A scheme that waits for a transaction until its outcome is known, or looks at it once. So no test depends on durations.
 *
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, type RpcChainOptions } from "@farebox/evm/facilitator";
import type { Hex } from "viem";
import { onTestFinished, vi } from "vitest";
import { NETWORK, PATIENT, type Stage } from "./stage.js";

export interface Patience {
  readonly scheme: FacilitatorScheme;
  /** Whether to wait from now on. Initially it waits. */
  hasTime: boolean;
}

/**
 * Until the test ends, no limit on a request ends it but by this function's result, which moves the clock of `setTimeout` past all of them.
 * Short waits, such as that before a request is repeated, end by themselves.
 */
export function holdRequestTimeouts(): () => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  // A request that outlives the test finds the real timers again.
  return () => {
    if (vi.isFakeTimers()) vi.advanceTimersByTime(PATIENT.requestTimeoutMs);
  };
}

/** Opens a scheme, as in a new process. */
export function openPatience(stage: Stage, options: Partial<RpcChainOptions> & { readonly privateKey: Hex }): Patience {
  const chain = createRpcChain({ network: NETWORK, rpcUrl: stage.chain.rpcUrl, ...PATIENT, ...options });
  const outcomeOf = chain.outcomeOf.bind(chain);
  const patience = { scheme: createExactEvmScheme({ chain }), hasTime: true };
  chain.outcomeOf = (transaction, waitedMs) =>
    outcomeOf(transaction, patience.hasTime ? waitedMs : PATIENT.receiptTimeoutMs);
  return patience;
}
