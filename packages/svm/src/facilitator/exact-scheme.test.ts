import type { FacilitatorRequest, SettlementResponse } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FEE_PAYER, NETWORK, PAY_TO, PAYER, payload, requirements, TOKEN, USDC } from "../transactions.fixture.js";
import type { SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
import { createExactSvmScheme } from "./exact-scheme.js";

const REQUEST: FacilitatorRequest = {
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: requirements(), payload: payload() },
  paymentRequirements: requirements(),
};

const SIGNATURE = "the fee payer's signature";

function held(owner: Uint8Array, amount: bigint): SvmAccount {
  const data = Buffer.alloc(165);
  USDC.toBuffer().copy(data, 0);
  data.set(owner, 32);
  data.writeBigUInt64LE(amount, 64);
  return { owner: TOKEN.toBase58(), data };
}

const MINT: SvmAccount = { owner: TOKEN.toBase58(), data: Buffer.alloc(82).fill(6, 44, 45) };
const ACCOUNTS = [held(PAYER.publicKey.toBuffer(), 5000n), held(PAY_TO.toBuffer(), 0n), MINT];

/** A chain by its answers; usually all is well. */
function chain(answers: Partial<SvmChain> = {}): SvmChain & { readonly submitted: () => number } {
  let submitted = 0;
  return {
    network: NETWORK,
    feePayer: FEE_PAYER.publicKey.toBase58(),
    readAccounts: async () => ACCOUNTS,
    simulate: async () => ({ ok: true }),
    signatureOf: async () => SIGNATURE,
    statusOf: async () => "pending",
    submit: async () => {
      submitted++;
      return SIGNATURE;
    },
    outcomeOf: async () => "confirmed",
    health: async () => ({ ok: true }),
    ...answers,
    submitted: () => submitted,
  };
}

const fail = async (): Promise<never> => {
  throw new RangeError("the node is gone");
};

function settle(answers: Partial<SvmChain>): Promise<SettlementResponse> {
  return createExactSvmScheme({ chain: chain(answers) }).settle(REQUEST);
}

describe("a chain that cannot be asked", () => {
  test.each<[question: string, answers: Partial<SvmChain>, reason: string, transaction: string]>([
    ["accounts", { readAccounts: fail }, "unexpected_settle_error", ""],
    ["what would happen", { simulate: fail }, "unexpected_settle_error", ""],
    ["the signature", { signatureOf: fail }, "unexpected_settle_error", ""],
    ["whether it was made before", { statusOf: fail }, "unexpected_settle_error", ""],
    ["to send", { submit: fail }, "unexpected_settle_error", ""],
    ["what came of it", { outcomeOf: fail }, "settlement_pending", SIGNATURE],
  ])("for %s settles nothing, and says what is known", async (_, answers, errorReason, transaction) => {
    expect(await settle(answers)).toMatchObject({ success: false, errorReason, transaction, network: NETWORK });
  });

  test("is no reason to refuse a payment that it had made before", async () => {
    const answers: Partial<SvmChain> = { readAccounts: fail, statusOf: async () => "confirmed" };
    expect(await settle(answers)).toMatchObject({ errorReason: "payment_already_settled", transaction: SIGNATURE });
  });
});

test("a payment that is refused is not refused if it was made before", async () => {
  const simulate = async () => ({ ok: false, problem: "AlreadyProcessed" }) as const;
  const made = await settle({ simulate, statusOf: async () => "confirmed" });
  expect(made).toMatchObject({ errorReason: "payment_already_settled", transaction: SIGNATURE });
  expect(await settle({ simulate })).toMatchObject({ errorReason: "invalid_transaction_state", transaction: "" });
});

test("a transaction that was dropped is told so from then on, and not sent again", async () => {
  const dropped = chain({ outcomeOf: async () => "dropped" });
  const scheme = createExactSvmScheme({ chain: dropped });
  for (const _ of [1, 2])
    expect(await scheme.settle(REQUEST)).toMatchObject({ errorReason: "invalid_transaction_state" });
  expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: false, invalidReason: "invalid_transaction_state" });
  expect(dropped.submitted()).toBe(1);
});

test("whatever the chain says and however often it is asked at once, a success is said once and one transaction is sent", async () => {
  const outcome = fc.constantFrom<TransactionOutcome | "gone">("confirmed", "failed", "pending", "dropped", "gone");
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
        const scheme = createExactSvmScheme({ chain: watched });
        const answers: SettlementResponse[] = [];
        for (const count of waves) {
          answers.push(...(await Promise.all(Array.from({ length: count }, () => scheme.settle(REQUEST)))));
        }
        expect(answers.filter(({ success }) => success).length).toBeLessThanOrEqual(1);
        expect(watched.submitted()).toBeLessThanOrEqual(1);
      },
    ),
  );
});
