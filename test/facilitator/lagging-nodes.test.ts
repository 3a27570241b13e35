/**
 * Nodes behind one URL that disagree because one of them lags. A transaction is not given up for that. If it was, the success
 * of the payment is still reported once, with the right transaction.
 */
import type { SettlementResponse } from "@farebox/core";
import { type Hex, parseAbi, toFunctionSelector, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { openPatience } from "./patience.js";
import { openProxiedStage } from "./proxied-stage.js";
import type { Fate, RpcCall } from "./rpc-proxy.js";
import { AMOUNT } from "./stage.js";

const { stage, proxy } = await openProxiedStage();

const [SENDING, LOOK] = ["eth_sendRawTransaction", "eth_getTransactionReceipt"];
const UNKNOWN: Fate = { result: null };
const PAST: Fate = { result: "0x5" };
const ERROR: Fate = { code: -32_602, message: "invalid params" };

const isAboutCount = ({ method, params }: RpcCall) => method === "eth_getTransactionCount" && params[1] === "latest";
const isAboutTransaction = ({ method }: RpcCall) => method === "eth_getTransactionByHash";
const countSendings = (from: number) => proxy.calls.slice(from).filter((method) => method === SENDING).length;

describe("a waiting transaction", () => {
  /** Decides on a call. `looks`: how often the receipt was asked for. */
  type Lie = (call: RpcCall, looks: number) => Fate;
  const lie =
    (count: Fate, transaction: Fate): Lie =>
    (call) =>
      isAboutCount(call) ? count : isAboutTransaction(call) ? transaction : "pass";
  const both = lie(PAST, UNKNOWN);

  const CASES: readonly { readonly why: string; readonly lie: Lie }[] = [
    { why: "the count is past it, and the node knows it", lie: lie(PAST, "pass") },
    { why: "the node does not know it, and the count is not past it", lie: lie("pass", UNKNOWN) },
    { why: "the node does not tell the count", lie: lie(ERROR, UNKNOWN) },
    { why: "the node does not tell whether it knows it", lie: lie(PAST, ERROR) },
    {
      why: "it looks crowded out only sometimes",
      lie: (call, looks) => (looks % 2 === 0 ? both(call, looks) : "pass"),
    },
    {
      why: "the node does not always tell whether there is a receipt",
      lie: (call, looks) => (call.method === LOOK && looks % 2 === 1 ? ERROR : both(call, looks)),
    },
  ];

  test.each(CASES)("a waiting transaction is not given up when $why", async ({ lie }) => {
    const { scheme } = openPatience(stage, { privateKey: await stage.signer(), rpcUrl: proxy.url });
    const payment = await stage.payment();
    let looks = 0;
    proxy.decide((call) => {
      if (call.method === LOOK) looks += 1;
      return lie(call, looks);
    });
    await stage.chain.pauseMining();
    const from = proxy.calls.length;
    const settling = scheme.settle(payment);
    const { params } = await proxy.next(LOOK, 9);
    await stage.chain.resumeMining();
    expect(await settling).toMatchObject({ success: true, transaction: params[0] });
    expect(countSendings(from)).toBe(1);
  });
});

describe("a transaction that was given up although it is on chain", () => {
  const STATE = parseAbi(["function authorizationState(address, bytes32) view returns (bool)"]);
  const BALANCE = parseAbi(["function balanceOf(address) view returns (uint256)"]);

  /** The responses of a node that has not seen the block with the transfer. */
  function sayAsBefore({ params: [call] }: RpcCall): Fate {
    const { data } = call as { readonly data: Hex };
    if (data.startsWith(toFunctionSelector(STATE[0]))) return { result: toHex(0n, { size: 32 }) };
    return { result: data.startsWith(toFunctionSelector(BALANCE[0])) ? toHex(AMOUNT, { size: 32 }) : "0x" };
  }

  const LATE: Readonly<Record<string, (call: RpcCall) => Fate>> = {
    eth_call: sayAsBefore,
    eth_fillTransaction: () => ({ code: -32_601, message: "not supported" }),
    eth_estimateGas: () => ({ result: toHex(200_000n) }),
    eth_getTransactionByHash: () => UNKNOWN,
    [LOOK]: () => UNKNOWN,
  };

  /** From the first look on, lagging nodes respond to `methods`, until `isOver`. */
  function lag(methods: readonly string[], isOver: (call: RpcCall, transaction: unknown) => boolean = () => false) {
    const state = { transaction: undefined as unknown, isOver: false };
    proxy.decide((call) => {
      if (call.method === LOOK) state.transaction ??= call.params[0];
      if (state.transaction === undefined) return "pass";
      state.isOver ||= isOver(call, state.transaction);
      return state.isOver || !methods.includes(call.method) ? "pass" : (LATE[call.method]?.(call) ?? "pass");
    });
    return state;
  }

  async function openPayment() {
    const privateKey = await stage.signer();
    const { scheme } = openPatience(stage, { privateKey, rpcUrl: proxy.url });
    const address = privateKeyToAccount(privateKey).address;
    const payment = await stage.payment();
    const paid = () => stage.chain.balanceOf(payment.paymentRequirements.payTo as Hex);
    return { scheme, payment, paid, count: () => stage.client.getTransactionCount({ address }) };
  }

  function expectOneSuccess(responses: readonly SettlementResponse[], transaction: unknown): void {
    expect(responses.filter(({ success }) => success)).toMatchObject([{ transaction }]);
    for (const response of responses.filter(({ success }) => !success)) {
      expect(response).toMatchObject({ errorReason: "payment_already_settled", transaction });
    }
  }

  const UNSEEN = ["eth_getTransactionByHash", LOOK];
  const CASES = [
    {
      when: "before the payment is sent again",
      methods: UNSEEN,
      isOver: ({ method }: RpcCall) => method === "eth_call",
      sendings: 1,
    },
    {
      when: "after the second transaction failed",
      methods: Object.keys(LATE),
      isOver: ({ method, params }: RpcCall, transaction: unknown) => method === LOOK && params[0] !== transaction,
      sendings: 2,
    },
  ];
  const ASKED = CASES.flatMap((one) => [1, 4].map((callers) => ({ ...one, callers })));

  test.each(ASKED)("a given-up transaction on chain is one success for $callers callers, found $when", async (one) => {
    const { scheme, payment, paid, count } = await openPayment();
    const seen = lag(one.methods, one.isOver);
    const from = proxy.calls.length;
    const responses = await Promise.all(Array.from({ length: one.callers }, () => scheme.settle(payment)));
    const { transaction } = seen;
    expectOneSuccess(responses, transaction);
    expect(countSendings(from)).toBe(one.sendings);
    expect(await scheme.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
    expect(await paid()).toBe(AMOUNT);
    expect(await count()).toBe(one.sendings);
  });

  const MIXED = [
    { why: "in all but the trial run", methods: [...UNSEEN, "eth_call"] },
    { why: "in everything", methods: Object.keys(LATE) },
  ];

  test.each(MIXED)(
    "a payment gets no final refusal while nodes lag $why, and succeeds when they agree",
    async ({ methods }) => {
      const { scheme, payment, paid } = await openPayment();
      const seen = lag(methods);
      const refused = await scheme.settle(payment);
      expect(refused).toMatchObject({ success: false, errorReason: "unexpected_settle_error", transaction: "" });
      seen.isOver = true;
      const responses = await Promise.all([scheme.settle(payment), scheme.settle(payment)]);
      expectOneSuccess(responses, seen.transaction);
      expect(await paid()).toBe(AMOUNT);
    },
  );
});
