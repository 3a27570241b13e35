import { describe, expect, test } from "vitest";
import { RpcError } from "../errors.js";
import type { RpcNode } from "../http/rpc-node.js";
import { askAtMost, fieldsOf, orUnclear, readUint64, unclear } from "./reading.js";

test("orUnclear passes on the result", async () => {
  expect(await orUnclear(async () => ({ kind: "open" }))).toEqual({ kind: "open" });
  expect(await orUnclear(async () => unclear("the node is of another network"))).toEqual({
    kind: "unclear",
    problem: "the node is of another network",
  });
});

test.each<[why: string, problem: string, ask: () => Promise<never>]>([
  [
    "an error about the node, in its words",
    "node did not respond",
    rejecting(new RpcError("node did not respond", "timeout")),
  ],
  [
    "any other error, which may quote anything",
    "the node could not be asked",
    rejecting(new RangeError("https://key@node")),
  ],
  ["a value that is not an error", "the node could not be asked", rejecting("https://key@node")],
  [
    "an error before the request",
    "the node could not be asked",
    () => {
      throw new RangeError("https://key@node");
    },
  ],
])("orUnclear makes %s unclear: %s", async (_why, problem, ask) => {
  expect(await orUnclear(ask)).toEqual({ kind: "unclear", problem });
});

function rejecting(reason: unknown): () => Promise<never> {
  return () => Promise.reject(reason);
}

test.each<[what: string, value: unknown, fields: object]>([
  ["an object of JSON", { a: 1 }, { a: 1 }],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ["an object with the fields of its prototype", Object.assign(Object.create({ b: 2 }), { a: 1 }), { a: 1 }],
  ["an array", [1], {}],
  ["nothing", null, {}],
  ["a text", "a", {}],
])("fieldsOf reads the own fields of %s", (_, value, fields) => {
  expect({ ...fieldsOf(value) }).toEqual(fields);
  expect(fieldsOf(value)["b"]).toBeUndefined();
});

test.each<[value: unknown, read: bigint | undefined]>([
  ["1", 1n],
  ["18446744073709551615", 2n ** 64n - 1n],
  ["18446744073709551616", undefined],
  ["0", undefined],
  ["01", undefined],
  ["-1", undefined],
  ["1.0", undefined],
  ["1e3", undefined],
  ["", undefined],
  ["9".repeat(100_000), undefined],
  [1, undefined],
  [1n, undefined],
])("readUint64 reads %s as %s", (value, read) => {
  expect(readUint64(value)).toBe(read);
});

describe("askAtMost", () => {
  const asked: unknown[] = [];
  const rpc: RpcNode = {
    call: async (method, _params, options) => asked.push({ method, ...options }),
    get: async (path, options) => asked.push({ path, ...options }),
  };

  test("askAtMost passes on the given number of requests of either kind, with the caller's signal", async () => {
    const { signal } = new AbortController();
    const node = askAtMost(2, { rpc, signal });
    await node.call("a", []);
    await node.get("/b");
    expect(asked).toEqual([
      { method: "a", signal },
      { path: "/b", signal },
    ]);
    for (const ask of [() => node.call("c", []), () => node.get("/c")]) {
      await expect(ask()).rejects.toMatchObject({ code: "ERR_FAREBOX_RPC", problem: "given_up" });
    }
    expect(asked).toHaveLength(2);
  });
});
