/**
 * Facilitators and clocks that a test controls.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { SupportedResponse } from "../protocol/documents.js";
import type { Clock } from "./circuit-breaker.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import type { Operation } from "./http-server.fixture.js";

/** A clock that the test moves. */
export interface ManualClock extends Clock {
  /** Moves the clock, and runs the timers that are due. */
  advance(ms: number): Promise<void>;
  /** Milliseconds until each scheduled timer. */
  readonly pendingMs: readonly number[];
}

/** @param random - The result of `random`. */
export function createManualClock(random = 1): ManualClock {
  let nowMs = Date.UTC(2026, 0, 1);
  const tasks = new Set<{ readonly run: () => void; readonly atMs: number }>();
  return {
    now: () => nowMs,
    random: () => random,
    schedule(run, delayMs) {
      const task = { run, atMs: nowMs + delayMs };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    async advance(ms) {
      nowMs += ms;
      for (const task of [...tasks].filter(({ atMs }) => atMs <= nowMs)) {
        tasks.delete(task);
        task.run();
      }
      await quiet();
    },
    get pendingMs() {
      return [...tasks].map(({ atMs }) => atMs - nowMs);
    },
  };
}

/** Lets pending promises and immediates run. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

export function supporting(...kinds: readonly [scheme: string, network: string][]): SupportedResponse {
  return {
    kinds: kinds.map(([scheme, network]) => ({ x402Version: 2, scheme, network })),
    extensions: [],
    signers: {},
  };
}

export function failure(operation: Operation, outcome: "none" | "unknown", retryAfterSeconds?: number) {
  return new FacilitatorError(`${operation} failed, outcome ${outcome}`, {
    code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
    operation,
    outcome,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** Responses of a scripted facilitator. By default every payment is valid and settles. */
export interface Script {
  verify?: (request: FacilitatorRequest, options: CallOptions) => unknown;
  settle?: (request: FacilitatorRequest, options: CallOptions) => unknown;
  supported?: (options: CallOptions) => unknown;
}

/** A facilitator in this process; its script may be changed at any time. */
export interface ScriptedFacilitator extends Facilitator {
  readonly script: Script;
  /** The calls that it got, in order. */
  readonly asked: Operation[];
}

export function scripted(script: Script = {}): ScriptedFacilitator {
  const asked: Operation[] = [];
  return {
    script,
    asked,
    async verify(request, options = {}) {
      asked.push("verify");
      return (await (script.verify?.(request, options) ?? { isValid: true })) as never;
    },
    async settle(request, options = {}) {
      asked.push("settle");
      const { network } = request.paymentRequirements;
      return (await (script.settle?.(request, options) ?? { success: true, transaction: "0x1", network })) as never;
    },
    async supported(options = {}) {
      asked.push("supported");
      return (await (script.supported?.(options) ?? supporting(["exact", "eip155:84532"]))) as never;
    },
  };
}

/** Fails every time. */
export function failing(operation: Operation, outcome: "none" | "unknown", retryAfterSeconds?: number) {
  return () => Promise.reject(failure(operation, outcome, retryAfterSeconds));
}
