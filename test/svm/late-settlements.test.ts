/**
 * Handlers that take longer than a Solana payment lives, and payments that arrive old: on the local network, whose blockhashes get
 * older block by block.
 */
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FEE_PAYER, NETWORK, PAY_TO, PAYER, payload, requirements } from "../../packages/svm/src/payments.fixture.js";
import { type MarketPlan, OPENS, openMarket } from "../market.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";

let local: LocalSvm;

beforeEach(async () => {
  local = await startLocalSvm(FEE_PAYER.publicKey);
  local.network.setTime(OPENS);
  local.fund(PAYER.publicKey, 5_000n);
  local.fund(PAY_TO, 0n);
});

afterEach(() => local.close());

interface Plan {
  readonly settle?: "before";
  readonly options?: MarketPlan["options"];
}

const node = () => ({ rpc: { [NETWORK]: local.rpcUrl } });

function open({ settle, options }: Plan = {}) {
  const times = { pollingIntervalMs: 10, confirmTimeoutMs: 100, requestTimeoutMs: 60_000 };
  const chain = createRpcSvmChain({
    network: NETWORK,
    rpcUrl: local.rpcUrl,
    privateKey: FEE_PAYER.secretKey,
    ...times,
  });
  return openMarket({
    facilitator: createFacilitator({ schemes: [createExactSvmScheme({ chain })] }),
    accepts: { price: "$0.001", network: NETWORK, payTo: PAY_TO.toBase58(), ...(settle && { settle }) },
    passTime: (seconds) => local.network.passTime(seconds),
    ...(options && { options }),
  });
}

/** Made with the newest blockhash. */
const payment = () => ({
  x402Version: 2,
  accepted: requirements(),
  payload: payload({ blockhash: local.blockhash() }),
});

const EXPIRED = { code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "expired" };

describe.each([
  ["without a node", () => ({}), 34],
  ["with a node", node, 54],
])("%s", (_, options, seconds) => {
  test("a handler of 100 seconds is aborted while its payment can still settle, and nothing is charged", async () => {
    const market = await open({ options: options() });
    const { response } = await market.begin(payment());
    await market.pass(seconds);
    expect(market.handler.signal?.aborted).toBe(false);
    await market.pass(1);
    expect(market.handler.signal?.reason).toMatchObject(EXPIRED);
    expect(await response).toMatchObject({ status: 504, body: { error: "payment_expired" } });
    await market.pass(100 - seconds);
    market.handler.finish();
    expect(local.balanceOf(PAY_TO)).toBe(0n);
    expect(local.asked).not.toContain("sendTransaction");
    expect(market.log).toEqual(["FAREBOX_HANDLER_TOO_LONG"]);
  });

  test("a handler that responds just in time is paid, and reported", async () => {
    const market = await open({ options: options() });
    const { response } = await market.begin(payment());
    await market.pass(seconds - 1);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200, body: { report: "long" } });
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
    expect(market.log).toEqual(["FAREBOX_HANDLER_TOO_LONG"]);
  });

  test("a handler that responds early is paid, and not reported", async () => {
    const market = await open({ options: options() });
    const { response } = await market.begin(payment());
    await market.pass(20);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200 });
    expect(market.log).toEqual([]);
  });

  test("a payment whose handler was too late is refused when it is sent again", async () => {
    const market = await open({ options: options() });
    const paid = payment();
    const { response } = await market.begin(paid);
    await market.pass(seconds + 1);
    expect(await response).toMatchObject({ status: 504 });
    expect(await market.send(paid)).toMatchObject({ status: 402, body: { error: "payment_expired" } });
    expect(market.handler.runs).toBe(1);
  });

  test('with settle: "before" a handler of 100 seconds is paid', async () => {
    const market = await open({ settle: "before", options: options() });
    const { response } = await market.begin(payment());
    expect(local.balanceOf(PAY_TO)).toBe(1000n);
    await market.pass(100);
    expect(market.handler.signal?.aborted).toBe(false);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200, body: { report: "long" } });
    expect(market.log).toEqual([]);
  });
});

test("an old payment is refused before the handler runs, if a node is configured", async () => {
  const market = await open({ options: node() });
  const old = payment();
  await market.pass(50);
  expect(await market.send(old)).toMatchObject({ status: 402, body: { error: "payment_expired" } });
  expect(market.handler.runs).toBe(0);
  expect(local.balanceOf(PAY_TO)).toBe(0n);
  local.expire();
  const { response } = await market.begin(payment());
  market.handler.finish();
  expect(await response).toMatchObject({ status: 200 });
  expect(local.balanceOf(PAY_TO)).toBe(1000n);
});

test("a payment with a dead blockhash is refused before the handler runs, even if it counts as verified", async () => {
  const hooks = { beforeVerify: () => ({ verified: true }) as const };
  const market = await open({ options: { ...node(), hooks } });
  const old = payment();
  await market.pass(61);
  expect(await market.send(old)).toMatchObject({ status: 402, body: { error: "payment_expired" } });
  expect(market.handler.runs).toBe(0);
});
