/**
 * Faults in a facilitator of this process: a lost response is a rejected call.
 *
 * @module
 */
import { type Facilitator, FacilitatorError, type FacilitatorFailure } from "@farebox/core";
import { type ActiveFault, type Fault, type FaultPlan, type Operation, runUntilFault } from "./faults.js";

/**
 * Adds faults to a facilitator. A call without a response rejects like that of an HTTP client: the outcome of a settlement is
 * `"unknown"`, whether or not the money moved, because such a client cannot know.
 */
export function withFaults(facilitator: Facilitator, plan: FaultPlan): Facilitator {
  function call<T extends object>(operation: Operation, run: () => Promise<T>): Promise<T> {
    const active = plan.take(operation);
    return active === undefined ? run() : runWithFault(operation, active, run);
  }
  return {
    verify: (request, options) => call("verify", () => facilitator.verify(request, options)),
    settle: (request, options) => call("settle", () => facilitator.settle(request, options)),
    supported: (options) => call("supported", () => facilitator.supported(options)),
  };
}

async function runWithFault<T extends object>(
  operation: Operation,
  active: ActiveFault,
  run: () => Promise<T>,
): Promise<T> {
  const { fault, released } = active;
  const response = await runUntilFault(active, run);
  switch (fault.kind) {
    case "hold":
    case "slow-body":
      await released;
      return response ?? run();
    case "duplicate":
      return response ?? run();
    case "rewrite":
      // The test may rewrite the response to any value.
      return fault.rewrite({ ...response }) as T;
    default:
      throw failure(operation, fault);
  }
}

type LostResponse = Exclude<Fault, { readonly kind: "hold" | "slow-body" | "duplicate" | "rewrite" }>;

function failure(operation: Operation, fault: LostResponse): FacilitatorError {
  const lost = operation === "settle" ? "unknown" : "none";
  const fail = (message: string, known: Omit<FacilitatorFailure, "operation">): FacilitatorError =>
    new FacilitatorError(message, { operation, ...known });
  switch (fault.kind) {
    case "drop":
      return fail(`facilitator could not be reached for ${operation} (ECONNRESET)`, {
        code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
        outcome: lost,
      });
    case "status":
      return fail(`facilitator responded to ${operation} with status ${fault.status}`, {
        code: "ERR_FAREBOX_FACILITATOR_STATUS",
        outcome: lost,
        status: fault.status,
        ...retryAfter(fault.headers),
      });
    case "garbage":
    case "empty":
      return fail(`facilitator response to ${operation} is malformed`, {
        code: "ERR_FAREBOX_FACILITATOR_RESPONSE",
        outcome: lost,
      });
  }
}

function retryAfter(headers: Readonly<Record<string, string>> = {}): { readonly retryAfterSeconds?: number } {
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "retry-after")?.[1];
  return value !== undefined && /^\d{1,9}$/.test(value) ? { retryAfterSeconds: Number(value) } : {};
}
