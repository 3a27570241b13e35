/**
 * VerifyResponse: a facilitator's answer to `verify`.
 *
 * @see x402 v2 §5.4, §7.1
 * @module
 */

import type { ExtensionResponses } from "./extension-responses.js";

/** Whether a payment would settle if it were settled now. */
export interface VerifyResponse {
  readonly isValid: boolean;
  /** Why not; a protocol string such as `insufficient_funds`. */
  readonly invalidReason?: string;
  /** Prose for a log. Not passed on to clients. */
  readonly invalidMessage?: string;
  readonly payer?: string;
  /** What has become of our declarations. In HTTP a header of its own. */
  readonly extensionResponses?: ExtensionResponses;
}
