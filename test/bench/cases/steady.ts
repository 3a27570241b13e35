/**
 * A steady rate of payments for minutes: the latency, and whether memory, timers and listeners stay as they are.
 *
 * @module
 */
import { PATHS, type Plan } from "../plan.js";
import type { Interval, Load } from "../processes/load.js";
import type { Census } from "../processes/server.js";
import { type RunningServer, runLoad, startServer } from "../processes/spawn.js";
import { type StoreServer, startStore } from "../processes/store-server.js";
import type { Percentiles } from "../processes/tally.js";
import type { Effort } from "./effort.js";

/** One run. */
export interface Steady extends Percentiles {
  readonly title: string;
  readonly connections: number;
  readonly minutes: number;
  /** Payments that the server takes at most, on as many connections as {@link MOST_CONNECTIONS}. */
  readonly highest: number;
  /** Payments that were sent in a second. */
  readonly rate: number;
  readonly requests: number;
  /** Responses that were not 200. */
  readonly refused: number;
  readonly intervals: readonly Interval[];
  /** Memory of the process over time. */
  readonly memory: readonly MemorySample[];
  /** Before the minutes that count, and after them. */
  readonly first: Census;
  readonly last: Census;
}

/** How much memory a process has. */
export interface MemorySample {
  readonly second: number;
  readonly bytes: number;
}

/** What is run. */
interface SteadyCase {
  readonly title: string;
  readonly store: "memory" | "redis";
  readonly connections: number;
  /** Payments a second. Default: 70 % of what the server takes at most. */
  readonly rate?: number;
  /** Of the minutes of a soak. */
  readonly share: number;
}

const STEADY_CASES: readonly SteadyCase[] = [
  { title: "store in memory", store: "memory", connections: 256, share: 1 },
  { title: "store in Redis", store: "redis", connections: 256, share: 1 },
  { title: "2,000 connections", store: "memory", connections: 2_000, rate: 2_000, share: 0.2 },
];

const MOST_CONNECTIONS = 64;
const SHARE_OF_HIGHEST = 0.7;
/** Of the minutes of a soak: after three of ten as many payments expire as come. */
const WARM_UP_SHARE = 0.3;
const INTERVALS = 30;

/** Runs each of them, one after another. `minutes`: ten in earnest. */
export async function measureSteady(minutes: number, effort: Effort): Promise<Steady[]> {
  const all: Steady[] = [];
  for (const what of STEADY_CASES) {
    const store = what.store === "redis" ? await startStore("redis") : undefined;
    store?.pin(true);
    try {
      all.push(await runSteady(what, minutes, { store, effort }));
    } finally {
      await store?.close();
    }
  }
  return all;
}

async function runSteady(
  { title, connections, share, rate: wanted }: SteadyCase,
  soakMinutes: number,
  { store, effort }: { readonly store: StoreServer | undefined; readonly effort: Effort },
): Promise<Steady> {
  const plan: Plan = { side: "farebox", fillers: 0, offers: 1, forgetsEarly: true };
  // The census counts objects by an interface of V8 that is experimental.
  const flags = ["--disable-warning=ExperimentalWarning"];
  const server = await startServer(store === undefined ? plan : { ...plan, store: store.store }, { flags });
  const url = server.url + PATHS.paid;
  const minutes = Math.round(soakMinutes * share * 100) / 100;
  const load: Load = { urls: [url], payAt: url, connections, seconds: minutes * 60 };
  effort.note(`${title}: the highest rate`);
  const full = { ...load, connections: MOST_CONNECTIONS };
  await runLoad({ ...full, seconds: effort.warmUpSeconds });
  const highest = (await runLoad({ ...full, seconds: effort.seconds * 5 })).requests / (effort.seconds * 5);
  const rate = wanted ?? Math.floor(highest * SHARE_OF_HIGHEST);

  effort.note(`${title}: ${rate} a second, ${minutes} minutes`);
  let first: Census | undefined;
  const takeFirst = async () => {
    first = await server.census();
  };
  await runLoad({ ...load, rate, seconds: soakMinutes * 60 * WARM_UP_SHARE }, { onDone: takeFirst });
  const intervalSeconds = load.seconds / INTERVALS;
  const sampler = sampleMemory(server, intervalSeconds);
  let memory: readonly MemorySample[] = [];
  let last: Census | undefined;
  const takeLast = async () => {
    memory = await sampler.stop();
    last = await server.census();
  };
  const { requests, statuses, ...rest } = await runLoad(
    { ...load, rate, intervalSeconds },
    { onReady: sampler.start, onDone: takeLast },
  );
  await server.close();
  if (first === undefined || last === undefined) throw new Error("nothing was counted");
  const refused = requests - (statuses["200"] ?? 0);
  return { title, connections, minutes, highest, rate, requests, refused, ...rest, memory, first, last };
}

/** Looks at the memory of a server again and again. */
export function sampleMemory(server: RunningServer, intervalSeconds: number) {
  const samples: MemorySample[] = [];
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<unknown> = Promise.resolve();
  return {
    start() {
      const startedAt = performance.now();
      const look = async () => {
        const { bytes } = await server.usage();
        samples.push({ second: Math.round((performance.now() - startedAt) / 100) / 10, bytes });
      };
      timer = setInterval(() => {
        looking = looking.then(look);
      }, intervalSeconds * 1000);
    },
    async stop(): Promise<readonly MemorySample[]> {
      clearInterval(timer);
      await looking;
      return samples;
    },
  };
}
