import { toHex } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import {
  changed,
  closeNodes,
  countOf,
  find,
  HEAD,
  hashOf,
  isIn,
  type Method,
  type Methods,
  MOVED,
  OTHER,
  type Range,
  type Reply,
  type RunningNode,
  USE,
  USED_AT,
} from "../exact/node.fixture.js";

afterEach(closeNodes);

/** Blocks that were looked through, as `from-to` counted back from the head. */
function rangesOf({ calls }: RunningNode): readonly (readonly [bigint, bigint])[] {
  return calls
    .filter(({ method }) => method === "eth_getLogs")
    .map(({ params: [filter] }) => filter as Range)
    .map(({ fromBlock, toBlock }) => [HEAD - BigInt(fromBlock), HEAD - BigInt(toBlock)] as const);
}

describe("scanLogs", () => {
  /** A node that searches at most so many blocks at once. */
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

  test("the scan asks for the newest blocks first, 9000 at once", async () => {
    const { finding, node } = await find(EMPTY);
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(rangesOf(node).slice(0, 3)).toEqual([
      [8_999n, 0n],
      [17_999n, 9_000n],
      [26_999n, 18_000n],
    ]);
  });

  test.each<[validAfter: string, ranges: number, why: string]>([
    ["0", 6, "26 hours before its expiry take so many, at two seconds a block"],
    ["1799999700", 1, "it became valid only 10 minutes before"],
    ["1799970000", 2, "it became valid eight hours before"],
  ])(
    "the scan ends before the payment was valid: with validAfter %s it takes %i ranges, because %s",
    async (validAfter, ranges) => {
      const { finding, node } = await find(EMPTY, { payload: changed({ validAfter }) });
      expect(finding).toMatchObject({ kind: "unclear" });
      expect(rangesOf(node)).toHaveLength(ranges);
    },
  );

  test("the scan ends with the first block of the chain", async () => {
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
  ])("a range is halved until the node accepts it: %i, %j %s", async (blocks, refusal) => {
    const { finding, node } = await find({ eth_getLogs: atMost(blocks, refusal) });
    expect(finding).toEqual(MOVED);
    const first = rangesOf(node).findIndex(([from, to]) => from - to < blocks);
    for (const [from, to] of rangesOf(node).slice(first)) expect(from - to).toBeLessThan(blocks);
  });

  test("a range is not halved below eight blocks", async () => {
    const { finding, node } = await find({ eth_getLogs: atMost(5n, REFUSED) });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(countOf(node, "eth_getLogs")).toBe(11);
  });

  test.each<[refusal: Reply, why: string]>([
    [{ write: (response) => response.writeHead(401).end() }, "status 401"],
    [{ write: (response) => response.writeHead(429).end() }, "status 429"],
    [{ write: (response) => response.writeHead(503).end() }, "status 503"],
    [{ write: (response) => void response.destroy() }, "a connection that breaks off"],
  ])("a range is not asked for again after another failure: %j %s", async (refusal) => {
    const { finding, node } = await find({ eth_getLogs: () => refusal });
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(countOf(node, "eth_getLogs")).toBe(1);
  });

  test("the scan gives up after 60 questions", async () => {
    const { finding, node } = await find({ eth_getLogs: atMost(10n, REFUSED, HEAD - 5_000n) });
    expect(finding).toEqual({ kind: "unclear", problem: "node was asked 60 times without a result" });
    expect(node.calls).toHaveLength(60);
  });
});
