/**
 * Reasons: the strings on the wire that say why a payment was refused. Error codes (`errors.ts`) are for the seller's log and never
 * cross the wire.
 *
 * @see x402 v2 §9 "Error Handling"
 * @module
 */

/** The reasons in the specification's list. */
export type SpecifiedReason =
  | "insufficient_funds"
  | "invalid_exact_evm_payload_authorization_valid_after"
  | "invalid_exact_evm_payload_authorization_valid_before"
  | "invalid_exact_evm_payload_authorization_value_mismatch"
  | "invalid_exact_evm_payload_signature"
  | "invalid_exact_evm_payload_recipient_mismatch"
  | "invalid_network"
  | "invalid_payload"
  | "invalid_payment_requirements"
  | "invalid_scheme"
  | "unsupported_scheme"
  | "invalid_x402_version"
  | "invalid_transaction_state"
  | "unexpected_verify_error"
  | "unexpected_settle_error";

/**
 * Reasons that the specification lacks. Each is explained in `docs/background/protocol-notes.md`.
 *
 * - `payment_already_used`: the seller has seen this payment before and does not run the handler for it again.
 * - `payment_already_settled`: the facilitator settled this authorization before; `transaction` names that transfer.
 * - `payment_in_progress`: the first request with this payment is in flight.
 * - `not_charged`: the handler failed, so no money was moved.
 * - `payment_expired`: the authorization expired while the handler was running; nothing was charged.
 * - `ambiguous_path`: another handler may read the path as a different one with a different price.
 * - `payment_identifier_required`, `invalid_payment_identifier`: the id of the payment is missing, or invalid.
 * - `payment_identifier_conflict`: another payment has the same id.
 * - `answer_not_kept`: the payment was settled before, and its response is no longer kept.
 * - `too_many_copies`: the response of this payment was sent too often for now.
 * - `too_many_payments`: the payer has too many runs that are not paid for.
 * - `invalid_input`: the request is invalid; nothing was charged.
 * - `denied`: a hook of the seller refused the request.
 * - `permit2_allowance_required`: the payer has not allowed Permit2 to move the token, which takes one transaction.
 * - `invalid_upto_evm_payload_settlement_exceeds_amount`: the seller wants more than the payer has authorized.
 * - `payment_limit`: a metered response ended early, because what the payer authorized is used up.
 * - `payment_due`: the payer has not paid for an earlier metered response.
 * - `settlement_pending`: broadcast, but not yet known to be on chain. The reference implementation sends it too.
 */
export type AddedReason =
  | "payment_already_used"
  | "payment_already_settled"
  | "payment_in_progress"
  | "not_charged"
  | "payment_expired"
  | "ambiguous_path"
  | "payment_identifier_required"
  | "invalid_payment_identifier"
  | "payment_identifier_conflict"
  | "answer_not_kept"
  | "too_many_copies"
  | "too_many_payments"
  | "invalid_input"
  | "denied"
  | "permit2_allowance_required"
  | "payment_limit"
  | "payment_due"
  | "invalid_upto_evm_payload_settlement_exceeds_amount"
  | "settlement_pending";

/**
 * Reasons of the scheme `exact` on Solana. Its specification names none, so these are the reference implementation's. Each is explained in
 * `docs/background/protocol-notes.md`.
 */
export type SvmReason =
  | "invalid_exact_svm_fee_payer_mismatch"
  | "invalid_exact_svm_fee_payer_not_managed_by_facilitator"
  | "invalid_exact_svm_payload_amount_mismatch"
  | "invalid_exact_svm_payload_excessive_signers"
  | "invalid_exact_svm_payload_memo_count"
  | "invalid_exact_svm_payload_memo_mismatch"
  | "invalid_exact_svm_payload_mint_mismatch"
  | "invalid_exact_svm_payload_missing_fee_payer"
  | "invalid_exact_svm_payload_no_transfer_instruction"
  | "invalid_exact_svm_payload_recipient_mismatch"
  | "invalid_exact_svm_payload_signature_invalid"
  | "invalid_exact_svm_payload_transaction_could_not_be_decoded"
  | "invalid_exact_svm_payload_transaction_fee_payer_transferring_funds"
  | "invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction"
  | "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction"
  | "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high"
  | "invalid_exact_svm_payload_transaction_instructions_length"
  | "invalid_exact_svm_payload_unknown_fifth_instruction"
  | "invalid_exact_svm_payload_unknown_fourth_instruction"
  | "invalid_exact_svm_payload_unknown_sixth_instruction";

/**
 * Reasons of the scheme `exact` on Algorand. Its specification names none, so these are the reference implementation's. Each is explained in
 * `docs/background/protocol-notes.md`.
 */
export type AvmReason =
  | "invalid_exact_avm_amount_mismatch"
  | "invalid_exact_avm_asset_mismatch"
  | "invalid_exact_avm_facilitator_transferring"
  | "invalid_exact_avm_fee_too_high"
  | "invalid_exact_avm_group_size_exceeded"
  | "invalid_exact_avm_invalid_fee_payer"
  | "invalid_exact_avm_invalid_group_id"
  | "invalid_exact_avm_invalid_signature"
  | "invalid_exact_avm_invalid_transaction"
  | "invalid_exact_avm_network_mismatch"
  | "invalid_exact_avm_not_asset_transfer"
  | "invalid_exact_avm_payment_index"
  | "invalid_exact_avm_payment_not_signed"
  | "invalid_exact_avm_receiver_mismatch"
  | "invalid_exact_avm_unsigned_non_facilitator";

/** Every reason that Farebox sends. A facilitator's reason may be any text in the same form. */
export type Reason = SpecifiedReason | AddedReason | SvmReason | AvmReason;

/** The form of a reason. Other texts of a peer may be prose, markup or secrets, and are not passed on. */
const REASON = /^[a-z][a-z0-9_]{0,95}$/;

/** Whether a peer's text has the form of a reason and may be passed on to a client. */
export function isReason(text: unknown): text is string {
  return typeof text === "string" && REASON.test(text);
}
