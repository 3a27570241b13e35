/**
 * How many requests a server answers with a second of its processor, of each side and of bare Express that answers the same
 * bytes. The client may be slower than the server: that does not count.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { atCount, PATHS, type Plan, type Side } from "../plan.js";
import { type RunningServer, runLoad, startFacilitator, startServer, takePayment } from "../processes/spawn.js";
import { type Recorded, record } from "../recorded.js";
import { median, medianRatio } from "../statistics.js";
import type { Effort } from "./effort.js";

/** One thing that is asked for over and over. */
export interface ThroughputCase {
  readonly title: string;
  readonly path: string;
  readonly connections: number;
  readonly plan?: Partial<Plan>;
  readonly isPaid?: boolean;
  /** Of a facilitator behind HTTP, in milliseconds. Default: the facilitator is in the process. */
  readonly latencyMs?: number;
  /** Default: 200. */
  readonly expect?: number;
  /** Whether only Farebox is measured, because the reference has nothing like it. */
  readonly isOwn?: boolean;
}

const CHALLENGE = { connections: 32, expect: 402 } as const;
const PAID = { path: PATHS.paid, isPaid: true } as const;

/** What is measured. */
export const THROUGHPUT_CASES: readonly ThroughputCase[] = [
  { title: "402, one offer", path: PATHS.challenge, ...CHALLENGE },
  { title: "402, three offers and discovery", path: PATHS.challenge, plan: { offers: 3 }, ...CHALLENGE },
  { title: "402, another path in each request", path: PATHS.dynamic, ...CHALLENGE },
  { title: "402, among 1,000 keys", path: PATHS.challenge, plan: { fillers: 1_000 }, ...CHALLENGE },
  { title: "paid, facilitator in the process", ...PAID, connections: 32 },
  { title: "paid, among 1,000 keys", ...PAID, plan: { fillers: 1_000 }, connections: 32 },
  { title: "paid, facilitator over HTTP, 0 ms, 256 connections", ...PAID, connections: 256, latencyMs: 0 },
  { title: "paid, facilitator over HTTP, 20 ms, 256 connections", ...PAID, connections: 256, latencyMs: 20 },
  { title: "paid, 10,000 payments on record", ...PAID, plan: { records: 10_000 }, connections: 32, isOwn: true },
  { title: "paid, 100,000 payments on record", ...PAID, plan: { records: 100_000 }, connections: 32, isOwn: true },
  { title: "paid, 1,000,000 payments on record", ...PAID, plan: { records: 1_000_000 }, connections: 32, isOwn: true },
  { title: "paid, 64 KB", path: PATHS.medium, isPaid: true, connections: 32 },
  { title: "free, 1 key", path: PATHS.free, connections: 32 },
  { title: "free, 100 keys", path: PATHS.free, plan: { fillers: 100 }, connections: 32 },
  { title: "free, 1,000 keys", path: PATHS.free, plan: { fillers: 1_000 }, connections: 32 },
  { title: "free, 10,000 keys", path: PATHS.free, plan: { fillers: 10_000 }, connections: 32 },
];

/** Requests per second of the server's processor, and what they are to bare Express. Medians. */
export interface Throughput {
  readonly bare: number;
  readonly farebox: number;
  /** To bare Express that answers the same bytes, in the same rounds. */
  readonly fareboxToBare: number;
  /** Nothing, if the case is Farebox's own. */
  readonly reference?: number;
  readonly referenceToBare?: number;
  readonly fareboxToReference?: number;
}

/** The libraries that are compared with bare Express. */
type Seller = Exclude<Side, "bare">;
type Runner = Seller | `bare for ${Seller}`;

/** Requests per second, of one round after another. */
type Runs = Map<Runner, number[]>;

/**
 * Measures one case. Processes differ from one another, of the same code even: each side is measured in several.
 *
 * @param node - the Node that runs the servers
 */
export async function measureThroughput(what: ThroughputCase, node: string, effort: Effort): Promise<Throughput> {
  const of = await measureSellers(what, what.isOwn ? ["farebox"] : ["farebox", "reference"], { node, effort });
  const toBare = (seller: Seller) => medianRatio(of(seller), of(`bare for ${seller}`));
  const own = {
    bare: median(of("bare for farebox")),
    farebox: median(of("farebox")),
    fareboxToBare: toBare("farebox"),
  };
  if (what.isOwn) return own;
  return {
    ...own,
    reference: median(of("reference")),
    referenceToBare: toBare("reference"),
    fareboxToReference: medianRatio(of("farebox"), of("reference")),
  };
}

async function measureSellers(
  what: ThroughputCase,
  sellers: readonly Seller[],
  { node, effort }: { readonly node: string; readonly effort: Effort },
) {
  const runs: Runs = new Map();
  for (let generation = 0; generation < effort.generations; generation++) {
    await measureProcesses(await setUp(what, sellers, node), what, { effort, runs });
  }
  return (runner: Runner): readonly number[] => runs.get(runner) ?? [];
}

async function measureProcesses(
  stage: Stage,
  what: ThroughputCase,
  { effort, runs }: { readonly effort: Effort; readonly runs: Runs },
): Promise<void> {
  try {
    for (let round = effort.warmUpSeconds > 0 ? -1 : 0; round < effort.rounds; round++) {
      for (const runner of inTurn([...stage.servers.keys()], round)) {
        effort.note(`${what.title}: ${runner}`);
        const seconds = round < 0 ? effort.warmUpSeconds : effort.seconds;
        const perSecond = await measureOnce(what, stage.servers, { runner, seconds });
        if (round >= 0) runs.set(runner, [...(runs.get(runner) ?? []), perSecond]);
      }
    }
  } finally {
    await stage.close();
  }
}

/** Another one begins in each round. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const at = Math.max(round, 0) % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

async function measureOnce(
  what: ThroughputCase,
  servers: Stage["servers"],
  { runner, seconds }: { readonly runner: Runner; readonly seconds: number },
): Promise<number> {
  const { path, connections, isPaid = false, expect = 200 } = what;
  // Only these have offers; clients of bare Express send what the side it stands for is sent.
  const seller = serverOf(servers, runner.endsWith("reference") ? "reference" : "farebox");
  const payAt = isPaid ? { payAt: seller.url + path } : {};
  const server = serverOf(servers, runner);
  const load = { urls: [server.url + path], ...payAt, connections, expect };
  // While the others had their turn, V8 has thrown away what it had compiled.
  if (seconds >= 1) await runLoad({ ...load, seconds: 1 });
  let before = 0;
  const { requests } = await runLoad(
    { ...load, seconds },
    {
      onReady: async () => {
        before = (await server.usage()).cpuSeconds;
      },
    },
  );
  return requests / ((await server.usage()).cpuSeconds - before);
}

interface Stage {
  readonly servers: ReadonlyMap<Runner, RunningServer>;
  close(): Promise<void>;
}

function serverOf(servers: Stage["servers"], runner: Runner): RunningServer {
  const server = servers.get(runner);
  if (server === undefined) throw new Error(`${runner} was not started`);
  return server;
}

async function setUp(
  { plan, path, isPaid = false, latencyMs }: ThroughputCase,
  sellers: readonly Seller[],
  node: string,
): Promise<Stage> {
  const facilitator = latencyMs === undefined ? undefined : await startFacilitator(latencyMs);
  const where = facilitator === undefined ? {} : { facilitatorUrl: facilitator.url };
  const servers = new Map<Runner, RunningServer>();
  for (const side of sellers) {
    const full: Plan = { fillers: 0, offers: 1, ...plan, ...where, side };
    const server = await startServer(full, { node });
    servers.set(side, server);
    const answer = await answerOf(path, isPaid, server.url);
    // Bare Express knows the place of the number by a parameter.
    const answers = { [path.replace("{n}", ":n")]: answer };
    const bare = await startServer({ ...full, side: "bare", answers }, { node });
    servers.set(`bare for ${side}`, bare);
    if (!isDeepStrictEqual(await record(bare.url + atCount(path, 0)), answer)) {
      throw new Error(`${path}: bare Express does not answer what ${side} does`);
    }
  }
  const started = [...servers.values(), ...(facilitator === undefined ? [] : [facilitator])];
  return { servers, close: async () => void (await Promise.all(started.map((server) => server.close()))) };
}

async function answerOf(path: string, isPaid: boolean, origin: string): Promise<Recorded> {
  const url = origin + atCount(path, 0);
  if (!isPaid) return record(url);
  return record(url, { "PAYMENT-SIGNATURE": await takePayment(origin + path) });
}
