/**
 * Our facilitator over JSON-RPC with the real token programs: the balances, and that each payment succeeds once.
 */
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  FEE_PAYER,
  keypair,
  NETWORK,
  ordinary,
  PAY_TO,
  PAYER,
  type Plan,
  PublicKey,
  payload,
  requirements,
  TOKEN_2022,
  tokenAccount,
} from "../../packages/svm/src/payments.fixture.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";

let local: LocalSvm;
let scheme: FacilitatorScheme;

beforeEach(async () => {
  local = await startLocalSvm(FEE_PAYER.publicKey);
  local.fund(PAYER.publicKey, 5_000n);
  local.fund(PAY_TO, 0n);
  scheme = createScheme();
});

afterEach(() => local.close());

function createScheme(): FacilitatorScheme {
  const options = {
    rpcUrl: local.rpcUrl,
    privateKey: FEE_PAYER.secretKey,
    pollingIntervalMs: 10,
    // Ends only what the chain leaves open: it is asked once in any case.
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  };
  return createExactSvmScheme({ chain: createRpcSvmChain({ network: NETWORK, ...options }) });
}

/** A payment that would succeed on the local chain, with the given changes. */
function request(plan: Partial<Plan> = {}, offer: PaymentRequirements = requirements()): FacilitatorRequest {
  const paid = {
    x402Version: 2,
    accepted: offer,
    payload: payload({ blockhash: local.blockhash(), ...plan }),
  } as const;
  return { x402Version: 2, paymentPayload: paid, paymentRequirements: offer };
}

describe("a payment", () => {
  test("the facilitator verifies without moving anything, and settles the exact amount at the fee payer's cost", async () => {
    const lamports = local.lamportsOf(FEE_PAYER.publicKey);
    const asked = request();
    expect(await scheme.verify(asked)).toEqual({ isValid: true, payer: PAYER.publicKey.toBase58() });
    expect(local.balanceOf(PAY_TO)).toBe(0n);
    const settled = await scheme.settle(asked);
    expect(settled).toMatchObject({
      success: true,
      payer: PAYER.publicKey.toBase58(),
      network: NETWORK,
      amount: "1000",
    });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
    expect(local.balanceOf(PAYER.publicKey)).toBe(4000n);
    // Two signatures, and a priority fee of a fiftieth of a lamport, rounded up.
    expect(lamports - local.lamportsOf(FEE_PAYER.publicKey)).toBe(10_001n);
  });

  test("the facilitator settles a payment in a token of Token-2022", async () => {
    const mint = keypair(20).publicKey;
    local.createMint(mint, TOKEN_2022);
    local.fund(PAYER.publicKey, 5_000n, mint, TOKEN_2022);
    local.fund(PAY_TO, 1n, mint, TOKEN_2022);
    const asked = request(
      { instructions: ordinary({ program: TOKEN_2022, mint }) },
      requirements({ asset: mint.toBase58() }),
    );
    expect(await scheme.settle(asked)).toMatchObject({ success: true });
    expect(local.balanceOf(PAY_TO, mint, TOKEN_2022)).toBe(1001n);
  });

  test("the facilitator settles a payment in a legacy message", async () => {
    expect(await scheme.settle(request({ version: "legacy" }))).toMatchObject({ success: true });
  });
});

describe("a payment succeeds once", () => {
  const repeated = { success: false, errorReason: "payment_already_settled" };

  test("a payment succeeds once when it is settled again", async () => {
    const asked = request();
    const { transaction } = await scheme.settle(asked);
    expect(await scheme.settle(asked)).toMatchObject({ ...repeated, transaction });
    expect(await scheme.verify(asked)).toMatchObject({ isValid: false, invalidReason: "payment_already_settled" });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
  });

  test("a payment succeeds once when it is settled twenty times concurrently", async () => {
    const asked = request();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => scheme.settle(asked)));
    expect(outcomes.filter(({ success }) => success)).toHaveLength(1);
    expect(outcomes.filter(({ errorReason }) => errorReason === repeated.errorReason)).toHaveLength(19);
    expect(new Set(outcomes.map(({ transaction }) => transaction)).size).toBe(1);
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
  });

  test("a payment succeeds once when the payer signs the message again, or fills in the fee payer's signature", async () => {
    const asked = request();
    const { transaction } = await scheme.settle(asked);
    const wire = Buffer.from(String((asked.paymentPayload.payload as { transaction: string }).transaction), "base64");
    wire.fill(7, 1, 65);
    const other = { ...asked.paymentPayload, payload: { transaction: wire.toString("base64") } };
    expect(await scheme.settle({ ...asked, paymentPayload: other })).toMatchObject({ ...repeated, transaction });
  });

  test("a payment succeeds once after a restart, even when the blockhash has expired", async () => {
    const asked = request();
    const { transaction } = await scheme.settle(asked);
    expect(await createScheme().settle(asked)).toMatchObject({ ...repeated, transaction });
    local.expire();
    expect(await createScheme().settle(asked)).toMatchObject({ ...repeated, transaction });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
  });
});

describe("a transaction that is not on chain yet", () => {
  test("a transaction that is not on chain is pending with its signature, and succeeds once it is on chain", async () => {
    local.network.handling = "keep";
    const asked = request();
    const pending = await scheme.settle(asked);
    expect(pending).toMatchObject({ success: false, errorReason: "settlement_pending" });
    expect(pending.transaction).not.toBe("");
    expect(await scheme.verify(asked)).toMatchObject({ invalidReason: "settlement_pending" });
    local.land();
    expect(await scheme.settle(asked)).toMatchObject({ success: true, transaction: pending.transaction });
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "payment_already_settled" });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
  });

  test("a transaction is settled even if the node's response is lost", async () => {
    local.network.handling = "lose-answer";
    expect(await scheme.settle(request())).toMatchObject({ success: true });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
  });

  test("a transaction is refused once its blockhash has expired, and never before", async () => {
    local.network.handling = "forget";
    const asked = request();
    const { transaction } = await scheme.settle(asked);
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "settlement_pending", transaction });
    local.expire();
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "invalid_transaction_state", transaction });
    local.network.handling = "carry-out";
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "invalid_transaction_state", transaction });
    expect(local.balanceOf(PAY_TO)).toBe(0n);
  });

  test("a transaction is refused with its signature when it fails on chain", async () => {
    local.network.handling = "keep";
    const asked = request();
    const { transaction } = await scheme.settle(asked);
    local.fund(PAYER.publicKey, 0n);
    local.land();
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "invalid_transaction_state", transaction });
    expect(await createScheme().settle(asked)).toMatchObject({ errorReason: "invalid_transaction_state", transaction });
    expect(local.balanceOf(PAY_TO)).toBe(0n);
  });
});

describe("a payment that the chain would not carry out", () => {
  const settleAnd = async (reason: string, asked: FacilitatorRequest) => {
    expect(await scheme.verify(asked)).toMatchObject({ isValid: false, invalidReason: reason });
    expect(await scheme.settle(asked)).toMatchObject({ success: false, errorReason: reason, transaction: "" });
    expect(local.asked).not.toContain("sendTransaction");
  };

  test("the facilitator refuses a payer with too little money", async () => {
    local.fund(PAYER.publicKey, 999n);
    await settleAnd("insufficient_funds", request());
  });

  test("the facilitator refuses a payer without a token account", async () => {
    const instructions = ordinary({ source: keypair(30).publicKey });
    await settleAnd("insufficient_funds", request({ instructions }));
  });

  test("the facilitator refuses a payee without a token account", async () => {
    const payTo = keypair(31).publicKey;
    const destination = tokenAccount(payTo);
    await settleAnd(
      "invalid_payment_requirements",
      request({ instructions: ordinary({ destination }) }, requirements({ payTo: payTo.toBase58() })),
    );
  });

  test("the facilitator refuses an expired blockhash", async () => {
    const asked = request();
    local.expire();
    await settleAnd("invalid_transaction_state", asked);
  });

  test("the facilitator refuses an authority that may not move the payer's tokens", async () => {
    local.fund(keypair(32).publicKey, 5_000n);
    const source = tokenAccount(keypair(32).publicKey);
    await settleAnd("invalid_transaction_state", request({ instructions: ordinary({ source }) }));
  });

  test("the facilitator refuses an asset that is not a mint", async () => {
    const mint = keypair(33).publicKey;
    const asked = request({ instructions: ordinary({ mint }) }, requirements({ asset: mint.toBase58() }));
    await settleAnd("invalid_exact_svm_payload_mint_mismatch", asked);
  });

  test("the facilitator refuses wrong decimals of an unknown token", async () => {
    const mint = keypair(34).publicKey;
    local.createMint(mint);
    const asked = request({ instructions: ordinary({ mint, decimals: 9 }) }, requirements({ asset: mint.toBase58() }));
    await settleAnd("invalid_exact_svm_payload_amount_mismatch", asked);
  });

  test("the facilitator refuses a token with a fee on transfers", async () => {
    const mint = keypair(35).publicKey;
    const fee = Buffer.alloc(4 + 108);
    fee.writeUInt16LE(1, 0);
    fee.writeUInt16LE(108, 2);
    fee.writeUInt16LE(50, 4 + 106);
    local.createMint(mint, TOKEN_2022, fee);
    local.fund(PAYER.publicKey, 5_000n, mint, TOKEN_2022);
    local.fund(PAY_TO, 0n, mint, TOKEN_2022);
    const asked = request(
      { instructions: ordinary({ program: TOKEN_2022, mint }) },
      requirements({ asset: mint.toBase58() }),
    );
    await settleAnd("invalid_payment_requirements", asked);
  });

  test("the facilitator settles nothing when the node cannot be reached", async () => {
    const asked = request();
    await local.close();
    expect(await scheme.verify(asked)).toMatchObject({ invalidReason: "unexpected_verify_error" });
    expect(await scheme.settle(asked)).toMatchObject({ errorReason: "unexpected_settle_error" });
    expect(await scheme.health()).toMatchObject({ ok: false });
    local = await startLocalSvm(FEE_PAYER.publicKey);
  });

  test("the facilitator settles nothing with a node of another network", async () => {
    const network = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
    const chain = createRpcSvmChain({ network, rpcUrl: local.rpcUrl, privateKey: FEE_PAYER.secretKey });
    expect(await createExactSvmScheme({ chain }).health()).toEqual({
      ok: false,
      problem: `the RPC URL is of ${NETWORK}, not of ${network}`,
    });
  });
});

test("a transaction beyond the gas budget is not signed, and its payment not charged", async () => {
  const facilitator = createFacilitator({ schemes: [scheme], policy: { gasPerHour: { [NETWORK]: "15000" } } });
  expect(await facilitator.settle(request())).toMatchObject({ success: true });
  const { signers } = await facilitator.health();
  expect(signers).toMatchObject([{ gas: { perHour: "15000", left: "4999" } }]);
  const lamports = local.lamportsOf(FEE_PAYER.publicKey);
  const another = request({ version: "legacy" });
  expect(await facilitator.settle(another)).toMatchObject({ errorReason: "gas_budget_used_up", transaction: "" });
  expect(local.lamportsOf(FEE_PAYER.publicKey)).toBe(lamports);
  expect(local.balanceOf(PAY_TO)).toBe(1000n);
  expect(await facilitator.verify(another)).toMatchObject({ isValid: false, policy: { status: 503 } });
});

test("health reports whether fees can be paid", async () => {
  expect(await scheme.health()).toEqual({ ok: true, balance: expect.stringMatching(/^\d+$/) });
  const poor = createRpcSvmChain({ network: NETWORK, rpcUrl: local.rpcUrl, privateKey: keypair(40).secretKey });
  expect(await poor.health()).toMatchObject({ ok: false, problem: expect.stringContaining("nothing to pay") });
});

test("the scheme names the fee payer as extra and signer", () => {
  const address = new PublicKey(FEE_PAYER.publicKey).toBase58();
  expect(scheme).toMatchObject({ scheme: "exact", network: NETWORK, extra: { feePayer: address }, signers: [address] });
});
