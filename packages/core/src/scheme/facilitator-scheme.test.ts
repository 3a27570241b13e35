import { expect, test } from "vitest";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import { createTransactionScheme, type FacilitatorScheme } from "./facilitator-scheme.js";
import { accept, refuse } from "./reading.js";

const chain = { network: "test:1", feePayer: "the fee payer", health: async () => ({ ok: false, problem: "no gas" }) };

/** A scheme whose payload is the identity of a payment; each is accepted. */
function scheme(): FacilitatorScheme {
  return createTransactionScheme({
    scheme: "exact",
    chain,
    rememberedMs: 5000,
    now: () => 0,
    prose: { unsent: "not sent", pending: "may come", dropped: "too late" },
    read({ paymentPayload }) {
      const { id: identity } = paymentPayload.payload;
      if (typeof identity !== "string") return refuse("invalid_payload", "there is no id");
      return accept({
        identity,
        payer: "the payer",
        amount: 5n,
        verify: async () => undefined,
        findEarlier: async () => ({ transaction: `of ${identity}`, outcome: "pending" }),
        submit: async () => `of ${identity}`,
        outcomeOf: async () => "confirmed",
      });
    },
  });
}

function request(payload: Record<string, unknown>): FacilitatorRequest {
  const requirements = {
    scheme: "exact",
    network: "test:1",
    asset: "token",
    amount: "5",
    payTo: "the payee",
    maxTimeoutSeconds: 60,
    extra: {},
  };
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: requirements, payload },
    paymentRequirements: requirements,
  };
}

test("a transaction scheme names its fee payer to offers and among the signers, and tells the health of its chain", async () => {
  const made = scheme();
  expect(made).toMatchObject({
    scheme: "exact",
    network: "test:1",
    extra: { feePayer: "the fee payer" },
    signers: ["the fee payer"],
  });
  expect([made, made.extra, made.signers].every(Object.isFrozen)).toBe(true);
  expect(await made.health()).toEqual({ ok: false, problem: "no gas" });
});

test("a transaction scheme verifies a payment, and settles it once", async () => {
  const made = scheme();
  expect(await made.verify(request({ id: "a" }))).toEqual({ isValid: true, payer: "the payer" });
  const settled = { success: true, payer: "the payer", transaction: "of a", network: "test:1", amount: "5" };
  expect(await made.settle(request({ id: "a" }))).toEqual(settled);
  expect(await made.settle(request({ id: "a" }))).toMatchObject({ errorReason: "payment_already_settled" });
  expect(await made.settle(request({ id: "b" }))).toMatchObject({ success: true, transaction: "of b" });
});

test("a transaction scheme refuses a payment that cannot be read", async () => {
  const made = scheme();
  expect(await made.verify(request({}))).toMatchObject({ isValid: false, invalidReason: "invalid_payload" });
  expect(await made.settle(request({}))).toMatchObject({ success: false, errorReason: "invalid_payload" });
});
