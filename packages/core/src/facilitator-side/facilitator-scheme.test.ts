import { describe, expect, test } from "vitest";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import { accept, fieldsOf, refuse } from "../scheme/reading.js";
import {
  createExactScheme,
  createTransactionScheme,
  type ExactFamily,
  type ExactTransaction,
  type FacilitatorScheme,
} from "./facilitator-scheme.js";

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

describe("the exact scheme of a family", () => {
  const REASONS = {
    asset: "invalid_exact_avm_asset_mismatch",
    payTo: "invalid_exact_avm_receiver_mismatch",
    amount: "invalid_exact_avm_amount_mismatch",
    feePayer: "invalid_exact_avm_invalid_fee_payer",
    fee: "invalid_exact_avm_fee_too_high",
  } as const;

  const sound: ExactTransaction = {
    identity: "a",
    payer: "the payer",
    amount: 5n,
    check: async () => undefined,
    simulate: async () => ({ ok: true }),
    findEarlier: async () => ({ transaction: "of a", outcome: "pending" }),
    submit: async () => "of a",
    outcomeOf: async () => "confirmed",
  };

  /** A family whose payload is its fee. */
  function familyOf(change: Partial<ExactTransaction> = {}): ExactFamily<string | undefined, bigint, typeof chain> {
    return {
      chainExpected: "a chain",
      feeOption: { name: "maxFee", range: { least: 0, most: 100, usual: 10 } },
      rememberedMs: 5000,
      prose: { unsent: "not sent", pending: "may come", dropped: "too late" },
      isSameNetwork: (a, b) => a === b || (a === "test:one" && b === "test:1"),
      reasons: REASONS,
      readTerms: ({ extra }) => accept(fieldsOf(extra)["feePayer"] as string | undefined),
      feePayerOf: (feePayer) => feePayer,
      readPayment: (payload) => {
        const { fee } = fieldsOf(payload);
        return typeof fee === "number" ? accept(BigInt(fee)) : refuse("invalid_payload", "there is no fee");
      },
      feeOf: (fee) => fee,
      feeMessage: (most) => `the fee is above ${most}`,
      toTransaction: () => ({ ...sound, ...change }),
    };
  }

  const exact = (options: object = {}, change: Partial<ExactTransaction> = {}) =>
    createExactScheme({ chain, ...options }, familyOf(change));

  /** A request with other requirements, accepted alike, or other fields. */
  function ask(terms: object = {}, change: { readonly accepted?: object; readonly payload?: object } = {}) {
    const usual = request({}).paymentRequirements;
    const requirements = { ...usual, ...terms };
    const { accepted = {}, payload = { fee: 10 } } = change;
    return {
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: { ...requirements, ...accepted }, payload },
      paymentRequirements: requirements,
    } as FacilitatorRequest;
  }

  test("an exact scheme verifies and settles a payment whose terms agree, in any spelling of the network", async () => {
    expect(await exact().verify(ask())).toEqual({ isValid: true, payer: "the payer" });
    expect(await exact().verify(ask({}, { accepted: { network: "test:one" } }))).toMatchObject({ isValid: true });
    expect(await exact().verify(ask({ extra: { feePayer: "the fee payer" } }))).toMatchObject({ isValid: true });
    expect(await exact().settle(ask())).toMatchObject({ success: true, transaction: "of a", amount: "5" });
  });

  test.each<[what: string, asked: unknown, reason: string]>([
    ["no object", undefined, "invalid_x402_version"],
    ["another version", { ...ask(), x402Version: 1 }, "invalid_x402_version"],
    ["another scheme", ask({ scheme: "upto" }), "unsupported_scheme"],
    ["another network", ask({ network: "test:2" }), "invalid_network"],
    ["no timeout", ask({ maxTimeoutSeconds: 0 }), "invalid_payment_requirements"],
    ["another fee payer", ask({ extra: { feePayer: "x" } }), REASONS.feePayer],
    ["another accepted scheme", ask({}, { accepted: { scheme: "upto" } }), "invalid_scheme"],
    ["another accepted network", ask({}, { accepted: { network: "test:2" } }), "invalid_network"],
    ["another accepted asset", ask({}, { accepted: { asset: "x" } }), REASONS.asset],
    ["another accepted payTo", ask({}, { accepted: { payTo: "x" } }), REASONS.payTo],
    ["another accepted amount", ask({}, { accepted: { amount: "4" } }), REASONS.amount],
    ["an unreadable payload", ask({}, { payload: {} }), "invalid_payload"],
    ["a fee above the option", ask({}, { payload: { fee: 11 } }), REASONS.fee],
  ])("an exact scheme refuses a request with %s", async (_, asked, reason) => {
    const refused = await exact().verify(asked as FacilitatorRequest);
    expect(refused).toMatchObject({ isValid: false, invalidReason: reason });
    expect(await exact().settle(asked as FacilitatorRequest)).toMatchObject({ success: false, errorReason: reason });
  });

  test.each<[what: string, change: Partial<ExactTransaction>, reason: string]>([
    ["a refused account", { check: async () => refuse("insufficient_funds", "too little") }, "insufficient_funds"],
    ["a failed simulation", { simulate: async () => ({ ok: false, problem: "x" }) }, "invalid_transaction_state"],
    ["a chain that cannot be asked", { check: () => Promise.reject(new RangeError("x")) }, "unexpected_verify_error"],
  ])("an exact scheme finds a payment invalid with %s", async (_, change, reason) => {
    expect(await exact({}, change).verify(ask())).toMatchObject({ isValid: false, invalidReason: reason });
  });

  test("createExactScheme checks its options, the fee of its family among them", async () => {
    expect(await exact({ maxFee: 11 }).verify(ask({}, { payload: { fee: 11 } }))).toMatchObject({ isValid: true });
    for (const [options, path] of [
      [{ chain: null }, "options.chain"],
      [{ maxFee: 101 }, "options.maxFee"],
      [{ now: 1 }, "options.now"],
      [{ fee: 1 }, "options.fee"],
    ] as const) {
      expect(() => exact(options)).toThrow(path);
    }
  });
});
