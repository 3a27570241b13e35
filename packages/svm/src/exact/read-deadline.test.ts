import { createHash } from "node:crypto";
import { type DeadlineReading, RpcError, type RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { encodeBase58 } from "../address.js";
import { NETWORK, payload, requirements } from "../payments.fixture.js";
import { exactSvm } from "./scheme.js";

const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;
const NOW = 1_800_000_000;

const hashOf = (block: number) => createHash("sha256").update(`block ${block}`).digest();

/** A bank whose newest block has this number. */
interface Bank {
  readonly block: number;
  readonly seconds?: number;
  readonly listed?: number;
}

function accountOf(data: Uint8Array) {
  return {
    data: [Buffer.from(data).toString("base64"), "base64"],
    owner: "Sysvar1111111111111111111111111111111111111",
  };
}

function listOf({ block, listed = 150 }: Bank) {
  const list = Buffer.alloc(8 + 150 * 40);
  list.writeBigUInt64LE(BigInt(listed), 0);
  for (let age = 0; age < listed; age++) list.set(hashOf(block - age), 8 + age * 40);
  return accountOf(list);
}

function clockOf({ block, seconds = NOW }: Bank) {
  const clock = Buffer.alloc(40);
  clock.writeBigUInt64LE(BigInt(block), 0);
  clock.writeBigInt64LE(BigInt(seconds), 32);
  return accountOf(clock);
}

/** A node that says the given. */
function nodeOf(said: Bank | Error | { readonly value: unknown }, genesis: unknown = GENESIS) {
  const node = { said, asked: [] as string[] };
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, params) {
      node.asked.push(method);
      if (method === "getGenesisHash") return genesis;
      expect(params[0]).toEqual([
        "SysvarRecentB1ockHashes11111111111111111111",
        "SysvarC1ock11111111111111111111111111111111",
      ]);
      if (node.said instanceof Error) throw node.said;
      const value = "value" in node.said ? node.said.value : [listOf(node.said), clockOf(node.said)];
      return { context: { slot: 1 }, value };
    },
  };
  return { node, rpc };
}

/** A payment with the blockhash of a block. */
const paidAt = (block: number) => payload({ blockhash: encodeBase58(hashOf(block)) });

interface Change {
  readonly paid?: unknown;
  readonly nowSeconds?: number;
  readonly madeBeforeSeconds?: number;
}

function ask(rpc: RpcNode, change: Change = {}, scheme = exactSvm()): Promise<DeadlineReading> {
  const { paid = paidAt(1000), nowSeconds = NOW, madeBeforeSeconds = nowSeconds } = change;
  const query = { payload: paid, requirements: requirements(), rpc, nowSeconds, madeBeforeSeconds };
  return scheme.readDeadline?.(query) ?? expect.unreachable();
}

const knownIn = (seconds: number): DeadlineReading => ({ kind: "known", settleBySeconds: NOW + seconds });

describe("readDeadline", () => {
  test.each([
    ["the newest block", 1000, 60],
    ["the block before it", 1001, 59],
    ["a final block", 1032, 47],
    ["the oldest block that is listed", 1149, 0],
  ])("readDeadline counts 0.4 seconds for each block that is left after %s", async (_, block, seconds) => {
    expect(await ask(nodeOf({ block }).rpc)).toEqual(knownIn(seconds));
  });

  test("readDeadline says dead when the blockhash is too old for the list", async () => {
    expect(await ask(nodeOf({ block: 1150 }).rpc)).toEqual({ kind: "dead" });
  });

  test.each([
    ["behind", -20],
    ["ahead", 20],
  ])("readDeadline counts from the earlier clock with a node that is %s by twenty seconds", async (_, seconds) => {
    const { rpc } = nodeOf({ block: 1010, seconds: NOW + seconds });
    expect(await ask(rpc)).toEqual(knownIn(56 + Math.min(seconds, 0)));
  });

  test("readDeadline says behind, and not dead, while the list is older than the payment", async () => {
    const { rpc } = nodeOf({ block: 999, seconds: NOW - 1 });
    expect(await ask(rpc)).toMatchObject({ kind: "behind" });
    expect(await ask(rpc, { madeBeforeSeconds: NOW - 1 })).toEqual({ kind: "dead" });
  });

  test.each([
    ["too far behind", -31],
    ["too far ahead", 31],
    ["without a clock", -NOW],
  ])("readDeadline is unclear with a node that is %s, even if it lists the blockhash", async (_, seconds) => {
    expect(await ask(nodeOf({ block: 1010, seconds: NOW + seconds }).rpc)).toMatchObject({ kind: "unclear" });
  });

  test("readDeadline concludes nothing from a short list that lacks the blockhash", async () => {
    expect(await ask(nodeOf({ block: 1050, listed: 20 }).rpc)).toMatchObject({ kind: "unclear" });
    expect(await ask(nodeOf({ block: 1050, listed: 0 }).rpc)).toMatchObject({ kind: "unclear" });
    expect(await ask(nodeOf({ block: 1010, listed: 20 }).rpc)).toEqual(knownIn(56));
  });

  test("readDeadline asks nothing for a blockhash that it has seen listed, and counts on from then", async () => {
    const { node, rpc } = nodeOf({ block: 1010 });
    const scheme = exactSvm();
    expect(await ask(rpc, {}, scheme)).toEqual(knownIn(56));
    node.said = new TypeError("secret");
    expect(await ask(rpc, { nowSeconds: NOW + 30 }, scheme)).toEqual(knownIn(56));
    expect(await ask(rpc, { paid: paidAt(1005), nowSeconds: NOW + 30 }, scheme)).toEqual(knownIn(58));
    expect(node.asked).toEqual(["getGenesisHash", "getMultipleAccounts"]);
    node.said = { block: 1060, seconds: NOW + 20 };
    expect(await ask(rpc, { paid: paidAt(1055), nowSeconds: NOW + 20 }, scheme)).toEqual(knownIn(78));
    expect(node.asked).toHaveLength(4);
  });

  test("readDeadline keeps the list of each node for itself, and none of another network", async () => {
    const scheme = exactSvm();
    const { node, rpc } = nodeOf({ block: 1010 }, "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d");
    expect(await ask(rpc, {}, scheme)).toMatchObject({ kind: "unclear" });
    expect(await ask(rpc, {}, scheme)).toMatchObject({ kind: "unclear" });
    expect(node.asked).toHaveLength(4);
    expect(await ask(nodeOf({ block: 1020 }).rpc, {}, scheme)).toEqual(knownIn(52));
  });

  const huge = Buffer.alloc(8 + 150 * 40);
  huge.writeBigUInt64LE(2n ** 63n, 0);

  test.each<[why: string, said: Error | { readonly value: unknown }]>([
    ["when the node breaks", new TypeError("secret")],
    ["when the node does not respond in time", new RpcError("node did not respond within 5000 ms", "timeout")],
    ["when there is no such account", { value: [null, null] }],
    ["when the accounts are no list", { value: "secret" }],
    ["when the clock is missing", { value: [listOf({ block: 1000 }), null] }],
    ["when the clock is cut", { value: [listOf({ block: 1000 }), accountOf(Buffer.alloc(39))] }],
    ["when the list is missing", { value: [null, clockOf({ block: 1000 })] }],
    [
      "when the list is shorter than it says",
      { value: [accountOf(Buffer.of(9, 0, 0, 0, 0, 0, 0, 0)), clockOf({ block: 1000 })] },
    ],
    ["when the list is longer than a list can be", { value: [accountOf(huge), clockOf({ block: 1000 })] }],
    ["when the data is a number", { value: [{ data: [7] }, { data: 7 }] }],
  ])("readDeadline is unclear %s", async (_, said) => {
    const found = await ask(nodeOf(said).rpc);
    expect(found).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(found)).not.toContain("secret");
  });

  test("readDeadline is unclear for a payload of another form, and asks nothing", async () => {
    const { node, rpc } = nodeOf({ block: 1000 });
    expect(await ask(rpc, { paid: {} })).toMatchObject({ kind: "unclear" });
    expect(node.asked).toEqual([]);
  });
});

test("without a node, a payment can surely settle for forty seconds, and is remembered for three minutes at least", () => {
  const reading = exactSvm().readPayment(payload(), requirements({ maxTimeoutSeconds: 60 }), NOW);
  expect(reading).toMatchObject({ settleBySeconds: NOW + 40, expiresAtSeconds: NOW + 180 });
});
