/**
 * What a facilitator needs of a scheme on one network. The seller's side of a scheme is in `scheme.ts`.
 *
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { VerifyResponse } from "../protocol/verify-response.js";

/** One scheme on one concrete network, able to verify and settle. */
export interface FacilitatorScheme {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, concrete: `eip155:84532`. */
  readonly network: string;
  /** What offers of this kind must carry; `{}` when nothing. Becomes `extra` in `/supported`. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Addresses that sign transactions, for `signers` in `/supported`. */
  readonly signers: readonly string[];
  /** Identifiers of extensions it understands, for `extensions` in `/supported`. Default none. */
  readonly extensions?: readonly string[];
  /** Whether the payment would settle now. Total: a malformed payment yields `isValid: false`. */
  verify(request: FacilitatorRequest): Promise<VerifyResponse>;
  /**
   * Verifies again and moves the money. Never resolves with `success: true` twice for one authorization: a repeat gets
   * `payment_already_settled` with the first transaction's hash.
   */
  settle(request: FacilitatorRequest): Promise<SettlementResponse>;
  /** Whether the network answers and the signer can pay for transactions; never rejects. */
  health(): Promise<SchemeHealth>;
}

/** Whether a scheme can work right now. */
export interface SchemeHealth {
  readonly ok: boolean;
  /** What is wrong, for an operator; absent when `ok`. */
  readonly problem?: string;
}
