/**
 * A node that loses responses, or does not respond. A sent transaction keeps its hash, and an unknown outcome is not guessed.
 */
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { holdRequestTimeouts, openPatience } from "./patience.js";
import { openProxiedStage } from "./proxied-stage.js";
import { type Fate, once, times } from "./rpc-proxy.js";
import { AMOUNT, NETWORK, payloadOf } from "./stage.js";

const { stage, proxy } = await openProxiedStage();

/** A facilitator behind the proxy. */
async function openFacilitator() {
  const patience = openPatience(stage, { privateKey: await stage.signer(), rpcUrl: proxy.url });
  const { scheme } = patience;
  const countOf = () => stage.client.getTransactionCount({ address: scheme.signers[0] as Hex });
  return { patience, scheme, countOf };
}

/** The fate of a call, made in the test that it is for. */
type Making = () => Fate;

/** The node has the call, and no response comes until the time for it is over. */
const silence: Making = () => ({ silence: holdRequestTimeouts() });

const SUCCESS = { success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) };

describe("the response to a transaction", () => {
  const LOST: readonly { readonly why: string; readonly fate: Making }[] = [
    { why: "is lost after the node has it", fate: () => "lose-response" },
    { why: "never comes although the node has it", fate: silence },
    { why: "is lost with the request", fate: () => "lose-request" },
  ];
  const VAGUE: typeof LOST = [
    { why: "is an internal error", fate: () => ({ code: -32_603, message: "internal error" }) },
    {
      why: "is a time-out of something behind the node",
      fate: () => ({ code: -32_000, message: "request timed out" }),
    },
    { why: "is HTTP 502", fate: () => ({ status: 502 }) },
  ];
  const UNTRUE: (typeof LOST)[0] = {
    why: "says that it knows the transaction",
    fate: () => ({ code: -32_000, message: "already known" }),
  };

  test.each([...LOST, ...VAGUE])(
    "a transaction is sent again, and one payment is made, if one response $why",
    async ({ fate }) => {
      const { scheme, countOf } = await openFacilitator();
      const payment = await stage.payment();
      proxy.decide(once("eth_sendRawTransaction", fate()));
      expect(await scheme.settle(payment)).toMatchObject(SUCCESS);
      expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
      expect(await countOf()).toBe(2);
      expect(await stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex)).toBe(AMOUNT);
    },
  );

  test.each([...LOST, UNTRUE])(
    "a transaction keeps its hash, and succeeds when the node has recovered, if each response $why",
    async ({ fate }) => {
      const { patience, scheme, countOf } = await openFacilitator();
      const payment = await stage.payment();
      await stage.chain.pauseMining();
      const each = fate();
      proxy.decide(({ method }) => (method === "eth_sendRawTransaction" ? each : "pass"));
      patience.hasTime = false;
      const pending = await scheme.settle(payment);
      expect(pending).toMatchObject({ ...SUCCESS, success: false, errorReason: "settlement_pending" });
      expect(await scheme.settle(payment)).toEqual(pending);

      proxy.decide(() => "pass");
      await stage.chain.resumeMining();
      const { transaction } = pending;
      // If the node never had it, the first call sends it, and the second waits until it is on chain.
      const responses = [await scheme.settle(payment)];
      patience.hasTime = true;
      responses.push(await scheme.settle(payment), await scheme.settle(payment));
      const told = responses.map(({ success, errorReason }) => (success ? "success" : errorReason));
      expect(told.filter((what) => what === "success")).toHaveLength(1);
      expect(told.at(-1)).toBe("payment_already_settled");
      for (const response of responses) expect(response.transaction).toBe(transaction);
      expect(await countOf()).toBe(1);
    },
  );

  test("a transaction that never reached the node gives way to the next payment, and succeeds after it", async () => {
    const { patience, scheme, countOf } = await openFacilitator();
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
    expect(await countOf()).toBe(2);
  });

  const TWICE: readonly { readonly why: string; readonly fate: Fate }[] = [
    { why: "by the facilitator, because the first response was lost", fate: "lose-response" },
    { why: "by a proxy", fate: { after: { code: -32_000, message: "nonce too low" } } },
  ];

  test.each(TWICE)(
    "a response that the count is taken is not a failure if the transaction was sent twice $why",
    async ({ fate }) => {
      const { scheme, countOf } = await openFacilitator();
      proxy.decide(once("eth_sendRawTransaction", fate));
      expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
      expect(await scheme.settle(await stage.payment())).toMatchObject(SUCCESS);
      expect(await countOf()).toBe(2);
    },
  );
});

describe("a node that cannot be asked", () => {
  const DOWN: readonly { readonly why: string; readonly fate: Making; readonly says: string }[] = [
    { why: "hangs up", fate: () => "lose-request", says: "HTTP request failed." },
    { why: "is silent", fate: silence, says: "The request took too long to respond." },
    { why: "responds with 503", fate: () => ({ status: 503 }), says: "the node responded with status 503" },
    {
      why: "is broken",
      fate: () => ({ code: -32_603, message: "boom\r\n\u001b[31m" }),
      says: "the node said: boom [31m",
    },
  ];

  test.each(DOWN)(
    "a payment is not reported as invalid while the node $why, and can be settled later",
    async (down) => {
      const { scheme, countOf } = await openFacilitator();
      const payment = await stage.payment();
      const { from: payer } = payloadOf(payment).authorization;
      const fate = down.fate();
      proxy.decide(() => fate);
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
    },
  );

  test("a contract's signature is not reported as wrong while the node cannot be asked about it", async () => {
    const { scheme } = await openFacilitator();
    const payment = await stage.payment();
    expect(await scheme.health()).toEqual({ ok: true, balance: expect.stringMatching(/^\d+$/) });
    const forged = { ...payloadOf(payment), signature: `0x${"11".repeat(70)}` };
    const request = { ...payment, paymentPayload: { ...payment.paymentPayload, payload: forged } };
    proxy.decide(({ method }) => (method === "eth_call" ? { status: 500 } : "pass"));
    expect(await scheme.verify(request)).toMatchObject({ invalidReason: "unexpected_verify_error" });
    proxy.decide(() => "pass");
    expect(await scheme.verify(request)).toMatchObject({ invalidReason: "invalid_exact_evm_payload_signature" });
  });

  test("a payment is not reported as unpaid while the node cannot be asked for its nonce", async () => {
    const { scheme } = await openFacilitator();
    const payment = await stage.payment();
    const transaction = await stage.frontRun(payment);
    proxy.decide(({ method }) => (method === "eth_getLogs" ? { status: 500 } : "pass"));
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "unexpected_settle_error", transaction: "" });
    proxy.decide(() => "pass");
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });

  test("a payment is pending while the node cannot be asked for the receipt, and its outcome is reported once", async () => {
    const { patience, scheme } = await openFacilitator();
    const payment = await stage.payment();
    proxy.decide(({ method }) => (method === "eth_getTransactionReceipt" ? { status: 500 } : "pass"));
    patience.hasTime = false;
    const { transaction, errorReason } = await scheme.settle(payment);
    expect(errorReason).toBe("settlement_pending");
    proxy.decide(() => "pass");
    patience.hasTime = true;
    expect(await scheme.settle(payment)).toMatchObject({ success: true, transaction });
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });
});
