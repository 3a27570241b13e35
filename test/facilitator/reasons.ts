import type { Reason } from "@farebox/core";
import type { AvmReason, SvmReason } from "@farebox/core/protocol";

/** Every reason of the protocol, except those of Solana and Algorand. The compiler finds a missing one. */
export const REASONS: Readonly<Record<Exclude<Reason, SvmReason | AvmReason>, true>> = {
  insufficient_funds: true,
  invalid_exact_evm_payload_authorization_valid_after: true,
  invalid_exact_evm_payload_authorization_valid_before: true,
  invalid_exact_evm_payload_authorization_value_mismatch: true,
  invalid_exact_evm_payload_signature: true,
  invalid_exact_evm_payload_recipient_mismatch: true,
  invalid_network: true,
  invalid_payload: true,
  invalid_payment_requirements: true,
  invalid_scheme: true,
  unsupported_scheme: true,
  invalid_x402_version: true,
  invalid_transaction_state: true,
  unexpected_verify_error: true,
  unexpected_settle_error: true,
  payment_already_used: true,
  payment_already_settled: true,
  payment_in_progress: true,
  not_charged: true,
  payment_expired: true,
  ambiguous_path: true,
  payment_identifier_required: true,
  invalid_payment_identifier: true,
  payment_identifier_conflict: true,
  answer_not_kept: true,
  too_many_copies: true,
  too_many_payments: true,
  invalid_input: true,
  denied: true,
  permit2_allowance_required: true,
  payment_limit: true,
  payment_due: true,
  invalid_upto_evm_payload_settlement_exceeds_amount: true,
  settlement_pending: true,
};

export function isKnownReason(reason: unknown): boolean {
  return typeof reason === "string" && Object.hasOwn(REASONS, reason);
}
