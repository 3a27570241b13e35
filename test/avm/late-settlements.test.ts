/**
 * Handlers that take longer than an Algorand payment lives, and payments that arrive old: on a stand-in for a node, with a round for
 * each 2.8 seconds. The payments are valid for ten rounds, like those of the reference's client.
 */
import { createFacilitator } from "@farebox/facilitator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  algos,
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  transfer,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { type MarketPlan, openMarket } from "../market.js";
import { facilitatorOf } from "./both-sides.js";
import { RICH } from "./ledger.js";
import { LocalAlgod } from "./local-algod.js";

let local: LocalAlgod;

beforeEach(async () => {
  local = await LocalAlgod.start();
  for (const address of [PAYER.addr, FEE_PAYER.addr]) local.ledger.give(address, RICH);
  local.ledger.give(PAYER.addr, 5_000n, USDC);
  local.ledger.give(PAY_TO, 0n, USDC);
});

afterEach(() => local.close());

interface Plan {
  readonly settle?: "before";
  readonly options?: MarketPlan["options"];
}

const node = () => ({ rpc: { [NETWORK]: local.url } });

function open({ settle, options }: Plan = {}) {
  return openMarket({
    facilitator: createFacilitator({ schemes: [facilitatorOf(local)] }),
    accepts: { price: "$0.001", network: NETWORK, payTo: PAY_TO.toString(), ...(settle && { settle }) },
    passTime: (seconds) => local.passTime(seconds),
    ...(options && { options }),
  });
}

/** Valid from the node's last round on. */
function payment(rounds = 10) {
  const window = { firstValid: local.ledger.round, lastValid: local.ledger.round + rounds };
  const transactions = [algos(window), transfer(window)];
  return { x402Version: 2, accepted: requirements(), payload: payload({ transactions }) };
}

const EXPIRED = { code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "expired" };

describe.each([
  ["without a node", () => ({}), 14],
  ["with a node", node, 19],
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
    expect(local.ledger.balanceOf(PAY_TO, USDC)).toBe(0n);
    expect(local.sent).toBe(false);
    expect(market.log).toEqual(["FAREBOX_HANDLER_TOO_LONG"]);
  });

  test("a handler that responds just in time is paid, and reported", async () => {
    const market = await open({ options: options() });
    const { response } = await market.begin(payment());
    await market.pass(seconds);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200, body: { report: "long" } });
    expect(local.ledger.balanceOf(PAY_TO, USDC)).toBe(1000n);
    expect(market.log).toEqual(["FAREBOX_HANDLER_TOO_LONG"]);
  });

  test("a handler of 100 seconds is paid by a payment of a thousand rounds, and not reported", async () => {
    const market = await open({ options: options() });
    const { response } = await market.begin(payment(1000));
    await market.pass(100);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200 });
    expect(market.log).toEqual([]);
  });

  test('with settle: "before" a handler of 100 seconds is paid', async () => {
    const market = await open({ settle: "before", options: options() });
    const { response } = await market.begin(payment());
    expect(local.ledger.balanceOf(PAY_TO, USDC)).toBe(1000n);
    await market.pass(100);
    expect(market.handler.signal?.aborted).toBe(false);
    market.handler.finish();
    expect(await response).toMatchObject({ status: 200, body: { report: "long" } });
    expect(market.log).toEqual([]);
  });
});

test.each([
  ["that ends in ten seconds", 270],
  ["that has ended", 290],
])("an old payment %s is refused before the handler runs, if a node is configured", async (_, seconds) => {
  const hooks = { beforeVerify: () => ({ verified: true }) as const };
  const market = await open({ options: { ...node(), hooks } });
  const old = payment(100);
  await market.pass(seconds);
  expect(await market.send(old)).toMatchObject({ status: 402, body: { error: "payment_expired" } });
  expect(market.handler.runs).toBe(0);
  const { response } = await market.begin(payment());
  market.handler.finish();
  expect(await response).toMatchObject({ status: 200 });
});
