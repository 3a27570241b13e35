import { expect, test } from "vitest";
import { RpcError } from "../errors.js";
import { orUnclear, unclear } from "./unclear.js";

test("what comes of asking is passed on", async () => {
  expect(await orUnclear(async () => ({ kind: "open" }))).toEqual({ kind: "open" });
  expect(await orUnclear(async () => unclear("the node is of another network"))).toEqual({
    kind: "unclear",
    problem: "the node is of another network",
  });
});

test.each<[why: string, problem: string, ask: () => Promise<never>]>([
  [
    "an error about the node, in its words",
    "node did not answer",
    rejecting(new RpcError("node did not answer", "timeout")),
  ],
  [
    "any other error, which may quote anything",
    "the node could not be asked",
    rejecting(new RangeError("https://key@node")),
  ],
  ["what is no error", "the node could not be asked", rejecting("https://key@node")],
  [
    "what is thrown before anything is asked",
    "the node could not be asked",
    () => {
      throw new RangeError("https://key@node");
    },
  ],
])("%s is unclear: %s", async (_why, problem, ask) => {
  expect(await orUnclear(ask)).toEqual({ kind: "unclear", problem });
});

function rejecting(reason: unknown): () => Promise<never> {
  return () => Promise.reject(reason);
}
