import type { RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { encodeBase58 } from "../address.js";
import { NETWORK } from "../payments.fixture.js";
import { exactSvm } from "./scheme.js";

const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;
const TX = encodeBase58(Buffer.alloc(64, 7));

/** What a node with this status says about a transaction. */
async function read(status: unknown, { genesis = GENESIS, transaction = TX } = {}) {
  const asked: unknown[] = [];
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, params) {
      if (method === "getGenesisHash") return genesis;
      asked.push([method, ...params]);
      return { context: { slot: 1 }, value: [status] };
    },
  };
  return { found: await exactSvm().readConfirmations?.({ transaction, network: NETWORK, rpc }), asked };
}

describe("readConfirmations", () => {
  test("readConfirmations counts the blocks from that of the transaction on, until it is final", async () => {
    const { found, asked } = await read({ slot: 1, confirmations: 0, err: null });
    expect(found).toEqual({ kind: "confirmed", confirmations: 1 });
    expect(asked).toEqual([["getSignatureStatuses", [TX], { searchTransactionHistory: true }]]);
    expect((await read({ confirmations: 9, err: null })).found).toEqual({ kind: "confirmed", confirmations: 10 });
    const final = { kind: "confirmed", confirmations: Number.POSITIVE_INFINITY };
    expect((await read({ confirmations: null, err: null })).found).toEqual(final);
  });

  test.each<[why: string, status: unknown, kind: string, change?: { genesis?: string; transaction?: string }]>([
    ["the chain does not have it", null, "absent"],
    ["it failed", { confirmations: 3, err: { InstructionError: [] } }, "failed"],
    ["the node says nothing about an error", { confirmations: 3 }, "unclear"],
    ["the count is no number", { confirmations: "3", err: null }, "unclear"],
    ["the node is of another network", {}, "unclear", { genesis: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" }],
    ["it is no transaction", null, "unclear", { transaction: "0xabc" }],
  ])("readConfirmations tells when %s", async (_why, status, kind, change) => {
    expect((await read(status, change)).found).toMatchObject({ kind });
  });
});
