/**
 * Decisions: what an adapter does with a request.
 *
 * @module
 */
import type { Admission } from "./admission.js";
import type { GateResponse } from "./responses.js";

/** What an adapter does with a request. */
export type Decision =
  /**
   * The handler runs without payment: the route is free, or a hook let the request through (`isGranted`). Shared caches
   * must not keep the response to a granted request.
   */
  | { readonly kind: "pass"; readonly isGranted: boolean }
  /** This response goes out, and the handler does not run. `undelivered` is called if the response cannot be delivered. */
  | { readonly kind: "respond"; readonly response: GateResponse; readonly undelivered?: () => Promise<void> }
  /** The payment is good: the handler runs. */
  | { readonly kind: "run"; readonly admission: Admission };
