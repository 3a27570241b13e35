import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accept, type Refusal, refuse } from "../scheme/reading.js";
import {
  createTransactionDesk,
  type PayerTransaction,
  type PayerTransactionOutcome,
  type TransactionDesk,
} from "./settlement-desk.js";

const OUTCOMES: readonly PayerTransactionOutcome[] = ["confirmed", "failed", "pending", "dropped", "forgotten"];
const POOR = refuse("insufficient_funds", "the payer has less than the amount");
const NODE_GONE = refuse("unexpected_verify_error", "the node is gone");

function desk(now: () => number = () => 0): TransactionDesk {
  const prose = { unsent: "not sent", pending: "may come", dropped: "too late" };
  return createTransactionDesk({ network: "test:1", rememberedMs: 5000, now, prose });
}

/** The chain's responses about a payment. `gone`: the chain cannot be asked. */
interface Said {
  readonly refusal?: Refusal;
  readonly earlier?: PayerTransactionOutcome | "gone";
  readonly outcome?: () => PayerTransactionOutcome | "gone";
}

/** A payment on a chain with these responses. By default all is well. */
function payment(said: Said = {}, identity = "one"): PayerTransaction & { readonly submitted: () => number } {
  let submitted = 0;
  const transaction = `the transaction of ${identity}`;
  return {
    identity,
    payer: "the payer",
    amount: 5n,
    verify: async () => said.refusal,
    findEarlier: async () => ({ transaction, outcome: reach(said.earlier ?? "pending") }),
    submit: async () => {
      submitted++;
      return transaction;
    },
    outcomeOf: async () => reach(said.outcome?.() ?? "confirmed"),
    submitted: () => submitted,
  };
}

function reach(outcome: PayerTransactionOutcome | "gone"): PayerTransactionOutcome {
  if (outcome === "gone") throw new RangeError("the node is gone");
  return outcome;
}

test("a request that cannot be read is refused without a payer", async () => {
  const [verified, settled] = await Promise.all([desk().verify(POOR), desk().settle(POOR)]);
  expect(verified).toEqual({ isValid: false, invalidReason: POOR.reason, invalidMessage: POOR.message });
  expect(settled).toEqual({
    success: false,
    errorReason: POOR.reason,
    errorMessage: POOR.message,
    transaction: "",
    network: "test:1",
  });
});

describe("before a transaction is sent", () => {
  test.each<[earlier: PayerTransactionOutcome | "gone", refusal: Refusal | undefined, reason: string, named: boolean]>([
    ["confirmed", undefined, "payment_already_settled", true],
    ["confirmed", POOR, "payment_already_settled", true],
    ["failed", undefined, "invalid_transaction_state", true],
    ["forgotten", POOR, "unexpected_settle_error", false],
    ["pending", POOR, "insufficient_funds", false],
    ["dropped", POOR, "insufficient_funds", false],
    ["pending", NODE_GONE, "unexpected_settle_error", false],
    ["gone", POOR, "unexpected_settle_error", false],
    ["gone", undefined, "unexpected_settle_error", false],
  ])(
    "a transaction that is %s already, with the refusal %j, is refused as %s",
    async (earlier, refusal, errorReason, named) => {
      const asked = payment({ earlier, ...(refusal && { refusal }) });
      const transaction = named ? "the transaction of one" : "";
      expect(await desk().settle(accept(asked))).toMatchObject({ success: false, errorReason, transaction });
      expect(asked.submitted()).toBe(0);
    },
  );
});

describe("after a transaction is sent", () => {
  test.each<[outcome: PayerTransactionOutcome | "gone", first: string | undefined, later: string]>([
    ["confirmed", undefined, "payment_already_settled"],
    ["failed", "invalid_transaction_state", "invalid_transaction_state"],
    ["dropped", "invalid_transaction_state", "invalid_transaction_state"],
    ["pending", "settlement_pending", "settlement_pending"],
    ["forgotten", "settlement_pending", "settlement_pending"],
    ["gone", "settlement_pending", "settlement_pending"],
  ])(
    "a transaction that is %s is reported as %s to the first caller and %s to others",
    async (outcome, first, later) => {
      const [asked, own] = [payment({ outcome: () => outcome }), desk()];
      const responses = [await own.settle(accept(asked)), await own.settle(accept(asked))];
      expect(responses.map(({ errorReason }) => errorReason)).toEqual([first, later]);
      expect(responses.map(({ transaction }) => transaction)).toEqual(Array(2).fill("the transaction of one"));
      expect(await own.verify(accept(asked))).toMatchObject({ isValid: false, invalidReason: later });
      expect(asked.submitted()).toBe(1);
    },
  );

  test("a transaction is forgotten after the time", async () => {
    let nowMs = 0;
    const own = desk(() => nowMs);
    await own.settle(accept(payment()));
    nowMs = 5000;
    await own.settle(accept(payment({}, "two")));
    expect(await own.verify(accept(payment()))).toEqual({ isValid: true, payer: "the payer" });
    expect(await own.verify(accept(payment({}, "two")))).toMatchObject({ isValid: false });
  });
});

test("a desk reports a success once and sends one transaction, for all outcomes and any number of callers", async () => {
  const outcomes = fc.array(fc.constantFrom(...OUTCOMES, "gone" as const), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(outcomes, fc.array(fc.nat(3), { maxLength: 6 }), async (said, waves) => {
      let at = 0;
      const asked = payment({ outcome: () => said[at++ % said.length] ?? "pending" });
      const own = desk();
      const successes: boolean[] = [];
      for (const count of waves) {
        const responses = await Promise.all(Array.from({ length: count }, () => own.settle(accept(asked))));
        successes.push(...responses.map(({ success }) => success).filter(Boolean));
      }
      expect(successes.length).toBeLessThanOrEqual(1);
      expect(asked.submitted()).toBeLessThanOrEqual(1);
    }),
  );
});
