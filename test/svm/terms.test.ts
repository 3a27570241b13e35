/**
 * Requests to the facilitator whose terms are not those of the payment, one thing at a time: refused, and nothing is moved.
 */
import type { PaymentRequirements } from "@farebox/core";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { FEE_PAYER, requirements, STRANGER, USDC } from "../../packages/svm/src/payments.fixture.js";
import { requestFor } from "../facilitator/unsettled.js";
import { MISSING_TERMS, WRONG_TERMS, type WrongTerms } from "../facilitator/wrong-terms.js";
import { Court, OTHER_MINT } from "./court.js";

const SVM = "invalid_exact_svm_payload_";

let court: Court;

beforeAll(async () => {
  court = await Court.open();
});

afterAll(() => court.local.close());

afterEach(() => court.expectNothingMoved());

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
    ["a fee payer that is none", { extra: { feePayer: `${FEE}1` } }, `${SVM}missing_fee_payer`],
    [
      "a fee payer of another",
      { extra: { feePayer: STRANGER.publicKey.toBase58() } },
      "invalid_exact_svm_fee_payer_not_managed_by_facilitator",
    ],
    ["a memo that is no text", { extra: { feePayer: FEE, memo: 7 } }, "invalid_payment_requirements"],
    ["a memo that is too long", { extra: { feePayer: FEE, memo: "é".repeat(129) } }, "invalid_payment_requirements"],
  ])("of a facilitator's request: %s", async (_, change, reason) => {
    const offer = { ...requirements(), ...change } as PaymentRequirements;
    await court.expectUnsettled(requestFor(court.payload(), offer), reason);
  });

  test.each<WrongTerms>([
    ["another scheme", { scheme: "upto" }, "invalid_scheme"],
    ["another network", { network: "eip155:84532" }, "invalid_network"],
    ["another asset", { asset: USDC.toBase58().toLowerCase() }, `${SVM}mint_mismatch`],
    ["another payTo", { payTo: STRANGER.publicKey.toBase58() }, `${SVM}recipient_mismatch`],
    ["another amount", { amount: "1" }, `${SVM}amount_mismatch`],
    ["no amount", { amount: undefined }, `${SVM}amount_mismatch`],
  ])("that the payer accepted: %s", async (_, change, reason) => {
    const request = requestFor(court.payload(), requirements());
    const accepted = { ...requirements(), ...change };
    await court.expectUnsettled({ ...request, paymentPayload: { ...request.paymentPayload, accepted } }, reason);
  });

  test.each(MISSING_TERMS)("are missing: %s", async (_, request, reason) => {
    await court.expectUnsettled(request, reason);
  });
});
