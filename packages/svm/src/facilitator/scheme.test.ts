import type { FacilitatorRequest, SettlementResponse } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  STRANGER,
  TOKEN,
  TOKEN_2022,
  USDC,
} from "../payments.fixture.js";
import type { SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
import { createExactSvmScheme } from "./scheme.js";

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

/** A chain with these responses; by default every call succeeds. */
function chain(responses: Partial<SvmChain> = {}): SvmChain & { readonly submitted: () => number } {
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
    ...responses,
    submitted: () => submitted,
  };
}

const fail = async (): Promise<never> => {
  throw new RangeError("the node is gone");
};

function settle(responses: Partial<SvmChain>): Promise<SettlementResponse> {
  return createExactSvmScheme({ chain: chain(responses) }).settle(REQUEST);
}

describe("a chain that does not respond", () => {
  test.each<[question: string, responses: Partial<SvmChain>, reason: string, transaction: string]>([
    ["the accounts", { readAccounts: fail }, "unexpected_settle_error", ""],
    ["a trial", { simulate: fail }, "unexpected_settle_error", ""],
    ["the signature", { signatureOf: fail }, "unexpected_settle_error", ""],
    ["an earlier settlement", { statusOf: fail }, "unexpected_settle_error", ""],
    ["a broadcast", { submit: fail }, "unexpected_settle_error", ""],
    ["the outcome", { outcomeOf: fail }, "settlement_pending", SIGNATURE],
  ])(
    "a scheme settles nothing and reports the known state, when the chain cannot be asked for %s",
    async (_, responses, errorReason, transaction) => {
      expect(await settle(responses)).toMatchObject({ success: false, errorReason, transaction, network: NETWORK });
    },
  );

  test("a scheme finds its earlier settlement, even if the chain fails in everything else", async () => {
    const responses: Partial<SvmChain> = { readAccounts: fail, statusOf: async () => "confirmed" };
    expect(await settle(responses)).toMatchObject({ errorReason: "payment_already_settled", transaction: SIGNATURE });
  });
});

test("a scheme answers payment_already_settled for a payment that now fails and was settled before", async () => {
  const simulate = async () => ({ ok: false, problem: "AlreadyProcessed" }) as const;
  const made = await settle({ simulate, statusOf: async () => "confirmed" });
  expect(made).toMatchObject({ errorReason: "payment_already_settled", transaction: SIGNATURE });
  expect(await settle({ simulate })).toMatchObject({ errorReason: "invalid_transaction_state", transaction: "" });
});

describe("accounts that do not fit a payment", () => {
  const [payer, payee, mint] = ACCOUNTS;
  const other: SvmAccount = { owner: TOKEN_2022.toBase58(), data: payer?.data ?? Buffer.alloc(0) };
  const ofStranger = held(STRANGER.publicKey.toBuffer(), 5000n);
  test.each<[what: string, accounts: (SvmAccount | undefined)[], reason: string]>([
    ["no mint", [payer, payee, undefined], "invalid_exact_svm_payload_mint_mismatch"],
    ["a token account for a mint", [payer, payee, payer], "invalid_exact_svm_payload_mint_mismatch"],
    ["a mint for an account", [payer, mint, mint], "invalid_payment_requirements"],
    ["no account of the payee", [payer, undefined, mint], "invalid_payment_requirements"],
    ["an account that belongs to another owner now", [payer, ofStranger, mint], "invalid_payment_requirements"],
    ["an account of another program", [other, payee, mint], "insufficient_funds"],
    ["an empty account", [{ owner: TOKEN.toBase58(), data: Buffer.alloc(0) }, payee, mint], "insufficient_funds"],
    ["fewer accounts than were asked for", [payer], "invalid_exact_svm_payload_mint_mismatch"],
  ])("a payment is refused with %s", async (_, accounts, invalidReason) => {
    const scheme = createExactSvmScheme({ chain: chain({ readAccounts: async () => accounts }) });
    expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: false, invalidReason });
  });
});

test("the priority fee is rounded up to a lamport, as the chain charges it", async () => {
  const verify = (maxPriorityFeeLamports: number) =>
    createExactSvmScheme({ chain: chain(), maxPriorityFeeLamports }).verify(REQUEST);
  expect(await verify(1)).toMatchObject({ isValid: true });
  const reason = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high";
  expect(await verify(0)).toMatchObject({ isValid: false, invalidReason: reason });
});

test("a scheme refuses a dropped transaction from then on, and does not send it again", async () => {
  const dropped = chain({ outcomeOf: async () => "dropped" });
  const scheme = createExactSvmScheme({ chain: dropped });
  for (const _ of [1, 2])
    expect(await scheme.settle(REQUEST)).toMatchObject({ errorReason: "invalid_transaction_state" });
  expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: false, invalidReason: "invalid_transaction_state" });
  expect(dropped.submitted()).toBe(1);
});

test("a scheme forgets a payment an hour after the last request for it", async () => {
  let nowMs = 0;
  const scheme = createExactSvmScheme({ chain: chain(), now: () => nowMs });
  const other = { ...REQUEST.paymentPayload, payload: payload({ blockhash: STRANGER.publicKey.toBase58() }) };
  await scheme.settle(REQUEST);
  nowMs = 3_599_999;
  expect(await scheme.settle({ ...REQUEST, paymentPayload: other })).toMatchObject({ success: true });
  expect(await scheme.verify(REQUEST)).toMatchObject({ invalidReason: "payment_already_settled" });
  nowMs = 3_600_000;
  await scheme.settle({ ...REQUEST, paymentPayload: { ...other, payload: payload({ blockhash: USDC.toBase58() }) } });
  expect(await scheme.verify(REQUEST)).toMatchObject({ isValid: true });
});

test("a scheme reports one success and sends one transaction, for any outcomes and any number of concurrent requests", async () => {
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
