/**
 * Requests to the facilitator whose terms differ from those of the payment in one field: refused, and nothing moves.
 */
import type { PaymentRequirements } from "@farebox/core";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { FEE_PAYER, MAINNET, payload, requirements, STRANGER } from "../../packages/avm/src/payments.fixture.js";
import { MISSING_TERMS, WRONG_TERMS, type WrongTerms } from "../facilitator/wrong-terms.js";
import { BothSides, OTHER_ASSET, toRequest } from "./both-sides.js";

const AVM = "invalid_exact_avm_";

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

describe("the terms", () => {
  const FEE = FEE_PAYER.addr.toString();
  test.each<WrongTerms>([
    ...WRONG_TERMS,
    ["another network", { network: MAINNET }, "invalid_network"],
    ["another asset", { asset: OTHER_ASSET.toString() }, `${AVM}asset_mismatch`],
    ["another payTo", { payTo: STRANGER.addr.toString() }, `${AVM}receiver_mismatch`],
    ["another amount", { amount: "1001" }, `${AVM}amount_mismatch`],
    ["an asset above 2^64", { asset: (2n ** 64n).toString() }, "invalid_payment_requirements"],
    ["Algos as asset", { asset: "0" }, "invalid_payment_requirements"],
    ["no extra", { extra: undefined }, `${AVM}unsigned_non_facilitator`],
    ["no fee payer", { extra: {} }, `${AVM}unsigned_non_facilitator`],
    ["a fee payer that is not an address", { extra: { feePayer: `${FEE}1` } }, "invalid_payment_requirements"],
    ["a fee payer that is null", { extra: { feePayer: null } }, "invalid_payment_requirements"],
    ["a fee payer of another", { extra: { feePayer: STRANGER.addr.toString() } }, `${AVM}invalid_fee_payer`],
  ])("the facilitator refuses a request with %s", async (_, change, reason) => {
    const offer = { ...requirements(), ...change } as PaymentRequirements;
    await sides.expectUnsettled(toRequest(payload(), offer), reason);
  });

  test.each<WrongTerms>([
    ["another scheme", { scheme: "upto" }, "invalid_scheme"],
    ["another network", { network: "eip155:84532" }, "invalid_network"],
    ["another asset", { asset: `0${requirements().asset}` }, `${AVM}asset_mismatch`],
    ["another payTo", { payTo: STRANGER.addr.toString() }, `${AVM}receiver_mismatch`],
    ["another amount", { amount: "1" }, `${AVM}amount_mismatch`],
    ["no amount", { amount: undefined }, `${AVM}amount_mismatch`],
  ])("the facilitator refuses accepted terms with %s", async (_, change, reason) => {
    const request = toRequest(payload(), requirements());
    const accepted = { ...requirements(), ...change };
    await sides.expectUnsettled({ ...request, paymentPayload: { ...request.paymentPayload, accepted } }, reason);
  });

  test.each(MISSING_TERMS)("the facilitator refuses a request without terms: %s", async (_, request, reason) => {
    await sides.expectUnsettled(request, reason);
  });
});
