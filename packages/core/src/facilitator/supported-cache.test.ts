import { beforeEach, describe, expect, test } from "vitest";
import type { FacilitatorError } from "../errors.js";
import { createManualClock, failing, failure, type ManualClock, quiet, supporting } from "./pool.fixture.js";
import {
  createSupportedCache,
  FIRST_BACKOFF_MS,
  LONGEST_BACKOFF_MS,
  SUPPORTED_TTL_MS,
  type SupportedCache,
} from "./supported.js";

const EXACT = supporting(["exact", "eip155:1"]);
const BOTH = supporting(["exact", "eip155:1"], ["upto", "eip155:1"]);

let clock: ManualClock;
let cache: SupportedCache;
let respond: (signal: AbortSignal) => unknown;
let fetches: number;
let heard: (boolean | string)[];

function create(random?: number): void {
  clock = createManualClock(random);
  fetches = 0;
  heard = [];
  cache = createSupportedCache({
    async fetch(signal) {
      fetches++;
      return await respond(signal);
    },
    clock,
    onResponse: (changed) => void heard.push(changed),
    onFailure: ({ code }: FacilitatorError) => void heard.push(code),
  });
}

beforeEach(() => {
  respond = () => EXACT;
  create();
});

describe("while fetches succeed", () => {
  test("nothing is fetched before the start, and once at the start, even if started twice", async () => {
    await quiet();
    expect([fetches, cache.latest(), cache.fetchedAtMs()]).toEqual([0, undefined, undefined]);
    cache.start();
    cache.start();
    await cache.asked;
    expect([fetches, cache.latest(), cache.fetchedAtMs()]).toEqual([1, EXACT, clock.now()]);
  });

  test("a response is fetched again after SUPPORTED_TTL_MS, and changes are reported", async () => {
    cache.start();
    await quiet();
    await clock.advance(SUPPORTED_TTL_MS - 1);
    expect(fetches).toBe(1);
    await clock.advance(1);
    respond = () => BOTH;
    await clock.advance(SUPPORTED_TTL_MS);
    expect([fetches, cache.latest(), cache.fetchedAtMs()]).toEqual([3, BOTH, clock.now()]);
    expect(heard).toEqual([true, false, true]);
  });

  test.each([
    [0, SUPPORTED_TTL_MS / 2],
    [0.5, (SUPPORTED_TTL_MS * 3) / 4],
  ])("a random number of %d makes the pause %d ms, so sellers started together spread out", async (random, pauseMs) => {
    create(random);
    cache.start();
    await quiet();
    expect(clock.pendingMs).toEqual([pauseMs]);
  });
});

describe("while fetches fail", () => {
  test.each<[why: string, fail: () => unknown, code: string]>([
    ["an unreachable facilitator", failing("supported", "none"), "ERR_FAREBOX_FACILITATOR_UNREACHABLE"],
    ["a rejection that is not a FacilitatorError", () => Promise.reject("no"), "ERR_FAREBOX_FACILITATOR_RESPONSE"],
    ["an invalid response", () => ({ kinds: "none" }), "ERR_FAREBOX_FACILITATOR_RESPONSE"],
    ["undefined", () => undefined, "ERR_FAREBOX_FACILITATOR_RESPONSE"],
  ])("%s leaves the old response in use", async (_why, fail, code) => {
    cache.start();
    await cache.asked;
    const fetchedAtMs = cache.fetchedAtMs();
    respond = fail;
    await clock.advance(SUPPORTED_TTL_MS);
    expect([heard.at(-1), cache.latest(), cache.fetchedAtMs()]).toEqual([code, EXACT, fetchedAtMs]);
  });

  test("the pauses double, up to a minute, and start again after a response", async () => {
    respond = failing("supported", "none");
    cache.start();
    await cache.asked;
    const pauses: number[] = [];
    for (let failures = 0; failures < 8; failures++) {
      const [pauseMs] = clock.pendingMs;
      pauses.push(pauseMs!);
      await clock.advance(pauseMs!);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000));
    respond = () => EXACT;
    await clock.advance(LONGEST_BACKOFF_MS);
    expect(clock.pendingMs).toEqual([SUPPORTED_TTL_MS]);
    respond = failing("supported", "none");
    await clock.advance(SUPPORTED_TTL_MS);
    expect(clock.pendingMs).toEqual([FIRST_BACKOFF_MS]);
  });

  test("a Retry-After is added to the pause", async () => {
    respond = () => Promise.reject(failure("supported", "none", 120));
    cache.start();
    await cache.asked;
    expect(clock.pendingMs).toEqual([120_000 + FIRST_BACKOFF_MS]);
  });
});

describe("after close", () => {
  test("nothing is scheduled", async () => {
    cache.start();
    await quiet();
    cache.close();
    expect(clock.pendingMs).toEqual([]);
  });

  test("a fetch in progress is aborted, and its result is ignored", async () => {
    let signal: AbortSignal | undefined;
    respond = (given) => {
      signal = given;
      return new Promise((_, reject) => given.addEventListener("abort", () => reject(failure("supported", "none"))));
    };
    cache.start();
    cache.close();
    await cache.asked;
    await quiet();
    expect(signal?.aborted).toBe(true);
    expect([clock.pendingMs, heard]).toEqual([[], []]);
  });

  test("it cannot be started again", async () => {
    cache.close();
    cache.start();
    await cache.asked;
    expect(fetches).toBe(0);
  });
});
