import { type DeadlineReading, RpcError, type RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { algos, GENESIS_HASH, MAINNET_HASH, payload, ROUND, requirements, transfer } from "../payments.fixture.js";
import { exactAvm } from "./scheme.js";

const NOW = 1_800_000_000;

/** A payment that is valid for some rounds, and the fee payer's transaction for others. */
function paidFor(rounds: number, sponsors = rounds) {
  const [own, theirs] = [rounds, sponsors].map((each) => ({ firstValid: ROUND, lastValid: ROUND + each }));
  return payload({ transactions: [algos(theirs), transfer(own)] });
}

interface Said {
  /** Rounds since the payment's first one. */
  readonly rounds?: number;
  readonly secondsSince?: number;
  readonly catchingUp?: number;
  readonly hash?: Buffer;
  /** In place of the status. */
  readonly status?: unknown;
}

function ask(said: Said = {}, paid: unknown = paidFor(10)): Promise<DeadlineReading> {
  const { rounds = 0, secondsSince = 0, catchingUp = 0, hash = GENESIS_HASH } = said;
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      // Another node behind the same name: its round does not count.
      if (path === "/v2/transactions/params") return { "genesis-hash": hash.toString("base64"), "last-round": 5 };
      expect(path).toBe("/v2/status");
      if (said.status instanceof Error) throw said.status;
      const times = { "time-since-last-round": secondsSince * 1e9, "catchup-time": catchingUp };
      return said.status ?? { "last-round": ROUND + rounds, ...times };
    },
  };
  const times = { nowSeconds: NOW, madeBeforeSeconds: NOW };
  const query = { payload: paid, requirements: requirements(), rpc, ...times };
  return exactAvm().readDeadline?.(query) ?? expect.unreachable();
}

const knownIn = (seconds: number): DeadlineReading => ({ kind: "known", settleBySeconds: NOW + seconds });

describe("readDeadline", () => {
  test.each<[string, Said, number]>([
    ["at the first round", {}, 25],
    ["two seconds after it", { secondsSince: 2 }, 23],
    ["four rounds later", { rounds: 4 }, 15],
    ["before the last round", { rounds: 9, secondsSince: 1 }, 1],
  ])("readDeadline counts 2.5 seconds for each round that is left %s", async (_, said, seconds) => {
    expect(await ask(said)).toEqual(knownIn(seconds));
  });

  test.each([10, 11, 5000])(
    "readDeadline says dead when the node has the last round, after %i rounds",
    async (rounds) => {
      expect(await ask({ rounds })).toEqual({ kind: "dead" });
    },
  );

  test("readDeadline goes by the transaction of the group that ends first", async () => {
    expect(await ask({}, paidFor(1000, 10))).toEqual(knownIn(25));
    expect(await ask({}, paidFor(10, 1000))).toEqual(knownIn(25));
    expect(await ask({}, paidFor(1000))).toEqual(knownIn(2500));
  });

  test("readDeadline says behind while the node has not seen the first round", async () => {
    expect(await ask({ rounds: -1 })).toMatchObject({ kind: "behind" });
  });

  test.each<[why: string, said: Said, paid?: unknown]>([
    ["when the node is of another network", { hash: MAINNET_HASH }],
    ["when the node is catching up", { catchingUp: 1 }],
    ["when the node has no new round for long", { secondsSince: 31 }],
    ["when the node breaks", { status: new TypeError("secret") }],
    ["when the node does not respond in time", { status: new RpcError("node did not respond", "timeout") }],
    ["when the status is a text", { status: "secret" }],
    ["when the status lacks its times", { status: { "last-round": ROUND } }],
    ["when the round is a text", { status: { "last-round": "1", "time-since-last-round": 0, "catchup-time": 0 } }],
    ["when the time is negative", { secondsSince: -1 }],
    ["for a payload of another form", {}, {}],
  ])("readDeadline is unclear %s", async (_, said, paid) => {
    const found = await ask(said, paid);
    expect(found).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(found)).not.toContain("secret");
  });
});

describe("without a node, a payment", () => {
  const read = (paid: unknown) => exactAvm().readPayment(paid, requirements(), NOW);

  test.each([
    [10, 20],
    [11, 22],
    [1000, 2495],
    [1, 0],
    [0, 0],
  ])("of %i rounds can surely settle for %i seconds", (rounds, seconds) => {
    expect(read(paidFor(rounds))).toMatchObject({ kind: "readable", settleBySeconds: NOW + seconds });
  });

  test("can settle while all its transactions are valid", () => {
    expect(read(paidFor(1000, 10))).toMatchObject({ settleBySeconds: NOW + 20 });
    const apart = [algos({ firstValid: 1, lastValid: 2 }), transfer({ firstValid: ROUND })];
    expect(read(payload({ transactions: apart }))).toMatchObject({ settleBySeconds: NOW });
  });

  test("is remembered for longer than it can settle", () => {
    expect(read(paidFor(10))).toMatchObject({ expiresAtSeconds: NOW + 180 });
    expect(read(paidFor(1000))).toMatchObject({ expiresAtSeconds: NOW + 5005 });
  });
});
