import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AddedReason, type AvmReason, isReason, type SpecifiedReason, type SvmReason } from "./reasons.js";

/** The compiler compares this with the type, and a test with the specification. */
const SPECIFIED = Object.keys({
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
} satisfies Record<SpecifiedReason, true>);

const ADDED = Object.keys({
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
} satisfies Record<AddedReason, true>);

const SVM = Object.keys({
  invalid_exact_svm_fee_payer_mismatch: true,
  invalid_exact_svm_fee_payer_not_managed_by_facilitator: true,
  invalid_exact_svm_payload_amount_mismatch: true,
  invalid_exact_svm_payload_excessive_signers: true,
  invalid_exact_svm_payload_memo_count: true,
  invalid_exact_svm_payload_memo_mismatch: true,
  invalid_exact_svm_payload_mint_mismatch: true,
  invalid_exact_svm_payload_missing_fee_payer: true,
  invalid_exact_svm_payload_no_transfer_instruction: true,
  invalid_exact_svm_payload_recipient_mismatch: true,
  invalid_exact_svm_payload_signature_invalid: true,
  invalid_exact_svm_payload_transaction_could_not_be_decoded: true,
  invalid_exact_svm_payload_transaction_fee_payer_transferring_funds: true,
  invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction: true,
  invalid_exact_svm_payload_transaction_instructions_compute_price_instruction: true,
  invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high: true,
  invalid_exact_svm_payload_transaction_instructions_length: true,
  invalid_exact_svm_payload_unknown_fifth_instruction: true,
  invalid_exact_svm_payload_unknown_fourth_instruction: true,
  invalid_exact_svm_payload_unknown_sixth_instruction: true,
} satisfies Record<SvmReason, true>);

const AVM = Object.keys({
  invalid_exact_avm_amount_mismatch: true,
  invalid_exact_avm_asset_mismatch: true,
  invalid_exact_avm_facilitator_transferring: true,
  invalid_exact_avm_fee_too_high: true,
  invalid_exact_avm_group_size_exceeded: true,
  invalid_exact_avm_invalid_fee_payer: true,
  invalid_exact_avm_invalid_group_id: true,
  invalid_exact_avm_invalid_signature: true,
  invalid_exact_avm_invalid_transaction: true,
  invalid_exact_avm_network_mismatch: true,
  invalid_exact_avm_not_asset_transfer: true,
  invalid_exact_avm_payment_index: true,
  invalid_exact_avm_payment_not_signed: true,
  invalid_exact_avm_receiver_mismatch: true,
  invalid_exact_avm_unsigned_non_facilitator: true,
} satisfies Record<AvmReason, true>);

test("the specified reasons are those in the specification's list", () => {
  const file = new URL("../../../../test/vectors/reasons-v2.json", import.meta.url);
  expect(SPECIFIED).toEqual(JSON.parse(readFileSync(file, "utf8")).reasons);
});

test("every added reason is explained in the protocol notes", () => {
  const notes = readFileSync(new URL("../../../../docs/background/protocol-notes.md", import.meta.url), "utf8");
  expect([...ADDED, ...SVM, ...AVM].filter((reason) => !notes.includes(`\`${reason}\``))).toEqual([]);
});

describe("isReason", () => {
  test.each([...SPECIFIED, ...ADDED, ...SVM, ...AVM, "a", `a${"b".repeat(95)}`])("accepts %s", (text) => {
    expect(isReason(text)).toBe(true);
  });

  test.each<[text: unknown, why: string]>([
    ["", "empty"],
    [`a${"b".repeat(96)}`, "too long"],
    ["Insufficient funds", "prose"],
    ["insufficient-funds", "another separator"],
    ["_x", "begins with a separator"],
    ["1x", "begins with a digit"],
    ["invalid_payload\n", "a line break"],
    ["<b>no</b>", "markup"],
    ["ключ", "letters of another script"],
    [null, "null"],
    [["invalid_payload"], "a list"],
  ])("refuses %j: %s", (text) => {
    expect(isReason(text)).toBe(false);
  });

  test("accepts only lower-case words of letters, digits and underscores", () => {
    fc.assert(fc.property(fc.anything(), (text) => void expect(isReason(text) ? text : "a").toMatch(/^[a-z0-9_]+$/)));
  });
});
