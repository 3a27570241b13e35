import { createRpcNode } from "@farebox/core";
import { afterEach, describe, expect, test } from "vitest";
import { uptoEvm } from "../upto/upto-evm.js";
import { exactEvm } from "./exact-evm.js";
import { closeNodes, HEAD, hashOf, type Methods, REQUIREMENTS, startNode } from "./node.fixture.js";

afterEach(closeNodes);

const TX = `0x${"ab".repeat(32)}`;
const { network } = REQUIREMENTS;

function receiptAt(block: bigint, change: object = {}): Methods {
  const receipt = {
    transactionHash: TX,
    blockNumber: `0x${block.toString(16)}`,
    blockHash: hashOf(block),
    status: "0x1",
    ...change,
  };
  return { eth_getTransactionReceipt: () => ({ result: receipt }) };
}

async function read(methods: Methods, transaction = TX, scheme = exactEvm()) {
  const node = await startNode(methods);
  return scheme.readConfirmations?.({ transaction, network, rpc: createRpcNode(node.url, { deadlineMs: 120_000 }) });
}

describe("readConfirmations", () => {
  test.each([
    [HEAD, 1],
    [HEAD - 1n, 2],
    [HEAD - 9n, 10],
  ])("readConfirmations counts the blocks from that of the receipt on: %s of a head", async (block, confirmations) => {
    expect(await read(receiptAt(block))).toEqual({ kind: "confirmed", confirmations });
    expect(await read(receiptAt(block), TX, uptoEvm())).toEqual({ kind: "confirmed", confirmations });
  });

  test.each<[why: string, methods: Methods, kind: string]>([
    ["there is no receipt", { eth_getTransactionReceipt: () => ({ result: null }) }, "absent"],
    ["the receipt is of a block that is no longer in the chain", receiptAt(HEAD - 1n, { blockHash: TX }), "absent"],
    ["the node's head is below the receipt", receiptAt(HEAD + 1n), "absent"],
    ["the transaction was reverted", receiptAt(HEAD, { status: "0x0" }), "failed"],
    ["the receipt is of another transaction", receiptAt(HEAD, { transactionHash: hashOf(HEAD) }), "unclear"],
    ["the receipt has no block", receiptAt(HEAD, { blockNumber: null }), "unclear"],
    ["the node is of another network", { ...receiptAt(HEAD), eth_chainId: () => ({ result: "0x1" }) }, "unclear"],
  ])("readConfirmations tells when %s", async (_why, methods, kind) => {
    expect(await read(methods)).toMatchObject({ kind });
  });

  test("readConfirmations asks nothing about what is no transaction", async () => {
    const node = await startNode({});
    const asked = { transaction: "0x1", network, rpc: createRpcNode(node.url, { deadlineMs: 120_000 }) };
    expect(await exactEvm().readConfirmations?.(asked)).toMatchObject({ kind: "unclear" });
    expect(node.calls).toEqual([]);
  });
});
