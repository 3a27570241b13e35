import { beforeEach, describe, expect, test } from "vitest";
import { type CircuitBreaker, createCircuitBreaker, LONGEST_OPEN_MS } from "./circuit-breaker.js";

const THRESHOLDS = { failuresToOpen: 3, openMs: 10_000 };

let nowMs: number;
let breaker: CircuitBreaker;

beforeEach(() => {
  nowMs = 1_000_000;
  breaker = createCircuitBreaker(THRESHOLDS, { now: () => nowMs });
});

function fail(times: number, retryAfterSeconds?: number): void {
  for (let time = 0; time < times; time++) breaker.enter()!.failed(retryAfterSeconds);
}

describe("a closed breaker", () => {
  test("lets calls through, with nothing to wait for", () => {
    expect(breaker.enter()).toBeDefined();
    expect([breaker.state(), breaker.retryAfterSeconds()]).toEqual(["closed", 0]);
  });

  test("opens after three failures in a row", () => {
    fail(2);
    expect(breaker.state()).toBe("closed");
    fail(1);
    expect(breaker.state()).toBe("open");
  });

  test("resets the count after a response", () => {
    fail(2);
    breaker.enter()!.responded();
    fail(2);
    expect(breaker.state()).toBe("closed");
  });

  test("does not count a call whose caller gave up", () => {
    fail(2);
    breaker.enter()!.abandoned();
    expect(breaker.state()).toBe("closed");
    fail(1);
    expect(breaker.state()).toBe("open");
  });

  test.each<[askedSeconds: number, openMs: number, why: string]>([
    [1, THRESHOLDS.openMs, "never shorter than without Retry-After"],
    [30, 30_000, "as long as requested"],
    [3600, LONGEST_OPEN_MS, "at most a minute"],
  ])("opens at once on a Retry-After of %i s, for %i ms: %s", (askedSeconds, openMs) => {
    fail(1, askedSeconds);
    nowMs += openMs - 1;
    expect(breaker.state()).toBe("open");
    nowMs += 1;
    expect(breaker.state()).toBe("half-open");
  });

  test("does not open on a Retry-After of 0", () => {
    fail(1, 0);
    expect(breaker.state()).toBe("closed");
  });
});

describe("an open breaker", () => {
  beforeEach(() => fail(3));

  test("refuses calls, and returns the seconds left", () => {
    nowMs += 1;
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(10);
    nowMs += 9_998;
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(1);
  });

  test("is not kept open by calls that began before it opened", () => {
    const early = createCircuitBreaker(THRESHOLDS, { now: () => nowMs });
    const permits = [1, 2, 3, 4].map(() => early.enter()!);
    for (const permit of permits.slice(0, 3)) permit.failed(undefined);
    nowMs += 9_000;
    permits[3]!.failed(undefined);
    nowMs += 1_000;
    expect(early.state()).toBe("half-open");
  });
});

describe("a half open breaker", () => {
  beforeEach(() => {
    fail(3);
    nowMs += THRESHOLDS.openMs;
  });

  test("lets one call through, and no other until that has ended", () => {
    const probe = breaker.enter();
    expect(probe).toBeDefined();
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(1);
    probe!.responded();
    expect(breaker.state()).toBe("closed");
    expect(breaker.enter()).toBeDefined();
  });

  test("opens again when the probe fails", () => {
    fail(1);
    expect(breaker.state()).toBe("open");
    nowMs += THRESHOLDS.openMs;
    expect(breaker.state()).toBe("half-open");
    expect(breaker.enter()).toBeDefined();
  });

  test("sends another probe when the caller of the first gave up", () => {
    breaker.enter()!.abandoned();
    expect(breaker.state()).toBe("half-open");
    expect(breaker.enter()).toBeDefined();
  });

  test("needs the full number of failures again once it is closed", () => {
    breaker.enter()!.responded();
    fail(2);
    expect(breaker.state()).toBe("closed");
  });
});
