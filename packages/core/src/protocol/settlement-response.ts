/**
 * SettlementResponse: a facilitator's answer to `settle`, and the receipt in `PAYMENT-RESPONSE`.
 *
 * @see x402 v2 §5.3, §7.2
 * @module
 */

import type { ExtensionResponses } from "./extension-responses.js";

/** How a settlement ended. */
export interface SettlementResponse {
  readonly success: boolean;
  /** Why not; a protocol string. Absent on success. */
  readonly errorReason?: string;
  /** Prose for a log. Not passed on to clients. */
  readonly errorMessage?: string;
  readonly payer?: string;
  /** Transaction hash; `""` when there is none. */
  readonly transaction: string;
  /** CAIP-2. */
  readonly network: string;
  /** Atomic units that were moved. */
  readonly amount?: string;
  /** What has become of our declarations. In HTTP a header of its own; never part of a receipt. */
  readonly extensionResponses?: ExtensionResponses;
}
