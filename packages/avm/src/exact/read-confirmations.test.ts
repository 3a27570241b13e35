import { RpcError, type RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { GENESIS_HASH, MAINNET_HASH, requirements } from "../payments.fixture.js";
import { exactAvm } from "./scheme.js";

const TX = "A".repeat(52);
const { network } = requirements();

/** What a node that has this says about a transaction. */
async function read(pending: unknown, { hash = GENESIS_HASH, transaction = TX } = {}) {
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      if (path === "/v2/transactions/params") return { "genesis-hash": hash.toString("base64"), "last-round": 5 };
      expect(path).toBe(`/v2/transactions/pending/${TX}?format=json`);
      if (pending instanceof Error) throw pending;
      return pending;
    },
  };
  return exactAvm().readConfirmations?.({ transaction, network, rpc });
}

describe("readConfirmations", () => {
  test("readConfirmations finds a transaction final as soon as it is in a round", async () => {
    expect(await read({ "confirmed-round": 5 })).toEqual({
      kind: "confirmed",
      confirmations: Number.POSITIVE_INFINITY,
    });
  });

  test.each<[why: string, pending: unknown, kind: string, change?: { hash?: Buffer; transaction?: string }]>([
    ["it is pending", { "pool-error": "" }, "absent"],
    ["the node does not know it", new RpcError("none", "status", 404), "absent"],
    ["the node fails", new RpcError("down", "unreachable"), "unclear"],
    ["the node is of another network", {}, "unclear", { hash: MAINNET_HASH }],
    ["it is no transaction", {}, "unclear", { transaction: "../status" }],
  ])("readConfirmations tells when %s", async (_why, pending, kind, change) => {
    expect(await read(pending, change)).toMatchObject({ kind });
  });
});
