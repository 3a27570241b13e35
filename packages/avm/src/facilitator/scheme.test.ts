import type { FacilitatorRequest, SettlementResponse } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { algos, FEE_PAYER, NETWORK, payload, ROUND, requirements, transfer } from "../payments.fixture.js";
import type { AvmChain, TransactionOutcome } from "./chain.js";
import { createExactAvmScheme } from "./scheme.js";

const PAYING = transfer();

const REQUEST: FacilitatorRequest = {
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: requirements(), payload: payload({ transactions: [algos(), PAYING] }) },
  paymentRequirements: requirements(),
};

const ID = PAYING.txID();

/** A chain with these responses; by default every call succeeds. */
function chain(responses: Partial<AvmChain> = {}): AvmChain & { readonly submitted: () => number } {
  let submitted = 0;
  return {
    network: NETWORK,
    feePayer: FEE_PAYER.addr.toString(),
    holdingOf: async () => ({ amount: 5000n }),
    simulate: async () => ({ ok: true }),
    statusOf: async () => "pending",
    submit: async () => {
      submitted++;
    },
    outcomeOf: async () => "confirmed",
    health: async () => ({ ok: true }),
    ...responses,
    submitted: () => submitted,
  };
}

const fail = async (): Promise<never> => {
  throw new RangeError("the node is gone");
};

function settle(responses: Partial<AvmChain>): Promise<SettlementResponse> {
  return createExactAvmScheme({ chain: chain(responses) }).settle(REQUEST);
}

describe("a chain that does not respond", () => {
  test.each<[question: string, responses: Partial<AvmChain>, reason: string, transaction: string]>([
    ["the holdings", { holdingOf: fail }, "unexpected_settle_error", ""],
    ["a trial", { simulate: fail }, "unexpected_settle_error", ""],
    ["an earlier settlement", { statusOf: fail }, "unexpected_settle_error", ""],
    ["a broadcast", { submit: fail }, "unexpected_settle_error", ""],
    ["the outcome", { outcomeOf: fail }, "settlement_pending", ID],
  ])(
    "a scheme settles nothing and reports the known state, when the chain cannot be asked for %s",
    async (_, responses, errorReason, transaction) => {
      expect(await settle(responses)).toMatchObject({ success: false, errorReason, transaction, network: NETWORK });
    },
  );

  test("a scheme finds its earlier settlement, even if the chain fails in everything else", async () => {
    const responses: Partial<AvmChain> = { holdingOf: fail, statusOf: async () => "confirmed" };
    expect(await settle(responses)).toMatchObject({ errorReason: "payment_already_settled", transaction: ID });
  });
});

test("a scheme distinguishes a payer with too little from one that has not opted in", async () => {
  expect(await settle({ holdingOf: async () => undefined })).toMatchObject({
    errorReason: "invalid_payment_requirements",
  });
  expect(await settle({ holdingOf: async () => ({ amount: 999n }) })).toMatchObject({
    errorReason: "insufficient_funds",
  });
});

test("a scheme does not fail a payment that is older than the node remembers", async () => {
  expect(await settle({ statusOf: async () => "forgotten" })).toMatchObject({
    errorReason: "unexpected_settle_error",
    transaction: "",
  });
  expect(await settle({ outcomeOf: async () => "forgotten" })).toMatchObject({
    errorReason: "settlement_pending",
    transaction: ID,
  });
});

test("a scheme answers payment_already_settled for a payment that now fails and was settled before", async () => {
  const simulate = async () => ({ ok: false, problem: "transaction already in ledger" }) as const;
  const made = await settle({ simulate, statusOf: async () => "confirmed" });
  expect(made).toMatchObject({ errorReason: "payment_already_settled", transaction: ID });
  expect(await settle({ simulate })).toMatchObject({ errorReason: "invalid_transaction_state", transaction: "" });
});

test("a scheme refuses a dropped transaction from then on, and does not send it again", async () => {
  const dropped = chain({ outcomeOf: async () => "dropped" });
  const scheme = createExactAvmScheme({ chain: dropped });
  for (const _ of [1, 2])
    expect(await scheme.settle(REQUEST)).toMatchObject({ errorReason: "invalid_transaction_state" });
  expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: false, invalidReason: "invalid_transaction_state" });
  expect(dropped.submitted()).toBe(1);
});

test("a scheme forgets a payment two hours after the last request for it", async () => {
  let nowMs = 0;
  const scheme = createExactAvmScheme({ chain: chain(), now: () => nowMs });
  const settleOther = (firstValid: number) => {
    const other = payload({ transactions: [algos({ firstValid }), transfer({ firstValid })] });
    return scheme.settle({ ...REQUEST, paymentPayload: { ...REQUEST.paymentPayload, payload: other } });
  };
  await scheme.settle(REQUEST);
  nowMs = 7_199_999;
  expect(await settleOther(ROUND + 1)).toMatchObject({ success: true });
  expect(await scheme.verify(REQUEST)).toMatchObject({ invalidReason: "payment_already_settled" });
  nowMs = 7_200_000;
  expect(await settleOther(ROUND + 2)).toMatchObject({ success: true });
  expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: true });
});

test("a scheme reports one success and sends one transaction, for any outcomes and any number of concurrent requests", async () => {
  const outcome = fc.constantFrom<TransactionOutcome | "gone">("confirmed", "forgotten", "pending", "dropped", "gone");
  await fc.assert(
    fc.asyncProperty(
      fc.array(outcome, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(3), { maxLength: 6 }),
      async (said, waves) => {
        let at = 0;
        const outcomeOf = async () => {
          const next = said[at++ % said.length] ?? "pending";
          return next === "gone" ? fail() : next;
        };
        const watched = chain({ outcomeOf });
        const scheme = createExactAvmScheme({ chain: watched });
        const responses: SettlementResponse[] = [];
        for (const count of waves) {
          responses.push(...(await Promise.all(Array.from({ length: count }, () => scheme.settle(REQUEST)))));
        }
        expect(responses.filter(({ success }) => success).length).toBeLessThanOrEqual(1);
        expect(watched.submitted()).toBeLessThanOrEqual(1);
      },
    ),
  );
});
