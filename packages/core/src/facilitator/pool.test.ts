import { once } from "node:events";
import { createServer } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigError, type FacilitatorError } from "../errors.js";
import { SETTLE_THRESHOLDS, SYSTEM_CLOCK, VERIFY_THRESHOLDS } from "./circuit-breaker.js";
import { createHttpFacilitator } from "./http-facilitator.js";
import { closeServers, failureOf, listen, REQUEST, serve } from "./http-server.fixture.js";
import {
  createManualClock,
  failing,
  failure,
  type ManualClock,
  quiet,
  type ScriptedFacilitator,
  scripted,
  supporting,
} from "./pool.fixture.js";
import { createFacilitatorPool, type FacilitatorEntry, type FacilitatorPool } from "./pool.js";
import type { FacilitatorHealth } from "./pool-member.js";
import { SUPPORTED_TTL_MS } from "./supported.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const { network: NETWORK } = REQUEST.paymentRequirements;
const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const PAYMENT = { payment: "p" };

let clock: ManualClock;
let a: ScriptedFacilitator;
let b: ScriptedFacilitator;
let pool: FacilitatorPool;
let changes: FacilitatorHealth[];
const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };

function create(...entries: FacilitatorEntry[]): FacilitatorPool {
  const onChange = (health: FacilitatorHealth) => {
    changes.push(health);
    throw new RangeError("a listener that fails");
  };
  return createFacilitatorPool(entries, { clock, logger, onChange });
}

beforeEach(() => {
  vi.resetAllMocks();
  clock = createManualClock();
  [a, b] = [scripted(), scripted()];
  changes = [];
  pool = create({ name: "a", facilitator: a }, { name: "b", facilitator: b });
});
afterEach(() => {
  pool.close();
  closeServers();
});

async function failTimes(times: number, call: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < times; time++) await failureOf(call());
}

describe("verify", () => {
  test("asks only the first facilitator when it responds", async () => {
    await expect(pool.verify(REQUEST)).resolves.toEqual({ isValid: true });
    expect([a.asked, b.asked]).toEqual([["verify"], []]);
  });

  test("accepts a refusal as a response", async () => {
    a.script.verify = () => ({ isValid: false, invalidReason: "insufficient_funds" });
    await expect(pool.verify(REQUEST)).resolves.toEqual({ isValid: false, invalidReason: "insufficient_funds" });
    expect(b.asked).toEqual([]);
  });

  test.each<[why: string, fail: () => unknown]>([
    ["fails", failing("verify", "none")],
    ["throws", () => Promise.reject(new RangeError("a bug"))],
    ["sends an invalid response", () => ({ ok: true })],
  ])("asks the next facilitator when one %s", async (_why, fail) => {
    a.script.verify = fail;
    await expect(pool.verify(REQUEST)).resolves.toEqual({ isValid: true });
    expect([a.asked, b.asked]).toEqual([["verify"], ["verify"]]);
  });

  test("throws the last failure when all fail, and asks each once", async () => {
    a.script.verify = failing("verify", "none", 9);
    b.script.verify = () => ({});
    expect(await failureOf(pool.verify(REQUEST))).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_RESPONSE",
      operation: "verify",
      outcome: "none",
    });
    expect([a.asked, b.asked]).toEqual([["verify"], ["verify"]]);
  });

  test("asks no other facilitator after its caller gives up, and leaves the health unchanged", async () => {
    const caller = new AbortController();
    a.script.verify = () => {
      caller.abort();
      return new Promise(() => {});
    };
    await expect(pool.verify(REQUEST, { signal: caller.signal })).rejects.toMatchObject({ outcome: "none" });
    expect(b.asked).toEqual([]);
    expect(pool.health()[0]).toMatchObject({ state: "unknown", lastErrorCode: undefined });
  });

  test("asks facilitators that cannot settle now last", async () => {
    a.script.settle = failing("settle", "unknown");
    for (let payment = 0; payment < SETTLE_THRESHOLDS.failuresToOpen; payment++) {
      await failureOf(pool.settle(REQUEST, { payment: `p${payment}` }));
    }
    await pool.verify(REQUEST);
    expect([a.asked.includes("verify"), b.asked]).toEqual([false, ["verify"]]);
    b.script.verify = failing("verify", "none");
    await expect(pool.verify(REQUEST)).resolves.toEqual({ isValid: true });
  });
});

describe("settle", () => {
  test("asks the next facilitator when the first provably never got the request", async () => {
    a.script.settle = failing("settle", "none");
    await expect(pool.settle(REQUEST, PAYMENT)).resolves.toMatchObject({ success: true });
    expect(pool.facilitatorOf("p")).toBe("b");
  });

  test("throws the last failure when no facilitator got the request, and the payment belongs to none", async () => {
    a.script.settle = failing("settle", "none");
    b.script.settle = failing("settle", "none", 9);
    expect(await failureOf(pool.settle(REQUEST, PAYMENT))).toMatchObject({ outcome: "none", retryAfterSeconds: 9 });
    expect(pool.facilitatorOf("p")).toBeUndefined();
    a.script.settle = () => undefined;
    await pool.settle(REQUEST, PAYMENT);
    expect([a.asked, b.asked]).toEqual([["settle", "settle"], ["settle"]]);
  });

  test.each<[why: string, fail: () => unknown]>([
    ["fails with an unknown outcome", failing("settle", "unknown")],
    ["throws", () => Promise.reject(new RangeError("a bug"))],
    ["sends an invalid response", () => ({})],
  ])("asks no other facilitator when one %s", async (_why, fail) => {
    a.script.settle = fail;
    expect(await failureOf(pool.settle(REQUEST, PAYMENT))).toMatchObject({ operation: "settle", outcome: "unknown" });
    expect([a.asked, b.asked, pool.facilitatorOf("p")]).toEqual([["settle"], [], "a"]);
  });

  test("accepts a refusal as a response", async () => {
    const refusal = { success: false, errorReason: "insufficient_funds", transaction: "", network: NETWORK };
    a.script.settle = () => refusal;
    await expect(pool.settle(REQUEST)).resolves.toEqual(refusal);
    expect(b.asked).toEqual([]);
  });

  test("asks the facilitator that verified the payment first, then the others", async () => {
    a.script.verify = failing("verify", "none");
    await pool.verify(REQUEST, PAYMENT);
    b.script.settle = failing("settle", "none");
    await expect(pool.settle(REQUEST, PAYMENT)).resolves.toMatchObject({ success: true });
    expect([a.asked, b.asked]).toEqual([
      ["verify", "settle"],
      ["verify", "settle"],
    ]);
  });

  test.each<[why: string, again: (() => unknown) | undefined]>([
    ["responds", undefined],
    ["cannot be reached", failing("settle", "none")],
    ["leaves it in doubt again", failing("settle", "unknown")],
  ])("sends a payment in doubt to the same facilitator again, which %s", async (_why, again) => {
    a.script.settle = failing("settle", "unknown");
    await failureOf(pool.settle(REQUEST, PAYMENT));
    a.script.settle = again ?? (() => undefined);
    for (let time = 0; time < 2; time++) await pool.settle(REQUEST, PAYMENT).catch((error: FacilitatorError) => error);
    expect([a.asked, b.asked, pool.facilitatorOf("p")]).toEqual([["settle", "settle", "settle"], [], "a"]);
  });

  test("sends a payment in doubt to no other facilitator when its own is paused or supports nothing", async () => {
    a.script.settle = failing("settle", "unknown");
    a.script.supported = () => supporting();
    await failureOf(pool.settle(REQUEST, PAYMENT));
    let payment = 0;
    await failTimes(SETTLE_THRESHOLDS.failuresToOpen - 1, () => pool.settle(REQUEST, { payment: `p${payment++}` }));
    await pool.ready();
    expect(await failureOf(pool.settle(REQUEST, PAYMENT))).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
      outcome: "none",
      retryAfterSeconds: 30,
    });
    expect(b.asked).toEqual(["supported"]);
    await expect(pool.settle(REQUEST, { payment: "another" })).resolves.toMatchObject({ success: true });
    expect(b.asked).toEqual(["supported", "settle"]);
  });

  test("keeps a payment with the facilitator that responded", async () => {
    a.script.settle = failing("settle", "none");
    await pool.settle(REQUEST, PAYMENT);
    a.script.settle = () => undefined;
    b.script.settle = failing("settle", "none");
    await failureOf(pool.settle(REQUEST, PAYMENT));
    expect([a.asked, b.asked]).toEqual([["settle"], ["settle", "settle"]]);
  });

  test("sends two concurrent settlements of one payment to one facilitator", async () => {
    const ends: (() => void)[] = [];
    const outcomes = [failure("settle", "none"), failure("settle", "unknown")];
    a.script.settle = () => new Promise((_, reject) => ends.push(() => reject(outcomes.shift())));
    b.script.settle = failing("settle", "unknown");
    const first = failureOf(pool.settle(REQUEST, PAYMENT));
    const second = failureOf(pool.settle(REQUEST, PAYMENT));
    await quiet();
    for (const end of ends) end();
    expect([(await first).outcome, (await second).outcome]).toEqual(["unknown", "unknown"]);
    expect([a.asked, b.asked]).toEqual([["settle"], ["settle", "settle"]]);
  });

  test("identifies a payment without a name by its payload", async () => {
    a.script.settle = failing("settle", "unknown");
    await failureOf(pool.settle(REQUEST));
    a.script.settle = failing("settle", "none");
    await failureOf(pool.settle(REQUEST));
    expect(b.asked).toEqual([]);
    const { paymentPayload } = REQUEST;
    await pool.settle({ ...REQUEST, paymentPayload: { ...paymentPayload, payload: { signature: "0x02" } } });
    expect(b.asked).toEqual(["settle"]);
  });

  test("asks only the facilitator that the record names, even if it is not in the pool", async () => {
    await pool.settle(REQUEST, { ...PAYMENT, facilitator: "b" });
    expect([a.asked, b.asked, pool.facilitatorOf("p")]).toEqual([[], ["settle"], "b"]);
    expect(await failureOf(pool.settle(REQUEST, { payment: "q", facilitator: "c" }))).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
      outcome: "none",
    });
    expect([a.asked, b.asked]).toEqual([[], ["settle"]]);
  });
});

describe("over HTTP", () => {
  type Behaviour = Parameters<typeof serve>[0];

  /** Calls a pool of two servers. Counts the requests to the second one, which works. */
  async function callWith(first: Behaviour | "has a closed port", operation: "verify" | "settle") {
    const asked: (string | undefined)[] = [];
    const well = await serve(({ url }, response) => {
      asked.push(url);
      response.end('{"isValid":true,"success":true,"transaction":"0x1"}');
    });
    const urls = [first === "has a closed port" ? await closedPort() : await serve(first), well];
    const deadlines = { verifyMs: DEADLINE_MS, settleMs: DEADLINE_MS, supportedMs: DEADLINE_MS };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const entries = urls.map((url, at) => ({ name: `f${at}`, facilitator: createHttpFacilitator({ url }) }));
    const overHttp = createFacilitatorPool(entries, { clock, deadlines });
    const result = await overHttp[operation](REQUEST).catch((error: FacilitatorError) => error.outcome);
    vi.useRealTimers();
    return { result, asked: asked.length };
  }

  async function closedPort(): Promise<string> {
    const server = createServer();
    const url = await listen(server);
    server.close();
    await once(server, "close");
    return url;
  }

  const DEADLINE_MS = 5_000;
  /** Says nothing, until the caller has waited long enough. */
  const hangs: Behaviour = () => void vi.advanceTimersByTime(DEADLINE_MS);
  const resets: Behaviour = ({ socket }) => void socket.resetAndDestroy();
  const responds =
    (status: number, body = ""): Behaviour =>
    (_, response) =>
      response.writeHead(status).end(body);

  test.each<[why: string, first: Behaviour | "has a closed port", settlesElsewhere: boolean]>([
    ["has a closed port", "has a closed port", true],
    ["refuses the credentials", responds(401), false],
    ["is busy", responds(429), false],
    ["hangs", hangs, false],
    ["resets the connection", resets, false],
    ["is broken", responds(500), false],
    ["is a proxy without a server", responds(502, "<h1>Bad gateway</h1>"), false],
    ["sends an empty response", responds(200), false],
  ])(
    "when the first facilitator %s, verify asks the next one, and settle only if nothing was sent",
    async (_why, first, settles) => {
      expect(await callWith(first, "verify")).toEqual({ result: { isValid: true }, asked: 1 });
      const { result, asked } = await callWith(first, "settle");
      expect(asked).toBe(settles ? 1 : 0);
      if (settles) expect(result).toMatchObject({ success: true });
      else expect(result).toBe("unknown");
    },
  );

  test("/supported is fetched again after its Retry-After, and not before", async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      if (requests === 1) response.writeHead(429, { "retry-after": "30" }).end();
      else response.end(JSON.stringify(supporting(["exact", NETWORK])));
    });
    const limited = create({ name: "a", facilitator: createHttpFacilitator({ url }) });
    await limited.ready();
    expect([limited.supports("exact", NETWORK), clock.pendingMs]).toEqual(["unknown", [31_000]]);
    await clock.advance(30_999);
    expect(requests).toBe(1);
    await clock.advance(1);
    while (limited.supports("exact", NETWORK) !== "yes") await quiet();
    limited.close();
  });
});

describe("circuit breakers", () => {
  beforeEach(() => {
    a.script.verify = failing("verify", "none");
  });

  test("a failing facilitator is paused, then probed once, then asked as before", async () => {
    for (let call = 0; call < VERIFY_THRESHOLDS.failuresToOpen + 2; call++) await pool.verify(REQUEST);
    expect(a.asked).toHaveLength(VERIFY_THRESHOLDS.failuresToOpen);
    await clock.advance(VERIFY_THRESHOLDS.openMs);
    a.script.verify = () => ({ isValid: true });
    await pool.verify(REQUEST);
    await pool.verify(REQUEST);
    expect(a.asked).toHaveLength(VERIFY_THRESHOLDS.failuresToOpen + 2);
  });

  test("a call fails at once, with the seconds to wait, while all facilitators are paused", async () => {
    b.script.verify = failing("verify", "none", 20);
    await failTimes(VERIFY_THRESHOLDS.failuresToOpen, () => pool.verify(REQUEST));
    const asked = a.asked.length + b.asked.length;
    await clock.advance(1_500);
    expect(await failureOf(pool.verify(REQUEST))).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
      operation: "verify",
      outcome: "none",
      retryAfterSeconds: 9,
      message: "no facilitator was asked to verify: all of them are paused after failures",
    });
    expect(a.asked.length + b.asked.length).toBe(asked);
  });

  test("settling works while verifying fails", async () => {
    for (let call = 0; call < VERIFY_THRESHOLDS.failuresToOpen; call++) await pool.verify(REQUEST);
    await pool.settle(REQUEST, PAYMENT);
    expect(a.asked.at(-1)).toBe("settle");
    expect(pool.health()[0]?.breakers).toEqual({ verify: "open", settle: "closed" });
  });

  test("a server that says no to what it is sent is not broken: one bad route must not close the others", async () => {
    const url = await serve((_, response) => response.writeHead(400).end("{}"));
    const alone = create({ name: "a", facilitator: createHttpFacilitator({ url }) });
    await failTimes(VERIFY_THRESHOLDS.failuresToOpen * 2, () => alone.verify(REQUEST));
    expect(alone.health()[0]).toMatchObject({
      state: "up",
      lastErrorCode: "ERR_FAREBOX_FACILITATOR_STATUS",
      breakers: { verify: "closed" },
    });
  });

  test("a 429 with Retry-After pauses the facilitator at once", async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      response.writeHead(429, { "retry-after": "40" }).end();
    });
    const alone = create({ name: "a", facilitator: createHttpFacilitator({ url }) });
    await failureOf(alone.verify(REQUEST));
    expect(await failureOf(alone.verify(REQUEST))).toMatchObject({ retryAfterSeconds: 40 });
    expect(requests).toBe(1);
  });
});

describe("supported kinds", () => {
  test("support is unknown before the first /supported, and the facilitator is asked", async () => {
    expect(pool.supports("exact", NETWORK)).toBe("unknown");
    await expect(pool.verify(REQUEST)).resolves.toEqual({ isValid: true });
  });

  test("a facilitator that does not support an offer is not asked", async () => {
    a.script.supported = () => supporting(["upto", NETWORK], ["exact", "eip155:1"]);
    await pool.ready();
    expect(["exact", "upto", "other"].map((scheme) => pool.supports(scheme, NETWORK))).toEqual(["yes", "yes", "no"]);
    await pool.verify(REQUEST);
    expect([a.asked, b.asked]).toEqual([["supported"], ["supported", "verify"]]);
  });

  test("a call fails without a request when no facilitator supports the offer", async () => {
    a.script.supported = () => supporting();
    b.script.supported = () => supporting();
    await pool.ready();
    expect(await failureOf(pool.verify(REQUEST))).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
      message: "no facilitator was asked to verify: no facilitator supports exact on eip155:84532",
      retryAfterSeconds: undefined,
    });
  });

  test("a facilitator is only asked about its networks", async () => {
    const only = create(
      { name: "a", facilitator: a, networks: ["solana:*"] },
      { name: "b", facilitator: b, networks: ["eip155:84532", "algorand:*"] },
    );
    expect(only.supports("exact", NETWORK)).toBe("unknown");
    expect(only.supports("exact", "eip155:1")).toBe("no");
    await only.verify(REQUEST);
    await only.settle(REQUEST);
    expect([a.asked, b.asked]).toEqual([[], ["verify", "settle"]]);
    b.script.supported = () => supporting(["exact", NETWORK], ["exact", "eip155:1"]);
    await expect(only.supported()).resolves.toEqual(supporting(["exact", NETWORK]));
    only.close();
  });

  test("the revision grows only when something changes", async () => {
    await pool.ready();
    const before = pool.revision;
    await clock.advance(SUPPORTED_TTL_MS);
    expect(pool.revision).toBe(before);
    a.script.supported = () => supporting();
    await clock.advance(SUPPORTED_TTL_MS);
    expect(pool.revision).toBe(before + 1);
  });

  test("an offer gets the extra of the first supporting facilitator that is not down", async () => {
    const paidBy = (feePayer: string) => () => ({
      ...supporting(),
      kinds: [{ x402Version: 2, scheme: "exact", network: SOLANA, extra: { feePayer } }],
    });
    a.script.supported = paidBy("A");
    b.script.supported = paidBy("B");
    expect(pool.kindExtra("exact", SOLANA)).toBeUndefined();
    await pool.ready();
    expect(pool.kindExtra("exact", SOLANA)).toEqual({ feePayer: "A" });
    const before = pool.revision;
    a.script.verify = failing("verify", "none", 60);
    const requirements = { ...REQUEST.paymentRequirements, network: SOLANA, extra: {} };
    await pool.verify({ ...REQUEST, paymentRequirements: requirements });
    expect(pool.kindExtra("exact", SOLANA)).toEqual({ feePayer: "B" });
    expect(pool.revision).toBeGreaterThan(before);
  });

  test("an offer that names one facilitator's address goes only to it, even if it fails", async () => {
    const signedBy = (signer: string) => () => ({
      ...supporting(["exact", NETWORK]),
      signers: { "eip155:*": [signer] },
    });
    a.script.supported = signedBy("0xa");
    b.script.supported = signedBy("0xb");
    await pool.ready();
    const ofB = {
      ...REQUEST,
      paymentRequirements: { ...REQUEST.paymentRequirements, extra: { facilitatorAddress: "0xB" } },
    };
    b.script.verify = failing("verify", "none");
    b.script.settle = failing("settle", "none");
    await failureOf(pool.verify(ofB));
    await failureOf(pool.settle(ofB));
    expect(a.asked).toEqual(["supported"]);
  });

  test("supported() merges all responses, and fails only without any", async () => {
    a.script.supported = failing("supported", "none");
    b.script.supported = failing("supported", "none");
    expect(await failureOf(pool.supported())).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
      operation: "supported",
    });
    b.script.supported = () => supporting(["exact", NETWORK]);
    await clock.advance(1_000);
    await expect(pool.supported()).resolves.toEqual(supporting(["exact", NETWORK]));
  });
});

describe("start", () => {
  test.each<[why: string, supported: () => unknown]>([
    ["down", failing("supported", "none")],
    ["sending an invalid response", () => ({ kinds: 5 })],
    [
      "broken",
      () => {
        throw new RangeError("a bug");
      },
    ],
  ])("ready() resolves with a facilitator that is %s, which is asked nevertheless", async (_why, supported) => {
    a.script.supported = supported;
    await expect(pool.ready()).resolves.toBeUndefined();
    expect(pool.supports("exact", NETWORK)).toBe("yes");
    await pool.verify(REQUEST);
    expect(a.asked).toEqual(["supported", "verify"]);
  });

  test("ready() waits for a hanging /supported until its deadline, and payments do not wait", async () => {
    const url = await serve(({ url }, response) => {
      if (url !== "/supported") response.end('{"isValid":true}');
    });
    const deadlines = { verifyMs: 60_000, settleMs: 60_000, supportedMs: 100 };
    const hanging = createFacilitatorPool([{ name: "h", facilitator: createHttpFacilitator({ url }) }], {
      clock,
      deadlines,
    });
    const ready = hanging.ready();
    await expect(hanging.verify(REQUEST)).resolves.toEqual({ isValid: true });
    await expect(ready).resolves.toBeUndefined();
    expect(hanging.health()[0]?.lastErrorCode).toBe("ERR_FAREBOX_FACILITATOR_TIMEOUT");
    expect(hanging.supports("exact", NETWORK)).toBe("unknown");
    hanging.close();
  });

  test("a pool makes no request before start, and leaves no timer after close", async () => {
    await quiet();
    expect([a.asked, b.asked]).toEqual([[], []]);
    b.script.supported = () => new Promise(() => {});
    const ready = pool.ready();
    await quiet();
    pool.close();
    await expect(ready).resolves.toBeUndefined();
    expect(clock.pendingMs).toEqual([]);
  });

  test("a closed pool still settles", async () => {
    pool.start();
    pool.close();
    await expect(pool.settle(REQUEST)).resolves.toMatchObject({ success: true });
  });

  test("timers of the system clock do not keep the process alive", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => set.mockRestore());
    const timers: unknown[] = [];
    const schedule: typeof SYSTEM_CLOCK.schedule = (run, delayMs) => {
      const before = set.mock.results.length;
      const cancel = SYSTEM_CLOCK.schedule(run, delayMs);
      timers.push(...set.mock.results.slice(before).map(({ value }) => value));
      return cancel;
    };
    const real = createFacilitatorPool([{ name: "a", facilitator: a }], { clock: { ...SYSTEM_CLOCK, schedule } });
    await real.ready();
    await quiet();
    expect(timers).not.toEqual([]);
    expect(timers.filter((timer) => (timer as NodeJS.Timeout).hasRef())).toEqual([]);
    real.close();
  });
});

describe("health", () => {
  const [health] = [() => pool.health()[0]];

  test("is unknown at first, then up, which is logged once", async () => {
    const sinceMs = clock.now();
    expect(health()).toEqual({
      name: "a",
      state: "unknown",
      sinceMs,
      lastErrorCode: undefined,
      breakers: { verify: "closed", settle: "closed" },
      supportedFetchedAtMs: undefined,
    });
    await clock.advance(5);
    await pool.ready();
    await pool.verify(REQUEST);
    expect(health()).toMatchObject({ state: "up", sinceMs: sinceMs + 5, supportedFetchedAtMs: sinceMs + 5 });
    expect(logger.info.mock.calls).toEqual([
      ["facilitator_up", { facilitator: "a" }],
      ["facilitator_up", { facilitator: "b" }],
    ]);
  });

  test("is down while a breaker is not closed, and up after the probe", async () => {
    await pool.verify(REQUEST);
    a.script.verify = failing("verify", "none");
    for (let call = 0; call < VERIFY_THRESHOLDS.failuresToOpen; call++) await pool.verify(REQUEST);
    expect(health()).toMatchObject({ state: "down", lastErrorCode: "ERR_FAREBOX_FACILITATOR_UNREACHABLE" });
    expect(logger.error.mock.calls).toEqual([
      [
        "facilitator_down",
        {
          facilitator: "a",
          code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
          status: undefined,
          message: "verify failed, outcome none",
        },
      ],
    ]);
    await clock.advance(VERIFY_THRESHOLDS.openMs);
    expect(health()).toMatchObject({ state: "down", breakers: { verify: "half-open" } });
    a.script.verify = () => ({ isValid: true });
    await pool.verify(REQUEST);
    expect(health()?.state).toBe("up");
    expect(changes.filter(({ name }) => name === "a").map(({ state }) => state)).toEqual(["up", "down", "up"]);
  });

  test("is down at once without any response before, and after three failures with one", async () => {
    b.script.supported = failing("supported", "none");
    await pool.ready();
    expect(pool.health().map(({ state }) => state)).toEqual(["up", "down"]);
    a.script.supported = failing("supported", "none");
    await clock.advance(SUPPORTED_TTL_MS);
    await clock.advance(1_000);
    expect(health()?.state).toBe("up");
    await clock.advance(2_000);
    expect(health()?.state).toBe("down");
    await pool.verify(REQUEST);
    expect(health()?.state).toBe("up");
  });

  test("has no text of the facilitator", async () => {
    a.script.verify = () => Promise.reject(new RangeError("hunter2"));
    await pool.verify(REQUEST);
    expect(JSON.stringify(pool.health())).not.toContain("hunter2");
  });

  test("keeps nothing of who waited for a call that failed", async () => {
    class Waiting {
      async settle() {
        await pool.settle(REQUEST, PAYMENT).catch(() => {});
      }
      async verify() {
        await pool.verify(REQUEST, PAYMENT).catch(() => {});
      }
    }
    a.script.verify = a.script.settle = () => Promise.reject(new RangeError("a bug"));
    pool = create({ name: "a", facilitator: a });
    const failed = async () => {
      const waiting = [new Waiting(), new Waiting()] as const;
      await waiting[0].verify();
      await waiting[1].settle();
      return waiting.map((one) => new WeakRef(one));
    };
    const kept = await failed();
    await quiet();
    collectGarbage();
    expect(kept.map((one) => one.deref())).toEqual([undefined, undefined]);
    expect(pool.health()[0]).toMatchObject({ lastErrorCode: "ERR_FAREBOX_FACILITATOR_RESPONSE" });
  });
});

test.each([1, 2])(
  "a clock that throws takes no place for good, and nothing but the call fails: %i facilitators",
  async (count) => {
    let isBroken = true;
    const now = () => {
      if (isBroken) throw new RangeError("the clock is broken");
      return 0;
    };
    isBroken = false;
    const entries = [a, b].slice(0, count).map((facilitator, at) => ({ name: `f${at}`, facilitator }));
    const broken = createFacilitatorPool(entries, { clock: { ...clock, now } });
    isBroken = true;
    const ask = async (operation: "verify" | "settle") => broken[operation](REQUEST, PAYMENT);
    for (let call = 0; call < 200; call++) {
      for (const operation of ["verify", "settle"] as const) await expect(ask(operation)).rejects.toThrow();
    }
    isBroken = false;
    await expect(ask("verify")).resolves.toEqual({ isValid: true });
    await expect(ask("settle")).resolves.toMatchObject({ success: true });
  },
);

test.each<[entries: unknown[], path: string, why: string]>([
  [[], "facilitators", "an empty list"],
  [[{ name: "a" }, { name: "a" }], "facilitators[1].name", "the same name twice"],
  [[{ name: "" }], "facilitators[0].name", "no name"],
  [[{ name: "a", networks: [] }], "facilitators[0].networks", "no networks"],
  [[{ name: "a", networks: ["base"] }], "facilitators[0].networks", "not a network"],
  [[{ name: "a", networks: ["eip155:*", "*"] }], "facilitators[0].networks", "not a pattern"],
])("%j makes createFacilitatorPool throw about %s: %s", (entries, path) => {
  const create = () =>
    createFacilitatorPool(entries.map((entry) => ({ facilitator: a, ...(entry as object) })) as never);
  expect(create).toThrow(ConfigError);
  expect(create).toThrow(new RegExp(`^${path.replace(/[[\].]/g, "\\$&")}: `));
});
