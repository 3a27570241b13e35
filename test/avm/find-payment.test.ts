/**
 * An Algorand payment is looked for by a stand-in for a node over HTTP: by the scheme, and by a whole seller whose facilitator
 * does not know the outcome.
 */
import { exactAvm } from "@farebox/avm";
import { type ChainFinding, createRpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import {
  algos,
  MAINNET_HASH,
  NETWORK,
  PAY_TO,
  PAYER,
  payload,
  ROUND,
  requirements,
  transfer,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { decode } from "../interop/servers.js";
import { facilitatorOf, toRequest } from "./both-sides.js";
import { nodePerTest } from "./node-per-test.js";
import { ourFacilitator, ourSeller } from "./peers.js";

const market = nodePerTest();

const LAST = ROUND + 1000;

function ordinary() {
  const paying = transfer();
  const paid = payload({ transactions: [algos(), paying] });
  return { paid, id: paying.txID() };
}

async function find(paid: unknown, url = market.local.url): Promise<ChainFinding | undefined> {
  return exactAvm().findPayment?.({
    payload: paid,
    requirements: requirements(),
    rpc: createRpcNode(url, { deadlineMs: 60_000 }),
  });
}

test("findPayment names the transaction that paid, from the node's memory, and later from its blocks", async () => {
  const { paid, id } = ordinary();
  expect(await facilitatorOf(market.local).settle(toRequest(paid))).toMatchObject({ success: true, transaction: id });
  for (const round of [ROUND + 12, LAST, LAST + 50]) {
    market.local.ledger.round = round;
    expect(await find(paid)).toEqual({ kind: "moved", transaction: id });
  }
  expect(market.local.asked.at(-1)).toMatch(/^GET \/v2\/blocks\/\d+\/txids$/);
});

test("findPayment is open while the transaction is pending, and until its rounds are over", async () => {
  const { paid } = ordinary();
  expect(await find(paid)).toEqual({ kind: "open" });
  market.local.mode = "keep";
  await facilitatorOf(market.local).settle(toRequest(paid));
  expect(await find(paid)).toEqual({ kind: "open" });
});

test("findPayment says never once the rounds are over, even if the payer made another payment", async () => {
  const other = payload({ transactions: [algos(), transfer({ note: Buffer.from("another") })] });
  expect(await facilitatorOf(market.local).settle(toRequest(other))).toMatchObject({ success: true });
  market.local.ledger.round = LAST + 11;
  expect(await find(ordinary().paid)).toEqual({ kind: "never" });
});

test("findPayment is unclear when the node no longer has the blocks", async () => {
  const { paid } = ordinary();
  market.local.ledger.round = LAST + 50;
  market.local.oldestBlock = ROUND + 2;
  expect(await find(paid)).toMatchObject({ kind: "unclear", problem: expect.stringContaining("404") });
});

test("findPayment is unclear with a node of another network or one that cannot be reached, and does not name it", async () => {
  market.local.genesisHash = MAINNET_HASH;
  expect(await find(ordinary().paid)).toMatchObject({ kind: "unclear" });
  const gone = await find(ordinary().paid, "http://127.0.0.1:1/secret-key");
  expect(gone).toMatchObject({ kind: "unclear" });
  expect(JSON.stringify(gone)).not.toContain("secret");
});

describe("a seller with a node", () => {
  const TOKEN = "node-token";
  const node = () => ({ rpc: { [NETWORK]: { url: market.local.url, headers: { "X-Algo-API-Token": TOKEN } } } });

  /** The facilitator always reports an unknown outcome. The node has the group. */
  async function leaveUnknown(options: object) {
    market.local.mode = "keep";
    const app = await ourSeller(await market.listen(ourFacilitator(market.local)), options);
    const seller = await market.listen(app);
    const { paid, id } = ordinary();
    const header = { x402Version: 2, accepted: requirements(), payload: paid };
    const headers = { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify(header)).toString("base64") };
    const send = () => fetch(`${seller}/weather`, { headers });
    expect((await send()).status).toBe(503);
    return { app, send, id };
  }

  test("a seller serves a payment once that got on chain unknown to the facilitator", async () => {
    const { app, send, id } = await leaveUnknown(node());
    market.local.land();
    market.local.ledger.round = LAST + 50;
    const served = await send();
    expect([served.status, await served.json()]).toEqual([200, { weather: "sunny" }]);
    const receipt = decode(served.headers.get("PAYMENT-RESPONSE"));
    expect(receipt).toMatchObject({ success: true, transaction: id, payer: PAYER.addr.toString(), amount: "1000" });
    // The payer may not have received it, so it is kept, and the handler does not run again.
    expect((await send()).status).toBe(200);
    expect([app.locals["served"], market.local.ledger.balanceOf(PAY_TO, USDC)]).toEqual([1, 1000n]);
  });

  test("a seller reports that nothing was charged, when the payment's rounds are over and none of them has it", async () => {
    const { send } = await leaveUnknown(node());
    market.local.ledger.round = LAST + 50;
    const refused = await send();
    expect(refused.status).toBe(402);
    expect(decode(refused.headers.get("PAYMENT-RESPONSE"))).toMatchObject({
      success: false,
      errorReason: "invalid_transaction_state",
    });
    expect(market.local.ledger.balanceOf(PAY_TO, USDC)).toBe(0n);
  });

  test("a seller reports an unknown outcome while the payment is pending, or without a node", async () => {
    const { send } = await leaveUnknown(node());
    expect((await send()).status).toBe(503);
    const other = await leaveUnknown({});
    market.local.ledger.round = LAST + 50;
    expect((await other.send()).status).toBe(503);
  });

  test("a seller sends the node its token", async () => {
    const { send } = await leaveUnknown(node());
    market.local.ledger.round = LAST + 50;
    market.local.token = "another";
    expect((await send()).status).toBe(503);
    market.local.token = TOKEN;
    expect((await send()).status).toBe(402);
  });
});
