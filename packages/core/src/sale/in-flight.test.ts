import { describe, expect, test } from "vitest";
import { unreachable } from "./answers.js";
import { InFlight } from "./in-flight.js";

const RUN = { identity: "p", owner: "run" };
const OTHER = { identity: "p", owner: "other" };
const RESPONSE = unreachable("unexpected_settle_error", 5);

test("a request is found while it is in flight, and its end yields the response", async () => {
  const inFlight = new InFlight();
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
  const inFlight = new InFlight();
  inFlight.begin(RUN, undefined);
  const run = inFlight.find("p");
  inFlight.end(OTHER, () => RESPONSE);
  expect(inFlight.size).toBe(1);
  inFlight.end(RUN);
  inFlight.end(RUN, () => RESPONSE);
  expect(await run?.ended).toBeUndefined();
});

test("a settlement without a request counts as in flight", () => {
  const inFlight = new InFlight();
  inFlight.settling(RUN, undefined);
  expect(inFlight.find("p")).toMatchObject({ publicSince: 0, client: undefined });
  inFlight.end(RUN);
  expect(inFlight.size).toBe(0);
});

describe("a payment that is claimed anew before its last request has ended", () => {
  const SECOND = { identity: "p", owner: "second" };

  test("is in flight until both requests have ended", () => {
    const inFlight = new InFlight();
    inFlight.begin(RUN, undefined);
    inFlight.begin(SECOND, undefined);
    inFlight.end(RUN);
    inFlight.end(RUN);
    expect([inFlight.size, inFlight.find("p") !== undefined]).toEqual([1, true]);
    inFlight.end(SECOND);
    expect([inFlight.size, inFlight.find("p")]).toEqual([0, undefined]);
  });

  test("tells the duplicates of each request when that request ends", async () => {
    const inFlight = new InFlight();
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
