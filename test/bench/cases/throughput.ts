/**
 * How many requests a server answers with a second of its processor, of each side and of bare Express that answers the same
 * bytes. Whoever asks may be slower than the server: that does not count.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { atCount, PATHS, type Plan } from "../plan.js";
import { preparePayments } from "../processes/payments.js";
import { type RunningServer, runLoad, startFacilitator, startServer } from "../processes/spawn.js";
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
  { title: "paid, 64 KB", path: PATHS.medium, isPaid: true, connections: 32 },
  { title: "free, 1 key", path: PATHS.free, connections: 32 },
  { title: "free, 100 keys", path: PATHS.free, plan: { fillers: 100 }, connections: 32 },
  { title: "free, 1,000 keys", path: PATHS.free, plan: { fillers: 1_000 }, connections: 32 },
  { title: "free, 10,000 keys", path: PATHS.free, plan: { fillers: 10_000 }, connections: 32 },
];

/** Requests per second of the server's processor, and what they are to bare Express. Medians. */
export interface Throughput {
  readonly title: string;
  readonly bare: number;
  readonly farebox: number;
  readonly reference: number;
  /** To bare Express that answers the same bytes, in the same rounds. */
  readonly fareboxToBare: number;
  readonly referenceToBare: number;
  readonly fareboxToReference: number;
}

const SIDES = ["farebox", "reference"] as const;

/** Measures one case. */
export async function measureThroughput(what: ThroughputCase, effort: Effort): Promise<Throughput> {
  const stage = await setUp(what);
  try {
    const runs = { farebox: [], reference: [], bareFarebox: [], bareReference: [] } as Record<Runner, number[]>;
    for (let round = -1; round < effort.rounds; round++) {
      for (const runner of inTurn(RUNNERS, round)) {
        effort.note(`${what.title}: ${runner}`);
        const perSecond = await measureOnce(what, stage.servers, {
          runner,
          seconds: round < 0 ? effort.warmUpSeconds : effort.seconds,
        });
        if (round >= 0) runs[runner].push(perSecond);
      }
    }
    return {
      title: what.title,
      bare: median(runs.bareFarebox),
      farebox: median(runs.farebox),
      reference: median(runs.reference),
      fareboxToBare: medianRatio(runs.farebox, runs.bareFarebox),
      referenceToBare: medianRatio(runs.reference, runs.bareReference),
      fareboxToReference: medianRatio(runs.farebox, runs.reference),
    };
  } finally {
    await stage.close();
  }
}

const RUNNERS = ["farebox", "bareFarebox", "reference", "bareReference"] as const;
type Runner = (typeof RUNNERS)[number];

/** Another one begins in each round. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const at = Math.max(round, 0) % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

async function measureOnce(
  what: ThroughputCase,
  servers: Readonly<Record<Runner, RunningServer>>,
  { runner, seconds }: { readonly runner: Runner; readonly seconds: number },
): Promise<number> {
  const { path, connections, isPaid = false, expect = 200 } = what;
  // Bare Express has no offers; its clients send what the side it stands for is sent.
  const seller = runner === "reference" || runner === "bareReference" ? servers.reference : servers.farebox;
  const payAt = isPaid ? { payAt: seller.url + path } : {};
  const server = servers[runner];
  const before = await server.usage();
  const { requests } = await runLoad({ url: server.url + path, ...payAt, connections, seconds, expect });
  const after = await server.usage();
  return requests / (after.cpuSeconds - before.cpuSeconds);
}

interface Stage {
  readonly servers: Readonly<Record<Runner, RunningServer>>;
  close(): Promise<void>;
}

async function setUp({ plan, path, isPaid = false, latencyMs }: ThroughputCase): Promise<Stage> {
  const facilitator = latencyMs === undefined ? undefined : await startFacilitator(latencyMs);
  const where = facilitator === undefined ? {} : { facilitatorUrl: facilitator.url };
  const started: Pick<RunningServer, "close">[] = facilitator === undefined ? [] : [facilitator];
  const servers: Partial<Record<Runner, RunningServer>> = {};
  for (const side of SIDES) {
    const full: Plan = { fillers: 0, offers: 1, ...plan, ...where, side };
    const server = await startServer(full);
    const answer = await answerOf(server.url + atCount(path, 0), isPaid);
    // Bare Express knows the place of the number by a parameter.
    const bare = await startServer({ ...full, side: "bare", answers: { [path.replace("{n}", ":n")]: answer } });
    if (!isDeepStrictEqual(await record(bare.url + atCount(path, 0)), answer)) {
      throw new Error(`${path}: bare Express does not answer what ${side} does`);
    }
    started.push(server, bare);
    servers[side] = server;
    servers[side === "farebox" ? "bareFarebox" : "bareReference"] = bare;
  }
  return {
    servers: servers as Record<Runner, RunningServer>,
    close: async () => void (await Promise.all(started.map((server) => server.close()))),
  };
}

async function answerOf(url: string, isPaid: boolean): Promise<Recorded> {
  if (!isPaid) return record(url);
  const next = await preparePayments(url, BigInt(Date.now()));
  return record(url, { "PAYMENT-SIGNATURE": next() });
}
