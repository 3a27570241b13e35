/** Payments by Permit2: both schemes, on a chain, with exact balances. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createPayer } from "@farebox/testing";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  balancesOf,
  createAllower,
  createPermitOffer,
  expectNothingMoves,
  invalidate,
  type Kind,
  openScheme,
  payWith,
  permitOf,
  signPermitFor,
} from "./permit2-stage.js";
import { once, startRpcProxy } from "./rpc-proxy.js";
import { AMOUNT, openStage, type Stage } from "./stage.js";

let stage: Stage;
let privateKey: Hex;

beforeAll(async () => {
  stage = await openStage();
  privateKey = await stage.signer();
});

afterEach(() => stage.chain.resumeMining());
afterAll(() => stage.close());

const HASH = /^0x[0-9a-f]{64}$/;
const STATE = "invalid_transaction_state";
const BEFORE = "invalid_exact_evm_payload_authorization_valid_before";

const payment = (kind: Kind, usdc?: bigint) => payWith(stage, { kind, privateKey, usdc });
const expectRefused = (scheme: FacilitatorScheme, request: FacilitatorRequest, reason: string) =>
  expectNothingMoves(stage, scheme, { request, reason });

describe.each<Kind>(["exact", "upto"])("a payment of %s by Permit2", (kind) => {
  const open = (now?: () => number) => openScheme(stage, kind, { privateKey }, now);

  test("a payment is verified, settled once, and then reported with its transaction", async () => {
    const [scheme, request] = [open(), await payment(kind)];
    const { from } = permitOf(request).permit2Authorization;
    expect(await scheme.verify(request)).toEqual({ isValid: true, payer: from });
    const settled = await scheme.settle(request);
    expect(settled).toEqual({
      success: true,
      payer: from,
      transaction: expect.stringMatching(HASH),
      network: "eip155:84532",
      amount: "100",
    });
    expect(await balancesOf(stage, request)).toEqual([0n, AMOUNT]);

    const { transaction } = settled;
    const repeat = { success: false, errorReason: "payment_already_settled", transaction, amount: "100" };
    expect(await scheme.settle(request)).toMatchObject(repeat);
    expect(await scheme.verify(request)).toMatchObject({ isValid: false, invalidReason: "payment_already_settled" });
    expect(await open().settle(request)).toMatchObject(repeat);
    expect(await open(() => Date.now() + 3_600_000).settle(request)).toMatchObject(repeat);
  });

  test("a payment succeeds for one of ten callers", async () => {
    const [scheme, request] = [open(), await payment(kind)];
    const responses = await Promise.all(Array.from({ length: 10 }, () => scheme.settle(request)));
    const won = responses.filter(({ success }) => success);
    expect(won).toHaveLength(1);
    const { transaction } = won[0] ?? {};
    for (const response of responses.filter(({ success }) => !success)) {
      expect(response).toMatchObject({ errorReason: "payment_already_settled", transaction });
    }
    expect(await balancesOf(stage, request)).toEqual([0n, AMOUNT]);
  });

  test("a payment is made only after the payer has allowed Permit2 to move the token", async () => {
    const payer = await stage.payer();
    const request = await signPermitFor(payer, createPermitOffer(kind, privateKey));
    await expectRefused(open(), request, "permit2_allowance_required");
    await stage.chain.approvePermit2(payer.address, AMOUNT - 1n);
    await expectRefused(open(), request, "permit2_allowance_required");
    await stage.chain.approvePermit2(payer.address, AMOUNT);
    expect(await open().settle(request)).toMatchObject({ success: true });
  });

  test("a payment is refused if the payer lacks the money", async () => {
    await expectRefused(open(), await payment(kind, AMOUNT - 1n), "insufficient_funds");
  });

  test("a payment is refused if it has expired or has too little time left", async () => {
    const request = await payment(kind);
    const deadline = Number(permitOf(request).permit2Authorization.deadline);
    for (const left of [5, 0, -1, -1_000_000])
      await expectRefused(
        open(() => (deadline - left) * 1000),
        request,
        BEFORE,
      );
    expect(await open(() => (deadline - 6) * 1000).verify(request)).toMatchObject({ isValid: true });
  });

  test("a payment is never made after the payer took its nonce back", async () => {
    const request = await payment(kind);
    await invalidate(stage, request);
    await expectRefused(open(), request, STATE);
  });

  test("a payment is never made if its nonce was used for another one, and is not mistaken for that one", async () => {
    const payer = await createAllower(stage, 2n * AMOUNT);
    const nonce = `0x${"0".repeat(61)}123` as const;
    const [first, second] = [createPermitOffer(kind, privateKey), createPermitOffer(kind, privateKey)];
    const [paid, other] = [await signPermitFor(payer, first, { nonce }), await signPermitFor(payer, second, { nonce })];
    const same = await signPermitFor(payer, { ...first, amount: "99" }, { nonce });
    expect(await open().settle(paid)).toMatchObject({ success: true });
    for (const request of [other, same]) await expectRefused(open(), request, STATE);
  });

  test("a payment of a contract wallet is made with its owner's signature only", async () => {
    const key = generatePrivateKey();
    const wallet = await stage.chain.deployWallet(privateKeyToAccount(key).address);
    await stage.chain.fund(wallet, { usdc: AMOUNT });
    await stage.chain.approvePermit2(wallet);
    const offer = createPermitOffer(kind, privateKey);
    const stranger = await signPermitFor(createPayer({ wallet }), offer);
    await expectRefused(open(), stranger, "invalid_exact_evm_payload_signature");
    const request = await signPermitFor(createPayer({ privateKey: key, wallet }), offer);
    expect(await open().settle(request)).toMatchObject({ success: true, payer: wallet });
    expect(await balancesOf(stage, request)).toEqual([0n, AMOUNT]);
  });

  test("a payment with a waiting transaction is pending with its hash, and succeeds once", async () => {
    const scheme = openScheme(stage, kind, { privateKey, receiptTimeoutMs: 100 });
    const request = await payment(kind);
    await stage.chain.pauseMining();
    const pending = await scheme.settle(request);
    expect(pending).toMatchObject({ errorReason: "settlement_pending", transaction: expect.stringMatching(HASH) });
    await stage.chain.resumeMining();
    const both = await Promise.all([scheme.settle(request), scheme.settle(request)]);
    expect(both.map(({ success }) => success).toSorted()).toEqual([false, true]);
    for (const { transaction } of both) expect(transaction).toBe(pending.transaction);
  });
});

// The node is asked by the same code for both schemes.
describe("a payment by Permit2 on a node that fails", () => {
  test("a payment is not lost if the node's response to the broadcast is", async () => {
    const kind = "upto";
    const proxy = await startRpcProxy(stage.chain.rpcUrl);
    const scheme = openScheme(stage, kind, { privateKey, rpcUrl: proxy.url });
    const request = await payment(kind);
    proxy.decide(once("eth_sendRawTransaction", "lose-response"));
    expect(await scheme.settle(request)).toMatchObject({ success: true, transaction: expect.stringMatching(HASH) });
    await proxy.close();
    expect(await balancesOf(stage, request)).toEqual([0n, AMOUNT]);
  });

  test("a payment is neither made nor finally refused while the node does not respond", async () => {
    const kind = "exact";
    const proxy = await startRpcProxy(stage.chain.rpcUrl);
    const scheme = openScheme(stage, kind, { privateKey, rpcUrl: proxy.url });
    const request = await payment(kind);
    await scheme.health();
    proxy.decide(() => ({ status: 500 }));
    expect(await scheme.verify(request)).toMatchObject({ isValid: false, invalidReason: "unexpected_verify_error" });
    expect(await scheme.settle(request)).toMatchObject({ success: false, errorReason: "unexpected_settle_error" });
    proxy.decide(() => "pass");
    expect(await scheme.settle(request)).toMatchObject({ success: true });
    await proxy.close();
  });
});

test("a payload with two authorizations is paid by the payer that the terms demand, and names no other", async () => {
  const scheme = openScheme(stage, "exact", { privateKey });
  const byPermit2 = await payment("exact");
  const byAuthorization = await stage.payment();
  for (const request of [byPermit2, byAuthorization]) {
    const both = { ...byPermit2.paymentPayload.payload, ...byAuthorization.paymentPayload.payload };
    const payload = { ...both, signature: request.paymentPayload.payload["signature"] };
    const posed = { ...request, paymentPayload: { ...request.paymentPayload, payload } };
    const { payer } = await scheme.verify(request);
    expect(payer).toMatch(/^0x/);
    expect(await scheme.verify(posed)).toEqual({ isValid: true, payer });
    expect(await scheme.settle(posed)).toMatchObject({ success: true, payer });
    expect(await scheme.settle(request)).toMatchObject({ errorReason: "payment_already_settled", payer });
  }
});

test("a payment of one scheme is refused by the other", async () => {
  for (const [kind, other] of [
    ["exact", "upto"],
    ["upto", "exact"],
  ] as const) {
    const request = await payment(kind);
    const offer = createPermitOffer(other, privateKey, { payTo: request.paymentRequirements.payTo });
    const { payload } = request.paymentPayload;
    const posed = { ...request, paymentPayload: { x402Version: 2 as const, accepted: offer, payload } };
    await expectRefused(
      openScheme(stage, other, { privateKey }),
      { ...posed, paymentRequirements: offer },
      "invalid_payload",
    );
  }
});
