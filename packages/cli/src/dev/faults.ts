/**
 * Faults of the facilitator that a person switches on, to see what an app does.
 *
 * @module
 */
import type { Facilitator, FacilitatorRequest } from "@farebox/core";
import type { FacilitatorServer } from "@farebox/testing";
import type { Journal } from "./journal.js";

/** What is wrong with the facilitator. */
export const FAULTS = ["none", "slow", "down", "unknown", "refusing"] as const;

/** One of {@link FAULTS}. */
export type DevFault = (typeof FAULTS)[number];

/** What each does, for people. */
export const FAULT_TEXTS: Readonly<Record<DevFault, string>> = {
  none: "in order",
  slow: "takes 3 seconds for each call",
  down: "breaks every connection",
  unknown: "settles, and breaks the connection before it says so",
  refusing: "settles nothing: insufficient_funds",
};

const SLOW_MS = 3_000;

/** The switch. */
export class FaultSwitch {
  #fault: DevFault = "none";
  #server: FacilitatorServer | undefined;

  /** The fault of now. */
  get fault(): DevFault {
    return this.#fault;
  }

  /** Connections are broken by the server. */
  attach(server: FacilitatorServer): void {
    this.#server = server;
  }

  /** Switches a fault on, and any other one off. */
  set(fault: DevFault): void {
    this.#fault = fault;
    const faults = this.#server?.faults;
    faults?.clear();
    if (fault === "down")
      for (const operation of ["verify", "settle", "supported"] as const) faults?.always(operation, { kind: "drop" });
    if (fault === "unknown") faults?.always("settle", { kind: "drop", when: "after" });
  }

  /** A facilitator whose calls are written down, and which is slow or refuses while the switch says so. */
  observe<T extends Facilitator>(facilitator: T, journal: Journal): T {
    const watch = async <R>(
      operation: "verify" | "settle",
      request: FacilitatorRequest,
      call: () => Promise<R>,
      describe: (result: R) => string,
    ): Promise<R> => {
      const end = journal.call(operation, request);
      try {
        if (this.#fault === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS).unref());
        const result = await call();
        end(describe(result));
        if (this.#fault === "unknown" && operation === "settle") journal.fault(request, "the seller is not told");
        return result;
      } catch (error) {
        end(error instanceof Error ? error.message : String(error));
        throw error;
      }
    };
    return {
      ...facilitator,
      verify: (request: FacilitatorRequest, options) =>
        watch(
          "verify",
          request,
          () => facilitator.verify(request, options),
          ({ isValid, invalidReason }) => (isValid ? "" : (invalidReason ?? "invalid")),
        ),
      settle: (request: FacilitatorRequest, options) =>
        watch(
          "settle",
          request,
          async () => {
            if (this.#fault !== "refusing") return facilitator.settle(request, options);
            const { network } = request.paymentRequirements;
            return { success: false, errorReason: "insufficient_funds", transaction: "", network };
          },
          ({ success, errorReason }) => (success ? "" : (errorReason ?? "failed")),
        ),
    };
  }
}
