/**
 * A facilitator that becomes ten times slower and recovers, while payments, unpaid requests and free ones come at a steady rate.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { PATHS } from "../plan.js";
import type { Interval, LoadResult } from "../processes/load.js";
import { runLoad, startFacilitator, startServer } from "../processes/spawn.js";
import type { Effort } from "./effort.js";
import { type MemorySample, sampleMemory } from "./steady.js";

/** One run: before, while and after the facilitator is slow, for as long each. */
export interface SlowFacilitator {
  readonly title: string;
  /** Payments a second. */
  readonly rate: number;
  /** Whether the facilitator verifies so many a second while it is slow, with the calls that Farebox allows itself. */
  readonly isWithinReach: boolean;
  readonly phaseSeconds: number;
  readonly paid: readonly Interval[];
  readonly unpaid: readonly Interval[];
  readonly free: readonly Interval[];
  readonly memory: readonly MemorySample[];
}

const RATES = [
  { title: "200 payments a second", rate: 200, isWithinReach: true },
  { title: "500 payments a second", rate: 500, isWithinReach: false },
] as const;

const FAST_MS = 20;
const SLOW_MS = 10 * FAST_MS;
/** Unpaid requests, and free ones. */
const OTHERS_A_SECOND = 100;
const INTERVALS_OF_A_PHASE = 6;

/** Runs both rates. `minutes`: those of a soak; a phase has a tenth. */
export async function measureSlowFacilitator(minutes: number, effort: Effort): Promise<SlowFacilitator[]> {
  const all: SlowFacilitator[] = [];
  for (const { title, rate, isWithinReach } of RATES) {
    effort.note(`slow facilitator: ${title}`);
    const phaseSeconds = minutes * 6;
    all.push({ title, rate, isWithinReach, phaseSeconds, ...(await runPhases(rate, phaseSeconds, effort)) });
  }
  return all;
}

async function runPhases(rate: number, phaseSeconds: number, { warmUpSeconds }: Effort) {
  const facilitator = await startFacilitator(FAST_MS);
  const server = await startServer({ side: "farebox", fillers: 0, offers: 1, facilitatorUrl: facilitator.url });
  const payAt = server.url + PATHS.paid;
  const timing = { seconds: 3 * phaseSeconds, intervalSeconds: phaseSeconds / INTERVALS_OF_A_PHASE };
  // As many connections as no payment waits for one.
  const paid = { urls: [payAt], payAt, connections: 1_000, rate, ...timing };
  const other = (path: string) => ({ urls: [server.url + path], connections: 16, rate: OTHERS_A_SECOND, ...timing });
  await runLoad({ ...paid, connections: 32, seconds: warmUpSeconds });
  const sampler = sampleMemory(server, timing.intervalSeconds);
  const loads = [paid, other(PATHS.challenge), other(PATHS.free)];
  const [ofPaid, ofUnpaid, ofFree] = await runTogether(loads, async () => {
    sampler.start();
    await sleep(phaseSeconds * 1000);
    facilitator.setLatency(SLOW_MS);
    await sleep(phaseSeconds * 1000);
    facilitator.setLatency(FAST_MS);
  });
  const memory = await sampler.stop();
  await Promise.all([server.close(), facilitator.close()]);
  return {
    paid: ofPaid?.intervals ?? [],
    unpaid: ofUnpaid?.intervals ?? [],
    free: ofFree?.intervals ?? [],
    memory,
  };
}

/** Begins all loads when the last one is ready, and `beside` with them. */
async function runTogether(
  loads: readonly Parameters<typeof runLoad>[0][],
  beside: () => Promise<void>,
): Promise<readonly LoadResult[]> {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let ready = 0;
  let done: Promise<void> | undefined;
  const onReady = () => {
    if (++ready === loads.length) {
      begin();
      done = beside();
    }
    return begun;
  };
  const results = await Promise.all(loads.map((load) => runLoad(load, { onReady })));
  await done;
  return results;
}
