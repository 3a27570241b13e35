/**
 * The seller's side looks on a chain for payments by Permit2, which writes no event for them. No facilitator is asked.
 */
import { type ChainFinding, createRpcNode, type FacilitatorRequest } from "@farebox/core";
import { exactEvm, uptoEvm } from "@farebox/evm";
import type { Payer } from "@farebox/testing";
import { concatHex, type Hex, numberToHex, padHex, toHex } from "viem";
import { describe, expect, test } from "vitest";
import {
  createAllower,
  createPermitOffer,
  invalidate,
  type Kind,
  openScheme,
  permitOf,
  signPermitFor,
  taking,
} from "../facilitator/permit2-stage.js";
import { openProxiedStage } from "../facilitator/proxied-stage.js";
import { once } from "../facilitator/rpc-proxy.js";
import { AMOUNT } from "../facilitator/stage.js";

const SCHEMES = { exact: exactEvm(), upto: uptoEvm() };

const { stage, proxy } = await openProxiedStage();
const privateKey = await stage.signer();

async function find(kind: Kind, { paymentPayload, paymentRequirements }: FacilitatorRequest) {
  const rpc = createRpcNode(proxy.url, { deadlineMs: 120_000 });
  return SCHEMES[kind].findPayment?.({ payload: paymentPayload.payload, requirements: paymentRequirements, rpc });
}

/** A test may have moved the chain's clock ahead of this machine's. */
async function chainNow(): Promise<() => number> {
  const seconds = await stage.chain.now();
  return () => seconds * 1000;
}

async function sign(kind: Kind, payer?: Payer, nonce?: Hex): Promise<FacilitatorRequest> {
  const options = { now: await chainNow(), ...(nonce === undefined ? {} : { nonce }) };
  return signPermitFor(payer ?? (await createAllower(stage)), createPermitOffer(kind, privateKey), options);
}

async function settle(kind: Kind, request: FacilitatorRequest): Promise<string> {
  const { success, transaction } = await openScheme(stage, kind, { privateKey }, await chainNow()).settle(request);
  expect(success).toBe(true);
  return transaction;
}

const UNEXPLAINED: ChainFinding = { kind: "unclear", problem: "the nonce was used, but its transaction was not found" };

describe.each<Kind>(["exact", "upto"])("a payment of %s by Permit2", (kind) => {
  test("a payment is open before it is made, and has moved, in its transaction, after", async () => {
    const request = await sign(kind);
    expect(await find(kind, request)).toEqual({ kind: "open" });
    const transaction = await settle(kind, request);
    expect(await find(kind, request)).toEqual({ kind: "moved", transaction });
    await stage.rpc("anvil_mine", toHex(100), toHex(60));
    expect(await find(kind, request)).toEqual({ kind: "moved", transaction });
  });

  test("a payment is distinguished from others between the same two accounts", async () => {
    const payer = await createAllower(stage, 3n * AMOUNT);
    const offer = createPermitOffer(kind, privateKey);
    const now = await chainNow();
    const requests = [1, 2, 3].map(() => signPermitFor(payer, offer, { now }));
    const [first, second, third] = (await Promise.all(requests)) as [
      FacilitatorRequest,
      FacilitatorRequest,
      FacilitatorRequest,
    ];
    const [one, two] = [await settle(kind, first), await settle(kind, second)];
    expect(await find(kind, first)).toEqual({ kind: "moved", transaction: one });
    expect(await find(kind, second)).toEqual({ kind: "moved", transaction: two });
    expect(await find(kind, third)).toEqual({ kind: "open" });
  });

  test("a payment is unclear if its nonce was used for another payment", async () => {
    const [payer, nonce] = [await createAllower(stage, 2n * AMOUNT), toHex(7n, { size: 32 })];
    const [request, other] = [await sign(kind, payer, nonce), await sign(kind, payer, nonce)];
    const transaction = await settle(kind, other);
    expect(await find(kind, request)).toEqual(UNEXPLAINED);
    expect(await find(kind, other)).toEqual({ kind: "moved", transaction });
  });

  test("a payment of another chain, or for other terms, is not looked for", async () => {
    const request = await sign(kind);
    proxy.decide(({ method }) => (method === "eth_chainId" ? { result: "0x2105" } : "pass"));
    expect(await find(kind, request)).toMatchObject({ kind: "unclear" });
    proxy.decide(() => "pass");
    const asked = proxy.calls.length;
    for (const other of [taking(request, AMOUNT + 1n), taking(request, 0n), taking(request, "x")]) {
      expect(await find(kind, other)).toMatchObject({ kind: "unclear" });
    }
    expect(proxy.calls.length).toBe(asked);
  });
});

// Both schemes are looked for in the same way, so each of these tests takes one of them.
describe("a payment by Permit2", () => {
  test("an unused payment is open until it expires by the chain's clock", async () => {
    const kind = "exact";
    const request = await sign(kind);
    const deadline = Number(permitOf(request).permit2Authorization.deadline);
    await stage.mineAt(deadline - 30);
    expect(await find(kind, request)).toEqual({ kind: "open" });
    await stage.mineAt(deadline + 2);
    expect(await find(kind, request)).toEqual({ kind: "never" });
  });

  test("a payment never moves after the payer took its nonce back", async () => {
    const kind = "upto";
    const request = await sign(kind);
    await invalidate(stage, request);
    expect(await find(kind, request)).toEqual({ kind: "never" });
  });

  test("a payment has moved even if the payer takes its nonce back afterwards", async () => {
    const kind = "exact";
    const request = await sign(kind);
    const transaction = await settle(kind, request);
    await invalidate(stage, request);
    expect(await find(kind, request)).toEqual({ kind: "moved", transaction });
  });

  test("a payment never moves if its nonce was taken back twice", async () => {
    const kind = "upto";
    const request = await sign(kind);
    await invalidate(stage, request);
    await invalidate(stage, request);
    expect(await find(kind, request)).toEqual({ kind: "never" });
  });

  test("a payment is unclear if the node fails in any question", async () => {
    const kind = "exact";
    const request = await sign(kind);
    const transaction = await settle(kind, request);
    for (const method of [
      "eth_chainId",
      "eth_getBlockByNumber",
      "eth_call",
      "eth_getLogs",
      "eth_getTransactionByHash",
    ]) {
      proxy.decide(once(method, "lose-response"));
      expect(await find(kind, request)).toMatchObject({ kind: "unclear", problem: expect.stringContaining(method) });
    }
    expect(await find(kind, request)).toEqual({ kind: "moved", transaction });
  });

  test("a payment is unclear if the node names another transaction", async () => {
    const kind = "upto";
    const request = await sign(kind);
    const other = await sign(kind, await createAllower(stage));
    const transaction = await settle(kind, other);
    const posed = await stage.rpc("eth_getTransactionByHash", transaction);
    await settle(kind, request);
    proxy.decide(({ method }) => (method === "eth_getTransactionByHash" ? { result: posed } : "pass"));
    expect(await find(kind, request)).toMatchObject({ kind: "unclear" });
  });

  test("a payment is not reported as never made because of an event, while logs of transfers are missing", async () => {
    const kind = "exact";
    const request = await sign(kind);
    await settle(kind, request);
    proxy.decide(({ method }) => (method === "eth_getLogs" ? { result: [] } : "pass"));
    expect(await find(kind, request)).toEqual(UNEXPLAINED);
    await invalidate(stage, request);
    proxy.decide(({ method, params }) =>
      method === "eth_getLogs" && JSON.stringify(params).includes("0xddf252ad") ? { result: [] } : "pass",
    );
    expect(await find(kind, request)).toEqual(UNEXPLAINED);
  });
});

test("a taken part of upto has moved, and another part has not", async () => {
  const request = await sign("upto");
  const transaction = await settle("upto", taking(request, 40n));
  expect(await find("upto", taking(request, 40n))).toEqual({ kind: "moved", transaction });
  const problem = "the payment was made, but of another amount";
  expect(await find("upto", request)).toEqual({ kind: "unclear", problem });
});

test("an event of another payer, word or mask takes no nonce back", async () => {
  const request = await sign("exact");
  const { from, nonce } = permitOf(request).permit2Authorization;
  await invalidate(stage, request);
  const [place, bit] = [BigInt(nonce) >> 8n, 1n << (BigInt(nonce) & 0xffn)];
  const [log] = (await stage.rpc("eth_getLogs", {
    address: "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    topics: [null, padHex(from)],
    fromBlock: "0x0",
  })) as readonly Record<string, unknown>[];
  const data = (word: bigint, mask: bigint) =>
    concatHex([word, mask].map((number) => numberToHex(number, { size: 32 })));
  for (const [word, mask] of [
    [place ^ 1n, bit],
    [place, 2n ** 256n - 1n - bit],
  ] as const) {
    proxy.decide(({ method, params }) =>
      method === "eth_getLogs" && JSON.stringify(params).includes("0x3704902f")
        ? { result: [{ ...log, data: data(word, mask) }] }
        : "pass",
    );
    expect(await find("exact", request)).toEqual(UNEXPLAINED);
  }
});
