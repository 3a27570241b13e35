/**
 * Decisions: what becomes of a request.
 *
 * @module
 */
import type { Admission, Prepaid } from "./admission.js";
import type { Answer } from "./responses.js";

/** What becomes of a request. */
export type Decision =
  /** Not priced: the handler runs as if we were not there. */
  | { readonly kind: "open" }
  /** Priced, and let through by a hook: the handler runs without payment. */
  | { readonly kind: "granted" }
  /** Answered here; the handler does not run. `undelivered` is to be called when the answer could not be delivered. */
  | { readonly kind: "answer"; readonly answer: Answer; readonly undelivered?: () => Promise<void> }
  /** Paid, as far as can be known before settlement: the handler runs and its answer is held back. */
  | { readonly kind: "admitted"; readonly admission: Admission }
  /** Paid and settled: the handler runs and its answer goes out as it is written. */
  | { readonly kind: "prepaid"; readonly prepaid: Prepaid };
