/**
 * A seller looks for a Solana payment on chain, by a node over HTTP.
 */
import { type ChainFinding, createRpcNode, type FacilitatorRequest, type PaymentQuery } from "@farebox/core";
import { exactSvm } from "@farebox/svm";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  FEE_PAYER,
  LIMIT,
  memo,
  NETWORK,
  PAY_TO,
  PAYER,
  PRICE,
  payload,
  requirements,
  transfer,
} from "../../packages/svm/src/payments.fixture.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";

let local: LocalSvm;
let paid: { readonly transaction: string };

beforeEach(async () => {
  local = await startLocalSvm(FEE_PAYER.publicKey);
  local.fund(PAYER.publicKey, 5_000n);
  local.fund(PAY_TO, 0n);
  paid = payload({ blockhash: local.blockhash() });
});

afterEach(() => local.close());

/** Until the chain's clock has passed this, the node may be behind. */
const EXPIRES = 1_800_000_000;

async function find(change: Partial<PaymentQuery> = {}): Promise<ChainFinding> {
  const rpc = createRpcNode(local.rpcUrl, { deadlineMs: 60_000 });
  const query = { payload: paid, requirements: requirements(), rpc, expiresAtSeconds: EXPIRES, ...change };
  return exactSvm().findPayment!(query);
}

async function settle(transaction: { readonly transaction: string }): Promise<string> {
  const options = {
    rpcUrl: local.rpcUrl,
    privateKey: FEE_PAYER.secretKey,
    pollingIntervalMs: 10,
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  };
  const scheme = createExactSvmScheme({ chain: createRpcSvmChain({ network: NETWORK, ...options }) });
  const paymentPayload = { x402Version: 2, accepted: requirements(), payload: transaction } as const;
  const request: FacilitatorRequest = { x402Version: 2, paymentPayload, paymentRequirements: requirements() };
  return (await scheme.settle(request)).transaction;
}

test("findPayment names the transaction that paid, even though the seller has never seen the fee payer's signature", async () => {
  const other = payload({ blockhash: local.blockhash(), instructions: [LIMIT, PRICE, transfer(), memo("another")] });
  const transaction = await settle(paid);
  await settle(other);
  expect(local.balanceOf(PAY_TO)).toBe(2000n);
  expect(await find()).toEqual({ kind: "moved", transaction });
  local.expire();
  expect(await find()).toEqual({ kind: "moved", transaction });
});

test("findPayment is open while the blockhash is valid, even if the payer made another payment", async () => {
  await settle(payload({ blockhash: local.blockhash(), instructions: [LIMIT, PRICE, transfer(), memo("another")] }));
  expect(await find()).toEqual({ kind: "open" });
});

test("findPayment says never once the blockhash has expired and the chain's time is past the record's expiry", async () => {
  local.expire();
  local.network.setTime(EXPIRES - 1);
  expect(await find()).toMatchObject({ kind: "unclear", problem: expect.stringContaining("blockhash") });
  local.network.setTime(EXPIRES);
  expect(await find()).toEqual({ kind: "never" });
});

test("findPayment is unclear without the record's expiry, because the node may be behind", async () => {
  local.expire();
  local.network.setTime(EXPIRES * 2);
  const { expiresAtSeconds: _, ...query } = { expiresAtSeconds: 0, payload: paid, requirements: requirements() };
  expect(await exactSvm().findPayment!({ ...query, rpc: createRpcNode(local.rpcUrl) })).toMatchObject({
    kind: "unclear",
  });
});

test("findPayment says never when the transaction failed on chain", async () => {
  local.network.handling = "keep";
  await settle(paid);
  local.fund(PAYER.publicKey, 0n);
  local.land();
  expect(await find()).toEqual({ kind: "never" });
});

test.each<[what: string, change: Partial<PaymentQuery>]>([
  ["of other terms", { requirements: requirements({ amount: "1" }) }],
  ["that is not a transaction", { payload: { transaction: "AAAA" } }],
  ["on another network", { requirements: requirements({ network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" }) }],
])("findPayment is unclear for a payment %s", async (_, change) => {
  await settle(paid);
  expect(await find(change)).toMatchObject({ kind: "unclear" });
});

test("findPayment is unclear when the node cannot be reached, and does not name it", async () => {
  const rpc = createRpcNode("http://127.0.0.1:1/secret-key");
  const found = await find({ rpc });
  expect(found).toMatchObject({ kind: "unclear" });
  expect(JSON.stringify(found)).not.toContain("secret");
});
