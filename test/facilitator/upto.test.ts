/** The amount taken from an authorization: all, a part, nothing, and never more. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createPayer } from "@farebox/testing";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  balancesOf,
  createPermitOffer,
  expectNothingMoves,
  openScheme,
  payWith,
  permitOf,
  signPermitFor,
  taking,
} from "./permit2-stage.js";
import { AMOUNT, openStage, type Stage } from "./stage.js";

let stage: Stage;
let privateKey: Hex;

beforeAll(async () => {
  stage = await openStage();
  privateKey = await stage.signer();
});

afterEach(() => stage.chain.resumeMining());
afterAll(() => stage.close());

const payment = (usdc?: bigint) => payWith(stage, { kind: "upto", privateKey, usdc });
const expectRefused = (scheme: FacilitatorScheme, request: FacilitatorRequest, reason: string) =>
  expectNothingMoves(stage, scheme, { request, reason });

const open = () => openScheme(stage, "upto", { privateKey });

test("upto announces the address that payers must sign for", () => {
  expect(open().extra).toEqual({ facilitatorAddress: privateKeyToAccount(privateKey).address });
});

test.each([1n, AMOUNT / 2n, AMOUNT - 1n, AMOUNT])("upto takes %i of 100, and no more later", async (taken) => {
  const [scheme, request] = [open(), await payment()];
  expect(await scheme.verify(request)).toMatchObject({ isValid: true });
  const settled = await scheme.settle(taking(request, taken));
  expect(settled).toMatchObject({ success: true, amount: String(taken) });
  expect(await balancesOf(stage, request)).toEqual([AMOUNT - taken, taken]);

  const { transaction } = settled;
  const repeat = { success: false, errorReason: "payment_already_settled", transaction, amount: String(taken) };
  for (const again of [request, taking(request, taken), taking(request, 0n), taking(request, 1n)]) {
    expect(await scheme.settle(again)).toMatchObject(repeat);
    expect(await open().settle(again)).toMatchObject(repeat);
  }
  expect(await balancesOf(stage, request)).toEqual([AMOUNT - taken, taken]);
});

test("upto at zero succeeds once without a transaction, and takes no more later", async () => {
  const [scheme, request] = [open(), await payment()];
  const sent = await stage.client.getTransactionCount({ address: privateKeyToAccount(privateKey).address });
  const { from: payer } = permitOf(request).permit2Authorization;
  expect(await scheme.settle(taking(request, 0n))).toEqual({
    success: true,
    payer,
    transaction: "",
    network: "eip155:84532",
    amount: "0",
  });
  for (const amount of [0n, 1n, AMOUNT]) {
    expect(await scheme.settle(taking(request, amount))).toMatchObject({
      success: false,
      errorReason: "payment_already_settled",
      transaction: "",
      amount: "0",
    });
  }
  expect(await balancesOf(stage, request)).toEqual([AMOUNT, 0n]);
  expect(await stage.client.getTransactionCount({ address: privateKeyToAccount(privateKey).address })).toBe(sent);
});

test("upto at zero succeeds even if the payer has no money left", async () => {
  const request = await signPermitFor(createPayer(), createPermitOffer("upto", privateKey));
  const late = openScheme(stage, "upto", { privateKey }, () => Date.now() + 3_600_000);
  expect(await late.settle(taking(request, 0n))).toMatchObject({ success: true, transaction: "", amount: "0" });
});

test("upto at zero is refused with a wrong signature", async () => {
  const { address: wallet } = createPayer();
  const request = await signPermitFor(createPayer({ wallet }), createPermitOffer("upto", privateKey));
  expect(await open().settle(taking(request, 0n))).toMatchObject({
    success: false,
    errorReason: "invalid_exact_evm_payload_signature",
  });
});

test("upto does not take more than was authorized", async () => {
  const [scheme, request] = [open(), await payment(2n * AMOUNT)];
  for (const amount of [AMOUNT + 1n, 2n ** 256n - 1n]) {
    expect(await scheme.settle(taking(request, amount))).toMatchObject({
      success: false,
      errorReason: "invalid_upto_evm_payload_settlement_exceeds_amount",
      transaction: "",
    });
  }
  expect(await balancesOf(stage, request)).toEqual([2n * AMOUNT, 0n]);
  expect(await scheme.settle(request)).toMatchObject({ success: true });
});

test("upto verifies the authorized maximum, and no other amount", async () => {
  const [scheme, request] = [open(), await payment()];
  const mismatch = "invalid_exact_evm_payload_authorization_value_mismatch";
  const amounts = [
    [AMOUNT - 1n, mismatch],
    [AMOUNT + 1n, mismatch],
    [0n, "invalid_payment_requirements"],
  ] as const;
  for (const [amount, invalidReason] of amounts) {
    expect(await scheme.verify(taking(request, amount))).toMatchObject({ isValid: false, invalidReason });
  }
});

test("one of two callers with different amounts succeeds, with its own amount", async () => {
  const [scheme, request] = [open(), await payment()];
  const amounts = [10n, 20n, 30n];
  const responses = await Promise.all(amounts.map((amount) => scheme.settle(taking(request, amount))));
  const won = responses.findIndex(({ success }) => success);
  expect(responses.filter(({ success }) => success)).toHaveLength(1);
  expect(responses[won]).toMatchObject({ amount: String(amounts[won]) });
  expect(await balancesOf(stage, request)).toEqual([AMOUNT - (amounts[won] ?? 0n), amounts[won]]);
});

test("a caller with another amount than a pending transaction gets the moved amount, without a success", async () => {
  const scheme = openScheme(stage, "upto", { privateKey, receiptTimeoutMs: 100 });
  const request = await payment();
  await stage.chain.pauseMining();
  const { transaction } = await scheme.settle(taking(request, 40n));
  await stage.chain.resumeMining();
  expect(await scheme.settle(taking(request, 60n))).toMatchObject({
    success: false,
    errorReason: "payment_already_settled",
    transaction,
    amount: "40",
  });
  expect(await scheme.settle(taking(request, 40n))).toMatchObject({ success: true, transaction, amount: "40" });
});

test("upto settles only for the facilitator that the payer has signed for", async () => {
  const request = await payment();
  await expectRefused(openScheme(stage, "upto", { privateKey: await stage.signer() }), request, "invalid_payload");
});
