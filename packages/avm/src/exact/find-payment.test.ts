import { type ChainFinding, RpcError, type RpcNode } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { algos, GENESIS_HASH, MAINNET_HASH, payload, ROUND, requirements, transfer } from "../payments.fixture.js";
import { findTransferPayment } from "./find-payment.js";

const PAYING = transfer();
const PAYLOAD = payload({ transactions: [algos(), PAYING] });
const ID = PAYING.txID();
const LAST = ROUND + 1000;

/** Yields the response at a path, or a status. */
type Responses = (path: string) => unknown;

const stateAt = (round: unknown, hash: unknown = GENESIS_HASH.toString("base64")) => ({
  "genesis-hash": hash,
  "last-round": round,
});

/** A node with this last round. It has all blocks, without transactions. */
function node(round: number, responses: Responses = () => undefined) {
  const asked: string[] = [];
  const usual = (path: string): unknown => {
    if (path.startsWith("/v2/transactions/params")) return stateAt(round);
    return path.startsWith("/v2/blocks/") ? { blockTxids: [] } : 404;
  };
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      asked.push(path);
      const said = responses(path);
      const response = said === undefined ? usual(path) : said;
      if (typeof response === "number") throw new RpcError(`node answered with status ${response}`, "status", response);
      return response;
    },
  };
  const find = (paid: unknown = PAYLOAD, terms = requirements()): Promise<ChainFinding> =>
    findTransferPayment({ payload: paid, requirements: terms, rpc });
  return { find, asked, blocks: () => asked.filter((path) => path.startsWith("/v2/blocks/")) };
}

const pending = (response: unknown) => (path: string) =>
  path === `/v2/transactions/pending/${ID}?format=json` ? response : undefined;

const inBlock = (round: number) => (path: string) =>
  path === `/v2/blocks/${round}/txids?format=json` ? { blockTxids: ["OTHER", ID] } : undefined;

describe("a payment that the node knows", () => {
  test.each<[what: string, response: unknown, kind: ChainFinding["kind"]]>([
    ["in its first round", { "confirmed-round": ROUND }, "moved"],
    ["in its last round", { "confirmed-round": LAST }, "moved"],
    ["that is pending", { "pool-error": "" }, "open"],
    ["that is pending, with round 0", { "pool-error": "", "confirmed-round": 0 }, "open"],
    ["that it has dropped, but other nodes may have", { "pool-error": "overspend" }, "open"],
    ["before its first round", { "confirmed-round": ROUND - 1 }, "unclear"],
    ["after its last round", { "confirmed-round": LAST + 1 }, "unclear"],
    ["in a round of another type", { "confirmed-round": "50001" }, "unclear"],
    ["in a round that is not a whole number", { "confirmed-round": 50_001.5 }, "unclear"],
    ["with a string as response", "yes", "unclear"],
    ["with null as response", null, "unclear"],
  ])("findPayment judges a payment that the node knows %s", async (_, response, kind) => {
    const found = await node(LAST, pending(response)).find();
    expect(found).toMatchObject(kind === "moved" ? { kind, transaction: ID } : { kind });
  });
});

describe("a payment that the node does not know", () => {
  test.each([ROUND - 5, ROUND, LAST, LAST + 10])(
    "findPayment is open in round %i, and requests no block",
    async (round) => {
      const { find, asked } = node(round);
      expect(await find()).toEqual({ kind: "open" });
      expect(asked).toHaveLength(2);
    },
  );

  test("findPayment says never once the rounds are over and no block of them has the payment", async () => {
    const { find, blocks } = node(LAST + 11);
    expect(await find()).toEqual({ kind: "never" });
    const rounds = Array.from({ length: 21 }, (_, nth) => `/v2/blocks/${ROUND + nth}/txids?format=json`);
    expect(blocks()).toEqual(rounds);
  });

  test.each([ROUND, ROUND + 7, ROUND + 20])("findPayment finds a payment in the block of round %i", async (round) => {
    expect(await node(LAST + 11, inBlock(round)).find()).toEqual({ kind: "moved", transaction: ID });
  });

  test("findPayment searches the blocks that the node may have forgotten by the later of its two last rounds", async () => {
    const rounds = [LAST + 11, LAST + 30];
    const { find, blocks } = node(0, (path) => (path.includes("params") ? stateAt(rounds.shift()) : undefined));
    expect(await find()).toEqual({ kind: "never" });
    expect(blocks()).toHaveLength(40);
  });

  test("findPayment searches no block while the node remembers all rounds of the payment", async () => {
    const paying = transfer({ lastValid: ROUND + 50 });
    const { find, asked } = node(ROUND + 61);
    expect(await find(payload({ transactions: [algos({ lastValid: ROUND + 50 }), paying] }))).toEqual({
      kind: "never",
    });
    expect(asked).toHaveLength(3);
  });

  test("findPayment searches the payment's own blocks and no others, however long ago they were", async () => {
    const paying = transfer({ lastValid: ROUND + 50 });
    const { find, blocks } = node(ROUND + 1_000_000);
    expect(await find(payload({ transactions: [algos({ lastValid: ROUND + 50 }), paying] }))).toEqual({
      kind: "never",
    });
    expect(blocks()).toHaveLength(51);
  });

  test("findPayment is unclear and requests no block when there are too many", async () => {
    expect(await node(LAST + 290).find()).toEqual({ kind: "never" });
    const { find, asked } = node(LAST + 291);
    expect(await find()).toMatchObject({ kind: "unclear", problem: expect.stringContaining("too long") });
    expect(asked).toHaveLength(3);
  });

  test.each([404, 429, 500])("findPayment is unclear when the node responds with %i for one block", async (status) => {
    const path = `/v2/blocks/${ROUND + 9}/txids?format=json`;
    const { find } = node(LAST + 11, (asked) => (asked === path ? status : undefined));
    expect(await find()).toMatchObject({ kind: "unclear", problem: expect.stringContaining(String(status)) });
  });

  test.each([{}, { blockTxids: null }, { blockTxids: ID }, [], "none"])(
    "findPayment is unclear when a block is %j",
    async (block) => {
      const { find } = node(LAST + 11, (path) => (path.startsWith("/v2/blocks/") ? block : undefined));
      expect(await find()).toMatchObject({ kind: "unclear" });
    },
  );
});

test.each<[what: string, response: unknown]>([
  ["of another network", stateAt(LAST, MAINNET_HASH.toString("base64"))],
  ["of no network", stateAt(LAST, "")],
  ["that does not tell its round", stateAt(undefined)],
  ["with a round below zero", stateAt(-1)],
  ["that demands a token", 401],
])("findPayment is unclear when the node is %s, and sends no other request", async (_, response) => {
  const { find, asked } = node(LAST, () => response);
  expect(await find()).toMatchObject({ kind: "unclear" });
  expect(asked).toHaveLength(1);
});

test.each([401, 429, 500])(
  "findPayment is unclear when the node responds with %i for the transaction",
  async (status) => {
    expect(await node(LAST + 11, pending(status)).find()).toMatchObject({ kind: "unclear" });
  },
);

test.each<[what: string, paid: unknown, terms: object]>([
  ["that is malformed", { paymentGroup: ["AAAA"], paymentIndex: 0 }, {}],
  ["for other terms", PAYLOAD, { amount: "999" }],
])("findPayment is unclear for a payment %s, and sends no request", async (_, paid, terms) => {
  const { find, asked } = node(LAST);
  expect(await find(paid, requirements(terms))).toMatchObject({ kind: "unclear" });
  expect(asked).toEqual([]);
});

test("findPayment is unclear when the RPC client throws another error, and does not quote it", async () => {
  const fail = async () => {
    throw new RangeError("https://node.example/secret");
  };
  const query = { payload: PAYLOAD, requirements: requirements(), rpc: { call: fail, get: fail } };
  expect(await findTransferPayment(query)).toEqual({ kind: "unclear", problem: "the node could not be asked" });
});

test("findPayment never throws, and says never only when the rounds are over", async () => {
  const round = fc.oneof(fc.integer({ min: ROUND - 5, max: LAST + 10 }), fc.anything());
  const said = fc.oneof(fc.anything(), fc.record({ "confirmed-round": fc.anything() }), fc.constant(404));
  const block = fc.oneof(fc.anything(), fc.constant({ blockTxids: [] }));
  await fc.assert(
    fc.asyncProperty(round, said, block, async (last, response, blocks) => {
      const over = typeof last === "number" && Number.isInteger(last) && last > LAST + 10;
      const { find } = node(0, (path) => {
        if (path.includes("params")) return stateAt(last);
        return path.startsWith("/v2/blocks/") ? (blocks ?? 500) : (response ?? 404);
      });
      const { kind } = await find();
      expect(over ? ["moved", "never", "unclear"] : ["moved", "open", "unclear"]).toContain(kind);
    }),
  );
});
