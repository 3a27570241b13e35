/**
 * Sellers of two processes on one store: processes are killed at each point of a payment, and the store's server is killed, stopped and
 * cut off. `judge.ts` says what holds nevertheless.
 *
 * - `FAREBOX_CHAOS_SEQUENCES`: for each store. `FAREBOX_CHAOS_SHOPS`: how many are played at once.
 * - `FAREBOX_CHAOS_STORE`: only this store.
 * - `FAREBOX_SEED`: of the first sequence; the next ones have the next numbers.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SEED } from "../draws.js";
import { compareBooks, judge, NOTICED_WITHIN_MS, noticesOf } from "./judge.js";
import { drawSequence, EACH_DEATH, type Sequence, shortened } from "./plan.js";
import { type PlayedSequence, play } from "./play.js";
import { LIBRARIES, type Library, problemOf } from "./servers.js";
import { type Bank, openBank, openShop, type Shop } from "./shop.js";

/** Of `pnpm test:slow`: as many as are over in a minute. */
const FEW = 4;

const SEQUENCES = readNumber("FAREBOX_CHAOS_SEQUENCES") ?? FEW;
const isShort = process.env["FAREBOX_CHAOS_SEQUENCES"] === undefined;
const SHOPS = Math.min(readNumber("FAREBOX_CHAOS_SHOPS") ?? (isShort ? FEW / 2 : FEW), SEQUENCES);

/** The short run stands beside other tests, and says nothing about how soon. */
const WITHIN_MS = isShort ? Number.POSITIVE_INFINITY : NOTICED_WITHIN_MS;

/** Played in the short run, beside a random one. */
const SHORT: readonly string[] = [
  "a death after claimed to settling, on /after",
  "a death after settle, on /large",
  "a death after settling to settled, on /before",
];

/** As long as a sequence may take at most. */
const SEQUENCE_MS = 240_000;

let bank: Bank;
beforeAll(async () => {
  bank = await openBank();
});
afterAll(() => bank.close());

function isWanted(library: Library): boolean {
  return (process.env["FAREBOX_CHAOS_STORE"] ?? library) === library;
}

for (const library of LIBRARIES.filter(isWanted)) {
  const problem = problemOf(library);
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  test.skipIf(problem !== undefined)(
    `with ${library}, a payment is run, charged and delivered once, however processes and servers die`,
    // The short run mostly waits for leases to end.
    { concurrent: isShort, timeout: 60_000 + (SEQUENCES / SHOPS + 1) * SEQUENCE_MS },
    async () => {
      console.log(`chaos with ${library}: ${SEQUENCES} sequences, FAREBOX_SEED=${SEED}`);
      const draw = isShort ? (seed: number) => shortened(drawSequence(seed)) : drawSequence;
      const seeds = Array.from({ length: SEQUENCES }, (_, at) => SEED + at);
      const tasks = seeds.map((seed): Task => [`seed ${seed}`, draw(seed)]);
      // Of the long run.
      if (SEQUENCES >= EACH_DEATH.length) tasks.splice(0, EACH_DEATH.length, ...EACH_DEATH);
      if (isShort) tasks.splice(0, SHORT.length, ...EACH_DEATH.filter(([name]) => SHORT.includes(name)));
      const tally = new Tally();
      const shops = Array.from({ length: SHOPS }, () => playAll(library, tasks, tally));
      // All are closed, also when one of them fails.
      await Promise.allSettled(shops);
      await Promise.all(shops);
      console.log(`chaos with ${library}: ${tally.text()}`);
      expect(tally.problems).toEqual([]);
      expect(tally.faults).toBeGreaterThan(0);
    },
  );
}

/** A sequence by its seed, or another name. */
type Task = readonly [name: string, sequence: Sequence];

/** Plays sequences in one shop, until none is left. */
async function playAll(library: Library, tasks: Task[], tally: Tally): Promise<void> {
  let shop: Shop | undefined;
  try {
    shop = await openShop(library, bank);
    const keys: string[] = [];
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
      const [name, sequence] = task;
      const played = await play(shop, sequence);
      const problems = judge(played, WITHIN_MS);
      keys.push(...played.payments.map(({ key }) => key));
      tally.add(
        played,
        problems.map((problem) => `${name}: ${problem}`),
      );
      if (problems.length > 0) console.log(describeProblem(name, sequence, played, problems));
    }
    const left = await settleAll(shop);
    if (left.length > 0) tally.problems.push(`[5] is left unfinished for good: ${left.join(", ")}`);
    const entries = await shop.entries();
    for (const key of keys) tally.problems.push(...compareBooks(key, await bank.transfersOf(key), entries));
  } finally {
    await shop?.close();
  }
}

/** What no client waits for ends by itself. */
async function settleAll(shop: Shop): Promise<readonly string[]> {
  const untilMs = Date.now() + 100_000;
  for (;;) {
    await shop.recover();
    const left = await shop.unfinished();
    if (left.length === 0 || Date.now() > untilMs) return left.map(({ state, identity }) => `${state} ${identity}`);
    await delay(500);
  }
}

class Tally {
  sequences = 0;
  clean = 0;
  payments = 0;
  runs = 0;
  faults = 0;
  deaths = 0;
  readonly noticedMs: number[] = [];
  /** Each point at which something happened. */
  readonly points = new Set<string>();
  readonly problems: string[] = [];

  add(played: PlayedSequence, problems: readonly string[]): void {
    const happened = played.faults.filter((fault) => fault.happened !== undefined);
    this.sequences += 1;
    this.clean += problems.length === 0 ? 1 : 0;
    this.payments += played.payments.length;
    this.runs += played.payments.reduce((sum, { runs }) => sum + runs.length, 0);
    this.faults += happened.length;
    this.deaths += happened.filter(({ plan }) => plan.act.endsWith("die")).length;
    for (const { plan } of happened) this.points.add(plan.point);
    this.noticedMs.push(...noticesOf(played).map(({ ms }) => ms));
    this.problems.push(...problems);
    if (this.sequences % 50 === 0) console.log(`chaos: ${this.text()}`);
  }

  text(): string {
    const { sequences, clean, payments, runs, faults, points, deaths, noticedMs } = this;
    const longestMs = noticedMs.length === 0 ? "no" : Math.max(...noticedMs);
    return (
      `${clean} of ${sequences} sequences clean; ${payments} payments, ${runs} runs, ${faults} faults, ${deaths} of them deaths, ` +
      `at ${points.size} points; ` +
      `${noticedMs.length} deaths in a payment, noticed within ${longestMs} ms of ${NOTICED_WITHIN_MS}`
    );
  }
}

function describeProblem(name: string, sequence: object, played: PlayedSequence, problems: readonly string[]): string {
  const startMs = Math.min(...played.payments.flatMap(({ replies }) => replies.map(({ sentMs }) => sentMs)));
  const at = (ms: number | undefined) => (ms === undefined ? undefined : ms - startMs);
  const facts = {
    name,
    problems,
    sequence,
    faults: played.faults.map(({ happened, id }) => ({ id, atMs: at(happened?.atMs), seller: happened?.seller.at })),
    outages: played.outages.filter(({ toMs }) => toMs > startMs).map(({ fromMs, toMs }) => [at(fromMs), at(toMs)]),
    payments: played.payments.map(({ runs, transfers, replies, settleCallsMs }) => ({
      runs: runs.map(({ id, seller, startMs: from, endMs }) => [
        id,
        seller.at,
        at(from),
        at(endMs),
        at(seller.killedMs),
      ]),
      transfers: transfers.map(({ atMs }) => at(atMs)),
      settleCalls: settleCallsMs.map(at),
      replies: replies.map(({ seller, sentMs, atMs, result, isMain }) =>
        [
          isMain ? "main" : "duplicate",
          seller.at,
          at(sentMs),
          at(atMs),
          result?.status,
          result?.text.slice(0, 60),
        ].join(" "),
      ),
    })),
  };
  return JSON.stringify(facts, undefined, 1);
}

function readNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new RangeError(`${name} must be a whole number, not ${text}`);
  return Number(text);
}
