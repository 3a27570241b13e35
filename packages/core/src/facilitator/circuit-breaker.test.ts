import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { CircuitBreaker, type FailedCall, LONGEST_OPEN_MS } from "./circuit-breaker.js";

const THRESHOLDS = { failuresToOpen: 3, openMs: 10_000, rememberedMs: 60_000 };

let nowMs: number;
let breaker: CircuitBreaker;

beforeEach(() => {
  nowMs = 1_000_000;
  breaker = new CircuitBreaker(THRESHOLDS, { now: () => nowMs });
});

/** A call that the test ends; `undefined`: it is refused. */
function enter({ payer, isRetry = false }: { payer?: string; isRetry?: boolean } = {}, entered = breaker) {
  const way = entered.enter(payer, isRetry);
  return (
    way && {
      responded: () => entered.responded(way, payer),
      failed: (retryAfterSeconds?: number, more: Partial<FailedCall> = {}) =>
        entered.failed(way, { payer, retryAfterSeconds, ...more }),
      abandoned: () => entered.abandoned(way),
    }
  );
}

function fail(times: number, retryAfterSeconds?: number): void {
  for (let time = 0; time < times; time++) enter()!.failed(retryAfterSeconds);
}

describe("a closed breaker", () => {
  test("lets calls through, with nothing to wait for", () => {
    expect(enter()).toBeDefined();
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
    enter()!.responded();
    fail(2);
    expect(breaker.state()).toBe("closed");
  });

  test("does not count a call whose caller gave up", () => {
    fail(2);
    enter()!.abandoned();
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

  test("is quiet until a call fails, and again when no failure is remembered", async () => {
    const quiet = [breaker.isQuiet];
    const note = (...calls: (() => void)[]) => {
      for (const call of calls) {
        call();
        quiet.push(breaker.isQuiet);
      }
    };
    note(
      () => enter({ payer: "a" })!.responded(),
      () => enter({ payer: "a" })!.failed(),
      () => enter({ payer: "b" })!.responded(),
      () => enter({ payer: "a" })!.responded(),
      () => enter()!.failed(),
      () => enter({ payer: "b" })!.responded(),
      () => enter({ payer: "a" })!.failed(undefined, { isGood: Promise.resolve(true) }),
      () => enter({ payer: "a" })!.responded(),
    );
    expect(quiet).toEqual([true, true, false, false, true, false, true, false, true]);
    await new Promise(setImmediate);
    expect(breaker.isQuiet).toBe(false);
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
    expect(enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(10);
    nowMs += 9_998;
    expect(enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(1);
  });

  test("is not kept open by calls that began before it opened", () => {
    const early = new CircuitBreaker(THRESHOLDS, { now: () => nowMs });
    const permits = [1, 2, 3, 4].map(() => enter({}, early)!);
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
    const probe = enter();
    expect(probe).toBeDefined();
    expect(enter()).toBeUndefined();
    expect(breaker.retryAfterSeconds()).toBe(1);
    probe!.responded();
    expect(breaker.state()).toBe("closed");
    expect(enter()).toBeDefined();
  });

  test("opens again when the probe fails", () => {
    fail(1);
    expect(breaker.state()).toBe("open");
    nowMs += THRESHOLDS.openMs;
    expect(breaker.state()).toBe("half-open");
    expect(enter()).toBeDefined();
  });

  test("sends another probe when the caller of the first gave up", () => {
    enter()!.abandoned();
    expect(breaker.state()).toBe("half-open");
    expect(enter()).toBeDefined();
  });

  test("needs the full number of failures again once it is closed", () => {
    enter()!.responded();
    fail(2);
    expect(breaker.state()).toBe("closed");
  });
});

describe("failures of payers", () => {
  const failFor = (payer: string, retryAfterSeconds?: number) => enter({ payer })!.failed(retryAfterSeconds);

  test("one payer's failures count once, and pause that payer only", () => {
    for (let time = 0; time < 3; time++) failFor("a");
    expect([breaker.state(), enter({ payer: "a" })]).toEqual(["closed", undefined]);
    expect([breaker.retryAfterSeconds("a"), breaker.retryAfterSeconds("b")]).toEqual([10, 0]);
    expect([breaker.admit("a"), breaker.admit("b")]).toEqual([10, 0]);
    nowMs += THRESHOLDS.openMs;
    failFor("a");
    expect([breaker.state(), breaker.admit("a")]).toEqual(["closed", 10]);
  });

  test("a payer's failures are forgotten after a minute, and by a response", () => {
    failFor("a");
    failFor("a");
    nowMs += LONGEST_OPEN_MS;
    failFor("a");
    expect(breaker.admit("a")).toBe(0);
    failFor("a");
    enter({ payer: "a" })!.responded();
    failFor("a");
    expect(breaker.admit("a")).toBe(0);
  });

  test("three payers in a row open the breaker", () => {
    for (const payer of ["a", "b", "b", "c"]) failFor(payer);
    expect([breaker.state(), breaker.admit("d")]).toEqual(["open", 10]);
  });

  test("a Retry-After for one payer's payment pauses that payer only", () => {
    failFor("a", 20);
    expect([breaker.state(), breaker.admit("a"), breaker.admit("b")]).toEqual(["closed", 20, 0]);
  });

  test("a facilitator that cannot be reached is no payer's fault", () => {
    for (let time = 0; time < 3; time++) enter({ payer: "a" })!.failed(undefined, { isUnreachable: true });
    expect(breaker.state()).toBe("open");
    nowMs += THRESHOLDS.openMs;
    expect(enter({ payer: "a" })).toBeDefined();
  });

  test("payers whose payments failed do not get the probe", () => {
    for (const payer of ["a", "b", "c"]) failFor(payer);
    nowMs += THRESHOLDS.openMs;
    expect(enter({ payer: "a" })).toBeUndefined();
    expect([breaker.admit("a"), breaker.retryAfterSeconds("a")]).toEqual([50, 50]);
    enter({ payer: "d" })!.responded();
    expect(breaker.state()).toBe("closed");
  });

  test("half open, one handler may run every five seconds, and none beside a probe", () => {
    for (const payer of ["a", "b", "c"]) failFor(payer);
    nowMs += THRESHOLDS.openMs;
    expect([breaker.admit("d"), breaker.admit("e")]).toEqual([0, 5]);
    nowMs += 5_000;
    expect(breaker.admit("e")).toBe(0);
    const probe = enter({ payer: "d" });
    nowMs += 5_000;
    expect(breaker.admit("f")).toBe(1);
    probe!.responded();
    expect([breaker.admit("f"), breaker.admit("g")]).toEqual([0, 0]);
  });
});

describe("retries", () => {
  const RETRY = { payer: "a", isRetry: true };

  test("retries never count", () => {
    for (const payer of ["a", "b", "c", "d"]) enter({ payer, isRetry: true })!.failed(60);
    expect([breaker.state(), breaker.admit("a")]).toEqual(["closed", 0]);
  });

  test("retries neither take the probe nor keep the breaker open, and one of them at a time passes beside it", () => {
    fail(3);
    expect(enter(RETRY)).toBeUndefined();
    nowMs += THRESHOLDS.openMs;
    const retry = enter(RETRY);
    expect([enter(RETRY), breaker.admit("b")]).toEqual([undefined, 0]);
    const probe = enter({ payer: "b" });
    expect(probe).toBeDefined();
    retry!.failed(60);
    expect(breaker.state()).toBe("half-open");
    enter(RETRY)!.responded();
    expect(breaker.state()).toBe("closed");
  });
});

describe("a breaker that asks", () => {
  /** The facilitator's answers to whether it is alive, in order. */
  let answers: ((isAlive: boolean) => void)[];
  let changes: number;
  const failFor = (...payers: string[]) => {
    for (const payer of payers) enter({ payer })?.failed(undefined);
  };
  const settled = () => new Promise(setImmediate);

  beforeEach(() => {
    answers = [];
    changes = 0;
    const isAlive = () => new Promise<boolean>((resolve) => void answers.push(resolve));
    breaker = new CircuitBreaker(THRESHOLDS, { now: () => nowMs }, { isAlive, onChange: () => void changes++ });
  });

  test("opens only if the facilitator is not alive, and asks one question at a time", async () => {
    failFor("a", "b", "c", "d", "e");
    expect([breaker.state(), answers.length]).toEqual(["closed", 1]);
    answers[0]!(false);
    await settled();
    expect([breaker.state(), changes]).toEqual(["open", 1]);
  });

  test("counts from the beginning if it is alive", async () => {
    failFor("a", "b", "c");
    answers[0]!(true);
    await settled();
    failFor("d", "e");
    expect([breaker.state(), answers.length]).toEqual(["closed", 1]);
    failFor("f");
    expect(answers).toHaveLength(2);
  });

  test("stays closed if a call has responded meanwhile", async () => {
    failFor("a", "b", "c");
    enter({ payer: "d" })!.responded();
    answers[0]!(false);
    await settled();
    expect(breaker.state()).toBe("closed");
  });

  test("asks before a failed probe opens it again", async () => {
    failFor("a", "b", "c");
    answers[0]!(false);
    await settled();
    nowMs += THRESHOLDS.openMs;
    failFor("d");
    expect([breaker.state(), answers.length]).toEqual(["half-open", 2]);
    answers[1]!(true);
    await settled();
    expect(breaker.state()).toBe("closed");
  });

  test("asks nothing if the facilitator has told each payer that it gets too many calls", () => {
    for (const payer of ["a", "b", "c"]) enter({ payer })!.failed(20, { isBusy: true });
    expect([breaker.state(), answers.length]).toEqual(["open", 0]);
  });

  test("asks nothing if no payer can be the cause", () => {
    fail(3);
    expect([breaker.state(), answers.length]).toEqual(["open", 0]);
  });

  test("does not count a payment that turns out not to be good, but pauses its payer", async () => {
    for (const payer of ["a", "b", "c", "c", "c"]) {
      enter({ payer })!.failed(undefined, { isGood: Promise.resolve(payer === "a") });
    }
    await settled();
    expect([answers.length, breaker.admit("a"), breaker.admit("c")]).toEqual([0, 0, 10]);
    failFor("d", "e");
    expect(answers).toHaveLength(1);
  });
});

test("a quiet breaker is closed to nobody, whatever has happened before", () => {
  const payers = fc.constantFrom("a", "b", undefined);
  const step = fc.record({
    payer: payers,
    isRetry: fc.boolean(),
    ending: fc.constantFrom("responded", "failed", "unreachable", "too many", "abandoned"),
    isLate: fc.boolean(),
    waitMs: fc.constantFrom(0, 0, 1_000, THRESHOLDS.openMs, THRESHOLDS.rememberedMs),
  });
  let quiet = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const drawn = new CircuitBreaker(THRESHOLDS, { now: () => nowMs });
      const late: (() => void)[] = [];
      for (const { payer, isRetry, ending, isLate, waitMs } of steps) {
        const call = enter({ ...(payer && { payer }), isRetry }, drawn);
        const end = () => {
          if (ending === "responded") call?.responded();
          else if (ending === "abandoned") call?.abandoned();
          else call?.failed(ending === "too many" ? 20 : undefined, { isUnreachable: ending === "unreachable" });
        };
        if (isLate) late.push(end);
        else end();
        if (late.length > 2) late.shift()?.();
        nowMs += waitMs;
        if (!drawn.isQuiet) continue;
        quiet++;
        const others = ["a", "b", "c"];
        expect([drawn.state(), drawn.retryAfterSeconds("a")]).toEqual(["closed", 0]);
        expect(others.map((other) => drawn.admit(other))).toEqual([0, 0, 0]);
        expect(others.map((other) => drawn.enter(other, false))).toEqual(["closed", "closed", "closed"]);
      }
    }),
  );
  expect(quiet).toBeGreaterThan(0);
});
