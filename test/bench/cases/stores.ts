/**
 * What a store that processes share adds to a paid request, and how many requests several processes serve with it.
 *
 * @module
 */
import { PATHS, type Plan, type StorePlace } from "../plan.js";
import { type RunningServer, runLoad, runProbe, startFacilitator, startServer } from "../processes/spawn.js";
import { type StoreServer, startStore } from "../processes/store-server.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";
import { fillStore } from "./fill.js";

/** Milliseconds of a paid request, one at a time. Medians. */
export interface StoreLatency {
  readonly kind: StorePlace["kind"];
  /** Payments on record before. */
  readonly records: number;
  readonly inMemory: number;
  readonly inStore: number;
}

/** Paid requests of several processes. Medians. */
export interface StoreThroughput {
  readonly kind: StorePlace["kind"] | "memory";
  readonly records: number;
  readonly processes: number;
  /** Of all that runs on this machine, load and store included. */
  readonly perSecond: number;
  /** Milliseconds of the sellers' processors, for one request. */
  readonly sellerMs: number;
  /** The same of the store's server. */
  readonly storeMs?: number;
}

export interface StoreFigures {
  readonly latencies: readonly StoreLatency[];
  readonly throughput: readonly StoreThroughput[];
}

/** All stores. */
export const KINDS: readonly StorePlace["kind"][] = ["redis", "postgres", "sqlite"];
const PROCESSES = [1, 2, 4];
/** Divisible among the processes. */
const CONNECTIONS = 32;
/** Away from the seller. A real facilitator is farther. */
const FACILITATOR_MS = 5;

/** Measures stores, empty and with many payments on record. */
export async function measureStores(
  kinds: readonly StorePlace["kind"][],
  records: number,
  effort: Effort,
): Promise<StoreFigures> {
  const latencies: StoreLatency[] = [];
  const throughput: StoreThroughput[] = [await measureProcesses(1, { kind: "memory", records: 0 }, effort)];
  for (const kind of kinds) {
    const server = await startStore(kind);
    try {
      latencies.push(await measureLatency(server, 0, effort));
      for (const processes of PROCESSES) {
        throughput.push(await measureProcesses(processes, { kind, records: 0, server }, effort));
      }
      effort.note(`${kind}: ${records} payments`);
      await fillStore(server.store, records);
      latencies.push(await measureLatency(server, records, effort));
      throughput.push(await measureProcesses(1, { kind, records, server }, effort));
    } finally {
      await server.close();
    }
  }
  return { latencies, throughput };
}

/** The store's server and the facilitator are beside the client, on the other core. */
async function measureLatency(server: StoreServer, records: number, effort: Effort): Promise<StoreLatency> {
  const { kind } = server.store;
  server.pin(true);
  const facilitator = await startFacilitator(FACILITATOR_MS);
  const plan: Plan = { side: "farebox", fillers: 0, offers: 1, facilitatorUrl: facilitator.url };
  const sellers = [await startServer(plan), await startServer({ ...plan, store: server.store })];
  const times: number[][] = [[], []];
  for (const [at, seller] of sellers.entries()) await warmUp([seller], effort, at === 0 ? "memory" : kind);
  for (let round = 0; round < effort.rounds * effort.generations; round++) {
    for (const [at, seller] of sellers.entries()) {
      effort.note(`latency: ${kind}, ${records} payments, round ${round}`);
      const url = seller.url + PATHS.paid;
      const { wholeMs } = await runProbe({
        url,
        payAt: url,
        requests: effort.requests,
        warmUp: 20,
        expect: 200,
      });
      times[at]?.push(median(wholeMs));
    }
  }
  await Promise.all([...sellers, facilitator].map((each) => each.close()));
  server.pin(false);
  const [inMemory = [], inStore = []] = times;
  return { kind, records, inMemory: median(inMemory), inStore: median(inStore) };
}

async function measureProcesses(
  processes: number,
  { kind, records, server }: Pick<StoreThroughput, "kind" | "records"> & { readonly server?: StoreServer },
  effort: Effort,
): Promise<StoreThroughput> {
  const store = server === undefined ? {} : { store: server.store };
  const plan: Plan = { side: "farebox", fillers: 0, offers: 1, ...store };
  const sellers = await Promise.all(Array.from({ length: processes }, () => startServer(plan, { core: "any" })));
  await warmUp(sellers, effort, kind);
  const runs: { perSecond: number; sellerMs: number; storeMs: number | undefined }[] = [];
  for (let round = 0; round < effort.rounds * effort.generations; round++) {
    effort.note(`${kind}: ${processes} processes, ${records} payments, round ${round}`);
    let [sellersBefore, storeBefore]: [number, number | undefined] = [0, 0];
    const { requests } = await putLoad(sellers, effort.seconds, async () => {
      [sellersBefore, storeBefore] = [await cpuOf(sellers), server?.cpuSeconds()];
    });
    const [sellersAfter, storeAfter] = [await cpuOf(sellers), server?.cpuSeconds()];
    const ofStore = storeBefore === undefined || storeAfter === undefined ? undefined : storeAfter - storeBefore;
    runs.push({
      perSecond: requests / effort.seconds,
      sellerMs: ((sellersAfter - sellersBefore) / requests) * 1000,
      storeMs: ofStore === undefined ? undefined : (ofStore / requests) * 1000,
    });
  }
  await Promise.all(sellers.map((seller) => seller.close()));
  const storeMs = runs.flatMap((run) => (run.storeMs === undefined ? [] : [run.storeMs]));
  return {
    kind,
    records,
    processes,
    perSecond: median(runs.map(({ perSecond }) => perSecond)),
    sellerMs: median(runs.map(({ sellerMs }) => sellerMs)),
    ...(storeMs.length === 0 ? {} : { storeMs: median(storeMs) }),
  };
}

async function warmUp(sellers: readonly RunningServer[], { warmUpSeconds, note }: Effort, what: string): Promise<void> {
  note(`${what}: warming up ${sellers.length}`);
  await putLoad(sellers, warmUpSeconds);
}

function putLoad(sellers: readonly RunningServer[], seconds: number, onReady?: () => Promise<void>) {
  const urls = sellers.map((seller) => seller.url + PATHS.paid);
  const load = { urls, payAt: urls[0] ?? "", connections: CONNECTIONS, seconds, expect: 200 };
  return runLoad(load, onReady === undefined ? {} : { onReady }, "any");
}

async function cpuOf(sellers: readonly RunningServer[]): Promise<number> {
  const used = await Promise.all(sellers.map((seller) => seller.usage()));
  return used.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}
