import fc from "fast-check";
import { maxUint256, numberToHex, padHex, toEventSelector, toHex } from "viem";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  blockOf,
  closeNodes,
  countOf,
  find,
  HEAD,
  type Methods,
  OTHER,
  type Reply,
  receipt,
  STRANGER,
  TRANSACTION,
  transfer,
  USE,
} from "../exact/node.fixture.js";
import { addressWord, TRANSFER, uintWord } from "./node-questions.js";

afterEach(closeNodes);

describe("an untrusted node", () => {
  const log = (change: object): Methods => ({ eth_getLogs: () => ({ result: [{ ...USE, ...change }] }) });
  const result = (method: string, value: unknown): Methods => ({ [method]: () => ({ result: value }) });
  const raw = (method: string, write: Extract<Reply, { write: unknown }>["write"]): Methods => ({
    [method]: () => ({ write }),
  });
  const whole = receipt([USE, transfer()]);

  test.each<[methods: Methods, why: string]>([
    [result("eth_chainId", "0x2105"), "it is of another chain"],
    [result("eth_chainId", 84_532), "the chain id is a number"],
    [result("eth_chainId", "84532"), "the chain id is decimal"],
    [result("eth_chainId", `0x${"1".repeat(65)}`), "the chain id is longer than any number"],
    [result("eth_getBlockByNumber", null), "it has no block"],
    [result("eth_getBlockByNumber", { ...blockOf(HEAD), hash: null }), "the block has no hash yet"],
    [result("eth_getBlockByNumber", { ...blockOf(HEAD), timestamp: 1_900_000_000 }), "the time is a number"],
    [result("eth_getBlockByNumber", { ...blockOf(HEAD), number: "latest" }), "the block has a name for a number"],
    [result("eth_call", "0x"), "there is no such token"],
    [result("eth_call", true), "the state is not hex"],
    [result("eth_call", toHex(2n, { size: 32 })), "the state is neither yes nor no"],
    [{ eth_call: () => ({ error: { code: -32_000, message: "header not found" } }) }, "it does not have that block"],
    [result("eth_getLogs", {}), "logs are not a list"],
    [result("eth_getLogs", [null]), "a log is nothing"],
    [result("eth_getLogs", [USE, { ...USE, logIndex: "0x7" }]), "a nonce is used twice"],
    [
      result(
        "eth_getLogs",
        Array.from({ length: 1_000 }, () => USE),
      ),
      "a nonce is used a thousand times",
    ],
    [log({ removed: true }), "the log was removed"],
    [log({ removed: "false" }), "whether it was removed is not said"],
    [log({ address: STRANGER }), "the log is of another token"],
    [log({ topics: [USE.topics[0], USE.topics[1], OTHER] }), "the log is of another nonce"],
    [log({ topics: [USE.topics[0], OTHER, USE.topics[2]] }), "the log is of another payer"],
    [log({ topics: [OTHER, USE.topics[1], USE.topics[2]] }), "the log is of another event"],
    [log({ topics: USE.topics.slice(0, 2) }), "the log lacks a topic"],
    [log({ topics: [...USE.topics, OTHER] }), "the log has a topic more"],
    [log({ topics: USE.topics.join() }), "the topics are not a list"],
    [log({ transactionHash: "0xab" }), "the hash is short"],
    [log({ transactionHash: null }), "the transaction waits"],
    [log({ transactionHash: `${TRANSACTION}<script>` }), "the hash is long"],
    [log({ blockNumber: toHex(HEAD + 1n) }), "the log is of a block to come"],
    [log({ blockNumber: toHex(HEAD - 9_000n) }), "the log is of a block that was not asked for"],
    [log({ blockHash: null }), "the log has no block"],
    [log({ data: 0 }), "the data are a number"],
    [result("eth_getTransactionReceipt", null), "it does not know the transaction"],
    [result("eth_getTransactionReceipt", { ...whole, status: "0x0" }), "the transaction failed"],
    [result("eth_getTransactionReceipt", { ...whole, status: undefined }), "whether it failed is not said"],
    [result("eth_getTransactionReceipt", { ...whole, transactionHash: OTHER }), "the receipt is another's"],
    [result("eth_getTransactionReceipt", { ...whole, blockHash: OTHER }), "the receipt is of another block"],
    [result("eth_getTransactionReceipt", { ...whole, logs: null }), "the receipt has no logs"],
    [
      result("eth_getTransactionReceipt", receipt([USE, { ...transfer(), transactionHash: OTHER }])),
      "the transfer is of another transaction",
    ],
    [result("eth_getTransactionReceipt", receipt([USE, { ...transfer(), removed: true }])), "the transfer was removed"],
    [raw("eth_chainId", (response) => response.end("<html>")), "HTML"],
    [raw("eth_call", (response) => response.end("0x1")), "no JSON"],
    [raw("eth_getLogs", (response) => response.end("[".repeat(100_000))), "too deep"],
    [raw("eth_getLogs", (response) => response.end(" ".repeat(1024 * 1024 + 1))), "a huge body"],
    [
      raw("eth_getLogs", (response) =>
        response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
      ),
      "half a body",
    ],
    [raw("eth_getTransactionReceipt", (response) => response.writeHead(302, { location: "/" }).end()), "a redirect"],
    [raw("eth_chainId", (response) => response.writeHead(500).end()), "a failure"],
  ])("a wrong response decides nothing: %j, %s", async (methods) => {
    const { finding } = await find(methods);
    expect(finding).toEqual({ kind: "unclear", problem: expect.stringMatching(/^[\w ():,'-]{1,120}$/) });
  });

  test.each(["eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getLogs", "eth_getTransactionReceipt"])(
    "a response to %s that does not end in time decides nothing",
    async (method) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const { finding } = await find(
        raw(method, (response) => {
          response.writeHead(200).write("{");
          vi.advanceTimersByTime(1_000);
        }),
        { deadlineMs: 1_000 },
      );
      expect(finding).toEqual({ kind: "unclear", problem: `node did not respond to ${method} within 1000 ms` });
    },
  );

  test("a use with an extra topic, in the receipt too, decides nothing", async () => {
    const use = { ...USE, topics: [...USE.topics, OTHER] };
    const said = {
      ...result("eth_getLogs", [use]),
      ...result("eth_getTransactionReceipt", receipt([use, transfer()])),
    };
    expect((await find(said)).finding).toMatchObject({ kind: "unclear" });
  });

  test("a node that responds with another block is not asked again", async () => {
    const { finding, node } = await find({
      ...result("eth_getLogs", []),
      ...result("eth_getBlockByNumber", blockOf(HEAD)),
    });
    expect(finding).toMatchObject({ kind: "unclear", problem: expect.stringContaining("eth_getBlockByNumber") });
    expect(countOf(node, "eth_getLogs")).toBe(1);
  });

  test("a node of another chain is asked only for its chain id", async () => {
    const { finding, node } = await find(result("eth_chainId", "0x1"));
    expect(finding).toEqual({ kind: "unclear", problem: "the node is not of eip155:84532" });
    expect(node.calls).toHaveLength(1);
  });

  test("a false response to any question decides nothing, and nothing is thrown", async () => {
    const methods = ["eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getLogs", "eth_getTransactionReceipt"];
    const lie = fc.record({ method: fc.constantFrom(...methods), value: fc.jsonValue() });
    await fc.assert(
      fc.asyncProperty(lie, async ({ method, value }) => {
        // An empty list of logs is a valid response; so the log was not found.
        expect((await find(result(method, value))).finding).toMatchObject({ kind: "unclear" });
      }),
      { numRuns: 50 },
    );
  });
});

const ADDRESS = "0x857b06519E91e3A54538791bDbb0E22373e36b66";

test("the topic of a transfer is that of ERC-20's event", () => {
  expect(TRANSFER).toBe(toEventSelector("event Transfer(address indexed from, address indexed to, uint256 value)"));
});

test("addresses and amounts are encoded as words of 32 bytes", () => {
  expect(addressWord(ADDRESS)).toBe(padHex(ADDRESS).toLowerCase());
  for (const amount of [0n, 1n, 10_000n, maxUint256]) expect(uintWord(amount)).toBe(numberToHex(amount, { size: 32 }));
});
