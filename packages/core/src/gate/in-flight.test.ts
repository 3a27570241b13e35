import { describe, expect, test } from "vitest";
import { InFlight } from "./in-flight.js";
import { unreachable } from "./responses.js";

const RUN = { identity: "p", owner: "run" };
const OTHER = { identity: "p", owner: "other" };
const RESPONSE = unreachable("unexpected_settle_error", 5);

test("a request is found while it is in flight, and its end yields the response", async () => {
  const inFlight = new InFlight(1);
  expect(inFlight.find("p")).toBeUndefined();
  inFlight.begin(RUN, "::1");
  const run = inFlight.find("p");
  expect([run?.client, run?.publicSince, inFlight.size]).toEqual(["::1", undefined, 1]);
  inFlight.settling(RUN, "ignored");
  expect([inFlight.find("p")?.client, inFlight.find("p")?.publicSince]).toEqual(["::1", 1]);
  inFlight.end(RUN, () => RESPONSE);
  expect(await run?.ended).toBe(RESPONSE);
  expect([inFlight.find("p"), inFlight.size]).toEqual([undefined, 0]);
});

test("a request in flight is ended once, by its owner only", async () => {
  const inFlight = new InFlight(1);
  inFlight.begin(RUN, undefined);
  const run = inFlight.find("p");
  inFlight.end(OTHER, () => RESPONSE);
  expect(inFlight.size).toBe(1);
  inFlight.end(RUN);
  inFlight.end(RUN, () => RESPONSE);
  expect(await run?.ended).toBeUndefined();
});

test("a settlement without a request counts as in flight", () => {
  const inFlight = new InFlight(1);
  inFlight.settling(RUN, undefined);
  expect(inFlight.find("p")).toMatchObject({ publicSince: 0, client: undefined });
  inFlight.end(RUN);
  expect(inFlight.size).toBe(0);
});

describe("a payer's requests in flight", () => {
  const runOf = (at: number) => ({ identity: `p${at}`, owner: `run${at}` });

  test("a payer's requests in flight are limited, and a request that ends makes room", () => {
    const inFlight = new InFlight(2);
    const serve = (at: number) => {
      inFlight.begin(runOf(at), undefined);
      return inFlight.tryServe(runOf(at), "payer");
    };
    expect([serve(1), serve(2), serve(3), serve(4)]).toEqual([true, true, false, false]);
    for (const at of [3, 4]) inFlight.end(runOf(at));
    expect(serve(5)).toBe(false);
    inFlight.end(runOf(5));
    inFlight.end(runOf(1));
    inFlight.end(runOf(1));
    expect([serve(6), serve(7)]).toEqual([true, false]);
  });

  test("a payer's requests in flight do not count for another payer", () => {
    const inFlight = new InFlight(1);
    for (const at of [1, 2]) inFlight.begin(runOf(at), undefined);
    expect([inFlight.tryServe(runOf(1), "a"), inFlight.tryServe(runOf(2), "b")]).toEqual([true, true]);
  });
});

describe("a payment that is claimed anew before its last request has ended", () => {
  const SECOND = { identity: "p", owner: "second" };

  test("counts both requests, and each makes room when it ends", () => {
    const inFlight = new InFlight(2);
    inFlight.begin(RUN, undefined);
    expect(inFlight.tryServe(RUN, "payer")).toBe(true);
    inFlight.begin(SECOND, undefined);
    expect(inFlight.tryServe(SECOND, "payer")).toBe(true);
    expect(inFlight.tryServe({ identity: "q", owner: "third" }, "payer")).toBe(false);
    inFlight.end(RUN);
    inFlight.end(SECOND);
    inFlight.begin(OTHER, undefined);
    expect([inFlight.size, inFlight.tryServe(OTHER, "payer"), inFlight.find("p") !== undefined]).toEqual([
      1,
      true,
      true,
    ]);
  });

  test("tells the duplicates of each request when that request ends", async () => {
    const inFlight = new InFlight(2);
    inFlight.begin(RUN, undefined);
    const first = inFlight.find("p")?.ended;
    inFlight.begin(SECOND, undefined);
    const second = inFlight.find("p")?.ended;
    inFlight.end(RUN, () => RESPONSE);
    expect(await first).toBe(RESPONSE);
    inFlight.end(SECOND);
    expect(await second).toBeUndefined();
  });
});
