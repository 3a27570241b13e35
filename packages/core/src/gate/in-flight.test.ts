import { describe, expect, test } from "vitest";
import { createOngoingRuns } from "./in-flight.js";
import { problemAnswer } from "./responses.js";

const RUN = { identity: "p", owner: "run" };
const OTHER = { identity: "p", owner: "other" };
const ANSWER = problemAnswer({ status: 503, error: "unexpected_settle_error", message: "m" });

test("a run is there from its beginning to its end, and then its answer is", async () => {
  const ongoing = createOngoingRuns(1);
  expect(ongoing.find("p")).toBeUndefined();
  ongoing.begin(RUN, "::1");
  const run = ongoing.find("p");
  expect([run?.client, run?.isSettling, ongoing.size]).toEqual(["::1", false, 1]);
  ongoing.settle(RUN, "ignored");
  expect([ongoing.find("p")?.client, ongoing.find("p")?.isSettling]).toEqual(["::1", true]);
  ongoing.end(RUN, () => ANSWER);
  expect(await run?.ended).toBe(ANSWER);
  expect([ongoing.find("p"), ongoing.size]).toEqual([undefined, 0]);
});

test("only its owner ends it, once", async () => {
  const ongoing = createOngoingRuns(1);
  ongoing.begin(RUN, undefined);
  const run = ongoing.find("p");
  ongoing.end(OTHER, () => ANSWER);
  expect(ongoing.size).toBe(1);
  ongoing.end(RUN);
  ongoing.end(RUN, () => ANSWER);
  expect(await run?.ended).toBeUndefined();
});

test("a settlement that was not begun by a request is a run as well", () => {
  const ongoing = createOngoingRuns(1);
  ongoing.settle(RUN, undefined);
  expect(ongoing.find("p")).toMatchObject({ isSettling: true, client: undefined });
  ongoing.end(RUN);
  expect(ongoing.size).toBe(0);
});

describe("a payer's runs", () => {
  const runOf = (at: number) => ({ identity: `p${at}`, owner: "run" });

  test("are as many as are allowed, and those that end make room", () => {
    const ongoing = createOngoingRuns(2);
    const serve = (at: number) => {
      ongoing.begin(runOf(at), undefined);
      return ongoing.serve(runOf(at), "payer");
    };
    expect([serve(1), serve(2), serve(3), serve(4)]).toEqual([true, true, false, false]);
    for (const at of [3, 4]) ongoing.end(runOf(at));
    expect(serve(5)).toBe(false);
    ongoing.end(runOf(5));
    ongoing.end(runOf(1));
    ongoing.end(runOf(1));
    expect([serve(6), serve(7)]).toEqual([true, false]);
  });

  test("do not count for another payer", () => {
    const ongoing = createOngoingRuns(1);
    for (const at of [1, 2]) ongoing.begin(runOf(at), undefined);
    expect([ongoing.serve(runOf(1), "a"), ongoing.serve(runOf(2), "b")]).toEqual([true, true]);
  });
});
