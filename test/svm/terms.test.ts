/**
 * Requests to the facilitator whose terms differ from those of the payment in one field: refused, and nothing moves.
 */
import type { PaymentRequirements } from "@farebox/core";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { FEE_PAYER, requirements, STRANGER, USDC } from "../../packages/svm/src/payments.fixture.js";
import { requestFor } from "../facilitator/unsettled.js";
import { MISSING_TERMS, WRONG_TERMS, type WrongTerms } from "../facilitator/wrong-terms.js";
import { BothSides, OTHER_MINT } from "./both-sides.js";

const SVM = "invalid_exact_svm_payload_";

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

describe("the terms", () => {
  const FEE = FEE_PAYER.publicKey.toBase58();
  test.each<WrongTerms>([
    ...WRONG_TERMS,
    ["another network", { network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" }, "invalid_network"],
    ["another asset", { asset: OTHER_MINT.toBase58() }, `${SVM}mint_mismatch`],
    ["another payTo", { payTo: STRANGER.publicKey.toBase58() }, `${SVM}recipient_mismatch`],
    ["another amount", { amount: "1001" }, `${SVM}amount_mismatch`],
    ["no extra", { extra: undefined }, `${SVM}missing_fee_payer`],
    ["no fee payer", { extra: {} }, `${SVM}missing_fee_payer`],
    ["a fee payer that is not an address", { extra: { feePayer: `${FEE}1` } }, `${SVM}missing_fee_payer`],
    [
      "a fee payer of another",
      { extra: { feePayer: STRANGER.publicKey.toBase58() } },
      "invalid_exact_svm_fee_payer_not_managed_by_facilitator",
    ],
    ["a memo that is not a text", { extra: { feePayer: FEE, memo: 7 } }, "invalid_payment_requirements"],
    ["a memo that is too long", { extra: { feePayer: FEE, memo: "é".repeat(129) } }, "invalid_payment_requirements"],
  ])("the facilitator refuses a request with %s", async (_, change, reason) => {
    const offer = { ...requirements(), ...change } as PaymentRequirements;
    await sides.expectUnsettled(requestFor(sides.payload(), offer), reason);
  });

  test.each<WrongTerms>([
    ["another scheme", { scheme: "upto" }, "invalid_scheme"],
    ["another network", { network: "eip155:84532" }, "invalid_network"],
    ["another asset", { asset: USDC.toBase58().toLowerCase() }, `${SVM}mint_mismatch`],
    ["another payTo", { payTo: STRANGER.publicKey.toBase58() }, `${SVM}recipient_mismatch`],
    ["another amount", { amount: "1" }, `${SVM}amount_mismatch`],
    ["no amount", { amount: undefined }, `${SVM}amount_mismatch`],
  ])("the facilitator refuses accepted terms with %s", async (_, change, reason) => {
    const request = requestFor(sides.payload(), requirements());
    const accepted = { ...requirements(), ...change };
    await sides.expectUnsettled({ ...request, paymentPayload: { ...request.paymentPayload, accepted } }, reason);
  });

  test.each(MISSING_TERMS)("the facilitator refuses a request without terms: %s", async (_, request, reason) => {
    await sides.expectUnsettled(request, reason);
  });
});
