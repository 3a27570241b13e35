import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isReason, type Reason, type SpecifiedReason } from "./reasons.js";

/** The compiler holds this to the type, and a test to the specification. */
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
  too_many_payments: true,
  denied: true,
  permit2_allowance_required: true,
  invalid_upto_evm_payload_settlement_exceeds_amount: true,
  settlement_pending: true,
} satisfies Record<Exclude<Reason, SpecifiedReason>, true>);

test("the specified reasons are those of the specification's list", () => {
  const file = new URL("../../../../test/vectors/reasons-v2.json", import.meta.url);
  expect(SPECIFIED).toEqual(JSON.parse(readFileSync(file, "utf8")).reasons);
});

test("every reason added is explained in the protocol notes", () => {
  const notes = readFileSync(new URL("../../../../docs/protocol-notes.md", import.meta.url), "utf8");
  expect(ADDED.filter((reason) => !notes.includes(`\`${reason}\``))).toEqual([]);
});

describe("isReason", () => {
  test.each([...SPECIFIED, ...ADDED, "a", `a${"b".repeat(95)}`])("takes %s", (text) => {
    expect(isReason(text)).toBe(true);
  });

  test.each<[text: unknown, why: string]>([
    ["", "empty"],
    [`a${"b".repeat(96)}`, "longer than any"],
    ["Insufficient funds", "prose"],
    ["insufficient-funds", "another separator"],
    ["_x", "begins with a separator"],
    ["1x", "begins with a digit"],
    ["invalid_payload\n", "a line break"],
    ["<b>no</b>", "markup"],
    ["ключ", "letters of another script"],
    [null, "nothing"],
    [["invalid_payload"], "a list"],
  ])("refuses %j: %s", (text) => {
    expect(isReason(text)).toBe(false);
  });

  test("lets nothing through that could be read as anything but a word", () => {
    fc.assert(fc.property(fc.anything(), (text) => void expect(isReason(text) ? text : "a").toMatch(/^[a-z0-9_]+$/)));
  });
});
