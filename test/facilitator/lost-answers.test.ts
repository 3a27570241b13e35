/**
 * A node that loses answers, or gives none: what is sent keeps its hash, what is not known is not guessed.
 */
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { openPatience } from "./patience.js";
import { openProxiedStage } from "./proxied-stage.js";
import { type Fate, once, times } from "./rpc-proxy.js";
import { AMOUNT, NETWORK, payloadOf } from "./stage.js";

const { stage, proxy } = await openProxiedStage();

/** A facilitator that goes through the proxy, and loses patience soon. */
async function hasty() {
  const privateKey = await stage.signer();
  const limits = { requestTimeoutMs: 250, receiptTimeoutMs: 100 };
  const scheme = stage.scheme({ privateKey, rpcUrl: proxy.url, ...limits });
  return { privateKey, scheme, countOf: () => stage.client.getTransactionCount({ address: scheme.signers[0] as Hex }) };
}

const SUCCESS = { success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) };

describe("the answer to a transaction", () => {
  const LOST: readonly { readonly why: string; readonly fate: Fate }[] = [
    { why: "is lost after the node has it", fate: "lose-answer" },
    { why: "never comes although the node has it", fate: "silence" },
    { why: "is lost with the request", fate: "lose-request" },
  ];
  const VAGUE: typeof LOST = [
    { why: "is an internal error", fate: { code: -32_603, message: "internal error" } },
    { why: "is a time-out of something behind the node", fate: { code: -32_000, message: "request timed out" } },
    { why: "is HTTP 502", fate: { status: 502 } },
  ];
  const UNTRUE = { why: "is that it knows the transaction", fate: { code: -32_000, message: "already known" } };

  test.each([...LOST, ...VAGUE])("$why once: it is handed over again, and one payment is made", async ({ fate }) => {
    const { scheme, countOf } = await hasty();
    const payment = await stage.payment();
    proxy.decide(once("eth_sendRawTransaction", fate));
    expect(await scheme.settle(payment)).toMatchObject(SUCCESS);
    expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
    expect(await countOf()).toBe(2);
    expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex)).toBe(AMOUNT);
  });

  test.each([...LOST, UNTRUE])(
    "$why, always: the hash is kept, and the payment is made when the node is well",
    async ({ fate }) => {
      const { scheme, countOf } = await hasty();
      const payment = await stage.payment();
      await stage.chain.pauseMining();
      proxy.decide(({ method }) => (method === "eth_sendRawTransaction" ? fate : "pass"));
      const pending = await scheme.settle(payment);
      expect(pending).toMatchObject({ ...SUCCESS, success: false, errorReason: "settlement_pending" });
      expect(await scheme.settle(payment)).toEqual(pending);

      proxy.decide(() => "pass");
      await stage.chain.resumeMining();
      const { transaction } = pending;
      const answers = [await scheme.settle(payment), await scheme.settle(payment), await scheme.settle(payment)];
      // Where the node never had it, the first of these hands it over, and the second sees it on chain.
      const told = answers.map(({ success, errorReason }) => (success ? "success" : errorReason));
      expect(told.filter((what) => what === "success")).toHaveLength(1);
      expect(told.at(-1)).toBe("payment_already_settled");
      for (const answer of answers) expect(answer.transaction).toBe(transaction);
      expect(await countOf()).toBe(1);
    },
  );

  test("that never reached the node gives way to the next payment, and is paid after it", async () => {
    const privateKey = await stage.signer();
    const patience = openPatience(stage, { privateKey, rpcUrl: proxy.url });
    const { scheme } = patience;
    const [lost, next] = [await stage.payment(), await stage.payment()];
    proxy.decide(times(4, "eth_sendRawTransaction", "lose-request"));
    patience.hasTime = false;
    const { errorReason, transaction } = await scheme.settle(lost);
    expect(errorReason).toBe("settlement_pending");
    proxy.decide(() => "pass");
    patience.hasTime = true;
    expect(await scheme.settle(next)).toMatchObject(SUCCESS);
    const paid = await scheme.settle(lost);
    expect(paid).toMatchObject(SUCCESS);
    expect(paid.transaction).not.toBe(transaction);
    const repeat = { errorReason: "payment_already_settled", transaction: paid.transaction };
    expect(await scheme.settle(lost)).toMatchObject(repeat);
    expect(await stage.client.getTransactionCount({ address: scheme.signers[0] as Hex })).toBe(2);
  });

  const TWICE: readonly { readonly why: string; readonly fate: Fate }[] = [
    { why: "by us, because the first answer was lost", fate: "lose-answer" },
    { why: "by something on the way", fate: { after: { code: -32_000, message: "nonce too low" } } },
  ];

  test.each(TWICE)("is that the count is taken when it was handed over twice $why", async ({ fate }) => {
    const { scheme, countOf } = await hasty();
    proxy.decide(once("eth_sendRawTransaction", fate));
    expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
    expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
    expect(await countOf()).toBe(2);
  });
});

describe("a node that cannot be asked", () => {
  const DOWN: readonly { readonly why: string; readonly fate: Fate; readonly says: string }[] = [
    { why: "hangs up", fate: "lose-request", says: "HTTP request failed." },
    { why: "is silent", fate: "silence", says: "The request took too long to respond." },
    { why: "answers 503", fate: { status: 503 }, says: "the node answered HTTP 503" },
    { why: "is broken", fate: { code: -32_603, message: "boom\r\n\u001b[31m" }, says: "the node said: boom [31m" },
  ];

  test.each(DOWN)("and $why is no reason to call a payment invalid, and to settle it later is free", async (down) => {
    const { scheme, countOf } = await hasty();
    const payment = await stage.payment();
    const { from: payer } = payloadOf(payment).authorization;
    proxy.decide(() => down.fate);
    const told = [scheme.verify(payment), scheme.settle(payment), scheme.health()];
    expect(await Promise.all(told)).toEqual([
      { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: down.says, payer },
      {
        success: false,
        errorReason: "unexpected_settle_error",
        errorMessage: down.says,
        payer,
        transaction: "",
        network: NETWORK,
      },
      { ok: false, problem: down.says },
    ]);
    proxy.decide(() => "pass");
    expect(await scheme.settle(payment)).toMatchObject(SUCCESS);
    expect(await countOf()).toBe(1);
  });

  test("about a contract's signature is no reason to call it a wrong one", async () => {
    const { scheme } = await hasty();
    const payment = await stage.payment();
    expect(await scheme.health()).toEqual({ ok: true });
    const forged = { ...payloadOf(payment), signature: `0x${"11".repeat(70)}` };
    const request = { ...payment, paymentPayload: { ...payment.paymentPayload, payload: forged } };
    proxy.decide(({ method }) => (method === "eth_call" ? { status: 500 } : "pass"));
    expect(await scheme.verify(request)).toMatchObject({ invalidReason: "unexpected_verify_error" });
    proxy.decide(() => "pass");
    expect(await scheme.verify(request)).toMatchObject({ invalidReason: "invalid_exact_evm_payload_signature" });
  });

  test("whether a nonce was used for this payment does not say that it was not", async () => {
    const { scheme } = await hasty();
    const payment = await stage.payment();
    const transaction = await stage.frontRun(payment);
    proxy.decide(({ method }) => (method === "eth_getLogs" ? { status: 500 } : "pass"));
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "unexpected_settle_error", transaction: "" });
    proxy.decide(() => "pass");
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });

  test("for the receipt leaves the payment pending, and the outcome is told once", async () => {
    const { scheme } = await hasty();
    const payment = await stage.payment();
    proxy.decide(({ method }) => (method === "eth_getTransactionReceipt" ? { status: 500 } : "pass"));
    const { transaction, errorReason } = await scheme.settle(payment);
    expect(errorReason).toBe("settlement_pending");
    proxy.decide(() => "pass");
    expect(await scheme.settle(payment)).toMatchObject({ success: true, transaction });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });
});
