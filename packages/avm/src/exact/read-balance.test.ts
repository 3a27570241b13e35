import { RpcError, type RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import {
  algos,
  GENESIS_HASH,
  MAINNET_HASH,
  PAYER,
  payload,
  requirements,
  transfer,
  USDC,
} from "../payments.fixture.js";
import { exactAvm } from "./scheme.js";

const PAYLOAD = payload({ transactions: [algos(), transfer()] });
const HOLDING = `/v2/accounts/${PAYER.addr}/assets/${USDC}?format=json`;

/** What a node with this holding says about the payer of a payment. */
async function read(holding: unknown, { hash = GENESIS_HASH, paid = PAYLOAD as unknown } = {}) {
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      if (path !== HOLDING) return { "genesis-hash": hash.toString("base64"), "last-round": 5 };
      if (holding instanceof Error) throw holding;
      return holding;
    },
  };
  return await exactAvm().readBalance?.({ payload: paid, requirements: requirements(), rpc });
}

describe("readBalance", () => {
  test("readBalance asks what the payer holds", async () => {
    expect(await read({ "asset-holding": { amount: 42 } })).toEqual({ kind: "known", amount: 42n });
  });

  test("readBalance finds nothing for a payer who has not opted in", async () => {
    expect(await read(new RpcError("no such holding", "status", 404))).toEqual({ kind: "known", amount: 0n });
  });

  test.each<[why: string, holding: unknown, change: { hash?: Buffer; paid?: unknown }]>([
    ["when the node is of another network", { "asset-holding": { amount: 1 } }, { hash: MAINNET_HASH }],
    ["when the node breaks", new TypeError("secret"), {}],
    ["when the holding has no amount", { "asset-holding": {} }, {}],
    ["when the amount is a text", { "asset-holding": { amount: "1" } }, {}],
    ["for a payload of another form", { "asset-holding": { amount: 1 } }, { paid: {} }],
  ])("readBalance is unclear %s", async (_, holding, change) => {
    const found = await read(holding, change);
    expect(found).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(found)).not.toContain("secret");
  });
});
