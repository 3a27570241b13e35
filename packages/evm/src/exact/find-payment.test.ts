import { type ChainFinding, createJsonRpc, type PaymentQuery } from "@farebox/core";
import fc from "fast-check";
import { type Hex, toHex } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import { exactEvm } from "./exact-evm.js";
import {
  AUTHORIZATION,
  blockOf,
  CANCELLATION,
  closeNodes,
  HEAD,
  hashOf,
  isIn,
  type Method,
  PAYLOAD,
  type Range,
  REQUIREMENTS,
  type Reply,
  type RunningNode,
  receipt,
  startNode,
  TRANSACTION,
  transfer,
  USE,
  USED_AT,
} from "./node.fixture.js";

afterEach(closeNodes);

type Methods = Readonly<Record<string, Method>>;

const MOVED: ChainFinding = { kind: "moved", transaction: TRANSACTION };
const UNUSED: Method = () => ({ result: toHex(0n, { size: 32 }) });
const OTHER: Hex = `0x${"22".repeat(32)}`;
const STRANGER: Hex = `0x${"33".repeat(20)}`;

/** Asks a node about the payment. */
function findAt(url: string, changes: Partial<PaymentQuery> & { readonly deadlineMs?: number } = {}) {
  const { deadlineMs = 5_000, ...query } = changes;
  const rpc = createJsonRpc(url, { deadlineMs });
  return exactEvm().findPayment?.({ payload: PAYLOAD, requirements: REQUIREMENTS, rpc, ...query });
}

/** Asks a node that lies in these methods, and keeps what it was asked. */
async function find(methods: Methods = {}, changes: Parameters<typeof findAt>[1] = {}) {
  const node = await startNode(methods);
  return { finding: await findAt(node.url, changes), node };
}

function changed(authorization: Partial<Record<keyof typeof AUTHORIZATION, string>>) {
  return { ...PAYLOAD, authorization: { ...AUTHORIZATION, ...authorization } };
}

function countOf({ calls }: RunningNode, method: string): number {
  return calls.filter((call) => call.method === method).length;
}

/** Blocks that were looked through, as `from-to` counted back from the head. */
function rangesOf({ calls }: RunningNode): readonly (readonly [bigint, bigint])[] {
  return calls
    .filter(({ method }) => method === "eth_getLogs")
    .map(({ params: [filter] }) => filter as Range)
    .map(({ fromBlock, toBlock }) => [HEAD - BigInt(fromBlock), HEAD - BigInt(toBlock)] as const);
}

describe("a nonce that was not used", () => {
  /** The newest block has this time. */
  const at = (seconds: number): Methods => ({
    eth_call: UNUSED,
    eth_getBlockByNumber: () => ({ result: { ...blockOf(HEAD), timestamp: toHex(seconds) } }),
  });

  test.each<[seconds: number, kind: string, why: string]>([
    [1_800_000_000, "open", "there is time"],
    [1_800_000_299, "open", "there is a second"],
    [1_800_000_300, "never", "the token demands a time before"],
    [1_900_000_000, "never", "it is long over"],
  ])("at %i is %s: %s", async (seconds, kind) => {
    expect((await find(at(seconds))).finding).toEqual({ kind });
  });

  test("is asked for at the very block whose time counts, and nothing else is asked", async () => {
    const { node } = await find({ eth_call: UNUSED });
    const [to, data] = [REQUIREMENTS.asset, expect.stringMatching(/^0xe94a0102[0-9a-f]{128}$/)];
    expect(node.calls).toEqual([
      { method: "eth_chainId", params: [] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      { method: "eth_call", params: [{ to, data }, { blockHash: hashOf(HEAD) }] },
    ]);
  });
});

describe("a nonce that was used", () => {
  const says = (...logs: readonly unknown[]): Methods => ({
    eth_getTransactionReceipt: () => ({ result: receipt(logs) }),
  });
  const byOther = transfer({ from: STRANGER, logIndex: "0x4" });
  const second = { ...USE, topics: [...USE.topics.slice(0, 2), OTHER], logIndex: "0x7" };

  test("has moved the money when the transfer follows", async () => {
    const { finding, node } = await find();
    expect(finding).toEqual(MOVED);
    expect(node.calls.slice(3).map(({ method }) => method)).toEqual(["eth_getLogs", "eth_getTransactionReceipt"]);
  });

  test.each<[finding: ChainFinding | "unclear", logs: readonly unknown[], why: string]>([
    [MOVED, [byOther, USE, transfer()], "another payer's transfer is before"],
    [
      MOVED,
      [USE, { ...byOther, address: STRANGER, logIndex: "0x6" }, transfer({ logIndex: "0x8" })],
      "another token's log is between",
    ],
    [
      MOVED,
      [USE, transfer(), second, transfer({ to: STRANGER, logIndex: "0x8" })],
      "another authorization comes behind",
    ],
    [{ kind: "never" }, [USE, transfer({ value: 9_999n })], "the value differs"],
    [{ kind: "never" }, [USE, transfer({ value: 10_001n })], "the value differs the other way"],
    [{ kind: "never" }, [USE, transfer({ to: STRANGER })], "the recipient differs"],
    [
      { kind: "never" },
      [USE, transfer({ to: STRANGER }), second, transfer({ logIndex: "0x8" })],
      "the money was moved by another authorization",
    ],
    ["unclear", [USE], "there is no transfer"],
    ["unclear", [transfer({ logIndex: "0x4" }), USE], "the transfer is before"],
    ["unclear", [USE, { ...transfer(), address: STRANGER }], "the transfer is another token's"],
    ["unclear", [USE, transfer({ from: STRANGER })], "the transfer is another payer's"],
    ["unclear", [USE, { ...transfer(), topics: transfer().topics.slice(0, 2) }], "the transfer has no recipient"],
    [
      "unclear",
      [USE, { ...transfer(), topics: [...transfer().topics, OTHER] }],
      "the transfer is of one thing, not of an amount",
    ],
    ["unclear", [transfer()], "the use is not in the receipt"],
    ["unclear", [{ ...USE, logIndex: "0x4" }, transfer()], "the use is elsewhere in the block"],
    ["unclear", [{ ...USE, topics: [...USE.topics.slice(0, 2), OTHER] }, transfer()], "the use is of another nonce"],
    ["unclear", [USE, transfer({ logIndex: "0x4" })], "the transfer was before, and the logs are in no order"],
    ["unclear", [USE, transfer({ logIndex: "0x5" })], "two logs have one place"],
  ])("is %j: %j %s", async (finding, logs) => {
    const expected = finding === "unclear" ? { kind: "unclear", problem: expect.any(String) } : finding;
    expect((await find(says(...logs))).finding).toEqual(expected);
  });

  test("by a cancellation has moved nothing and never will", async () => {
    const eth_getLogs: Method = () => ({ result: [CANCELLATION] });
    expect((await find({ eth_getLogs, ...says(CANCELLATION) })).finding).toEqual({ kind: "never" });
    expect((await find({ eth_getLogs, ...says(USE, transfer()) })).finding).toMatchObject({ kind: "unclear" });
  });

  test("is found whatever case addresses and hashes are written in", async () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const loud = (log: typeof USE) => ({
      ...log,
      address: upper(log.address),
      topics: log.topics.map(upper),
      transactionHash: upper(log.transactionHash),
    });
    const eth_getLogs: Method = () => ({ result: [loud(USE)] });
    expect((await find({ eth_getLogs, ...says(loud(USE), loud(transfer())) })).finding).toEqual(MOVED);
  });
});

describe("the blocks that are looked through", () => {
  /** A node that looks through so many blocks at once. */
  const atMost = (blocks: bigint, refusal: Reply, used = USED_AT): Method => {
    return ([filter]) => {
      const { fromBlock, toBlock } = filter as Range;
      if (BigInt(toBlock) - BigInt(fromBlock) >= blocks) return refusal;
      const place = { blockNumber: toHex(used), blockHash: hashOf(used) };
      return { result: isIn(filter as Range, used) ? [{ ...USE, ...place }] : [] };
    };
  };
  const REFUSED: Reply = { error: { code: -32_005, message: "query returned more than 10000 results" } };
  const EMPTY: Methods = { eth_getLogs: () => ({ result: [] }) };

  test("are the newest first, and 9000 at once", async () => {
    const { finding, node } = await find(EMPTY);
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(rangesOf(node).slice(0, 3)).toEqual([
      [8_999n, 0n],
      [17_999n, 9_000n],
      [26_999n, 18_000n],
    ]);
  });

  test.each<[validAfter: string, ranges: number, why: string]>([
    ["0", 6, "26 hours before it runs out, at two seconds a block"],
    ["1799999700", 1, "it became valid only 10 minutes before"],
    ["1799970000", 2, "it became valid eight hours before"],
  ])("end where the payment cannot have been made: valid from %s takes %i, for %s", async (validAfter, ranges) => {
    const { finding, node } = await find(EMPTY, { payload: changed({ validAfter }) });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(rangesOf(node)).toHaveLength(ranges);
  });

  test("end with the first block of the chain", async () => {
    const young: Methods = {
      eth_getBlockByNumber: ([tag]) => ({
        result: { number: tag === "latest" ? "0x2710" : tag, hash: OTHER, timestamp: toHex(1_800_000_000) },
      }),
    };
    const { finding, node } = await find({ ...young, ...EMPTY });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(node.calls.filter(({ method }) => method === "eth_getLogs").map(({ params }) => params[0])).toMatchObject([
      { fromBlock: "0x3e9", toBlock: "0x2710" },
      { fromBlock: "0x0", toBlock: "0x3e8" },
    ]);
  });

  test.each<[blocks: bigint, refusal: Reply, why: string]>([
    [2_000n, REFUSED, "an error"],
    [500n, { error: { code: -32_602, message: "range too large" } }, "another error"],
    [10n, { write: (response) => response.writeHead(400).end("{}") }, "status 400"],
    [1_000n, { write: (response) => response.writeHead(413).end() }, "status 413"],
  ])("are halved until the node takes them: %i, %j %s", async (blocks, refusal) => {
    const { finding, node } = await find({ eth_getLogs: atMost(blocks, refusal) });
    expect(finding).toEqual(MOVED);
    const first = rangesOf(node).findIndex(([from, to]) => from - to < blocks);
    for (const [from, to] of rangesOf(node).slice(first)) expect(from - to).toBeLessThan(blocks);
  });

  test("are not asked for in pieces of fewer than eight", async () => {
    const { finding, node } = await find({ eth_getLogs: atMost(5n, REFUSED) });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(countOf(node, "eth_getLogs")).toBe(11);
  });

  test.each<[refusal: Reply, why: string]>([
    [{ write: (response) => response.writeHead(401).end() }, "status 401"],
    [{ write: (response) => response.writeHead(429).end() }, "status 429"],
    [{ write: (response) => response.writeHead(503).end() }, "status 503"],
    [{ write: (response) => void response.destroy() }, "a connection that breaks off"],
  ])("are not asked for again when the node is not well: %j %s", async (refusal) => {
    const { finding, node } = await find({ eth_getLogs: () => refusal });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(countOf(node, "eth_getLogs")).toBe(1);
  });

  test("are given up after 60 questions", async () => {
    const { finding, node } = await find({ eth_getLogs: atMost(10n, REFUSED, HEAD - 5_000n) });
    expect(finding).toEqual({ kind: "unclear", problem: "node was asked 60 times without a result" });
    expect(node.calls).toHaveLength(60);
  });
});

describe("a node that is not to be believed", () => {
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
    [result("eth_getLogs", {}), "logs are no list"],
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
    [log({ topics: USE.topics.join() }), "the topics are no list"],
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
  ])("decides nothing: %j, %s", async (methods) => {
    const { finding } = await find(methods);
    expect(finding).toEqual({ kind: "unclear", problem: expect.stringMatching(/^[\w ():,'-]{1,120}$/) });
  });

  test.each(["eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getLogs", "eth_getTransactionReceipt"])(
    "and does not finish its answer to %s in time decides nothing",
    async (method) => {
      const { finding } = await find(
        raw(method, (response) => void response.writeHead(200).write("{")),
        { deadlineMs: 1_000 },
      );
      expect(finding).toEqual({ kind: "unclear", problem: `node did not answer ${method} within 1000 ms` });
    },
  );

  test("and writes a use with a topic more, also in the receipt, decides nothing", async () => {
    const use = { ...USE, topics: [...USE.topics, OTHER] };
    const said = {
      ...result("eth_getLogs", [use]),
      ...result("eth_getTransactionReceipt", receipt([use, transfer()])),
    };
    expect((await find(said)).finding).toMatchObject({ kind: "unclear" });
  });

  test("and answers with another block than the one asked for is not asked on", async () => {
    const { finding, node } = await find({
      ...result("eth_getLogs", []),
      ...result("eth_getBlockByNumber", blockOf(HEAD)),
    });
    expect(finding).toMatchObject({ kind: "unclear", problem: expect.stringContaining("eth_getBlockByNumber") });
    expect(countOf(node, "eth_getLogs")).toBe(1);
  });

  test("is not asked anything but which chain it is of while it is of another", async () => {
    const { finding, node } = await find(result("eth_chainId", "0x1"));
    expect(finding).toEqual({ kind: "unclear", problem: "the node is not of eip155:84532" });
    expect(node.calls).toHaveLength(1);
  });

  test("whatever it says, is believed only where it says it saw the transfer, and nothing is thrown", async () => {
    const methods = ["eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getLogs", "eth_getTransactionReceipt"];
    const lie = fc.record({ method: fc.constantFrom(...methods), value: fc.jsonValue() });
    await fc.assert(
      fc.asyncProperty(lie, async ({ method, value }) => {
        // An empty list of logs is an answer; that the log was not found is, too.
        expect((await find(result(method, value))).finding).toMatchObject({ kind: "unclear" });
      }),
      { numRuns: 50 },
    );
  });
});

describe("a question that makes no sense", () => {
  test.each<[query: Partial<PaymentQuery>, why: string]>([
    [{ payload: undefined }, "there is no payment"],
    [{ payload: { ...PAYLOAD, authorization: null } }, "nothing was signed"],
    [{ payload: changed({ nonce: "0x1" }) }, "the nonce is none"],
    [{ payload: changed({ to: STRANGER }) }, "the payment is for somebody else"],
    [{ payload: changed({ value: "1" }) }, "the payment is of another amount"],
    [{ requirements: { ...REQUIREMENTS, asset: "USDC" } }, "the asset is none"],
    [{ requirements: {} as never }, "there are no terms"],
    [{ requirements: null as never }, "there are no terms at all"],
  ])("asks nobody: %j, %s", async (query) => {
    const { finding, node } = await find({}, query);
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(node.calls).toEqual([]);
  });

  test("because nobody waits for the answer is unclear", async () => {
    expect((await find({}, { signal: AbortSignal.abort() })).finding).toMatchObject({ kind: "unclear" });
  });

  test("by a client that throws something of its own is unclear, and not quoted", async () => {
    const rpc = {
      call: async () => {
        throw new RangeError("https://node.example/secret");
      },
    };
    const finding = await findAt("http://localhost", { rpc });
    expect(finding).toEqual({ kind: "unclear", problem: "the node could not be asked" });
  });
});
