/**
 * What it costs to meter a stream: the same stream of events for nothing on bare Express, and metered, an atomic unit for each event.
 *
 * @module
 */
import { PATHS, type Plan } from "../plan.js";
import { type RunningServer, readStreams, runProbe, startServer } from "../processes/spawn.js";
import { median, medianRatio } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Who streams. */
type Streamer = "free" | "metered";

/** A value of each. */
type Each<T> = Readonly<Record<Streamer, T>>;

/** Streams at once. Medians. */
export interface StreamFigures {
  readonly streams: number;
  /** Events a second that the handlers write, of all streams. Default: as many as they can. */
  readonly rate?: number;
  /** Events a second that the client has. */
  readonly perSecond: Each<number>;
  /** Microseconds of the server's processor, for one event. */
  readonly processorUs: Each<number>;
  /** Of the metered streams to the free ones, round by round. */
  readonly ratio: number;
}

export interface MeteredFigures {
  /** Milliseconds until the first byte of the body, one stream at a time. Medians. */
  readonly firstByteMs: Each<number>;
  readonly streams: readonly StreamFigures[];
}

/** Of the target. */
const RATE = 10_000;

const CASES: readonly Pick<StreamFigures, "streams" | "rate">[] = [
  { streams: 1, rate: RATE },
  { streams: 10, rate: RATE },
  { streams: 50, rate: RATE },
  { streams: 1 },
  { streams: 10 },
];

const STREAMERS: readonly Streamer[] = ["free", "metered"];
const PLANS: Each<Plan> = {
  free: { side: "bare", fillers: 0, offers: 1 },
  metered: { side: "metered", fillers: 0, offers: 1 },
};
const PLACES: Each<string> = { free: PATHS.freeTokens, metered: PATHS.tokens };

/** A second. */
const WARM_UP_ROUNDS = 10;

/** Requests of one client before its others count. */
const WARM_UP = 20;

/** Events a second that are expected where the rate has no limit: a stream then takes about as long as is meant. */
const FASTEST = 100_000;

/** What a payment allows, in events. */
const MOST_EVENTS = 500_000;

/** Measures both sides, turn by turn. */
export async function measureMetered(effort: Effort): Promise<MeteredFigures> {
  const servers = { free: await startServer(PLANS.free), metered: await startServer(PLANS.metered) };
  await warmUp(servers, effort);
  const firstByteMs = await measureFirstBytes(servers, effort);
  const streams: StreamFigures[] = [];
  for (const what of CASES) streams.push(await measureStreams(servers, what, effort));
  await Promise.all(STREAMERS.map((one) => servers[one].close()));
  return { firstByteMs, streams };
}

/** Streams that are short: one at a time would take minutes to show V8 what it is to compile. */
async function warmUp(servers: Each<RunningServer>, { warmUpSeconds, note }: Effort): Promise<void> {
  const short = { streams: 50, events: 2 };
  for (let round = 0; round < WARM_UP_ROUNDS * warmUpSeconds; round++) {
    for (const one of STREAMERS) {
      note(`warming up, round ${round}: ${one}`);
      const url = `${servers[one].url}${PLACES[one]}?events=${short.events}`;
      await readStreams({ url, isPaid: one === "metered", ...short });
    }
  }
}

async function measureFirstBytes(
  servers: Each<RunningServer>,
  { rounds, requests, note }: Effort,
): Promise<Each<number>> {
  const times: Each<number[]> = { free: [], metered: [] };
  for (let round = 0; round < rounds; round++) {
    for (const one of STREAMERS) {
      note(`first byte, round ${round}: ${one}`);
      const url = `${servers[one].url}${PLACES[one]}?events=2&rate=100`;
      const payAt = one === "metered" ? { payAt: url } : {};
      const { firstByteMs } = await runProbe({ url, ...payAt, requests, warmUp: WARM_UP, expect: 200 });
      times[one].push(...firstByteMs);
    }
  }
  return { free: median(times.free), metered: median(times.metered) };
}

async function measureStreams(
  servers: Each<RunningServer>,
  { streams, rate }: Pick<StreamFigures, "streams" | "rate">,
  { rounds, seconds, warmUpSeconds, note }: Effort,
): Promise<StreamFigures> {
  const read = async (one: Streamer, forSeconds: number) => {
    const events = Math.min(MOST_EVENTS, Math.ceil(((rate ?? FASTEST) * forSeconds) / streams));
    const query = `events=${events}${rate === undefined ? "" : `&rate=${rate / streams}`}`;
    const url = `${servers[one].url}${PLACES[one]}?${query}`;
    let before = 0;
    const onReady = async () => {
      before = (await servers[one].usage()).cpuSeconds;
    };
    const { seconds: took } = await readStreams({ url, isPaid: one === "metered", streams, events }, { onReady });
    const { cpuSeconds } = await servers[one].usage();
    return { perSecond: (events * streams) / took, processorUs: ((cpuSeconds - before) / (events * streams)) * 1e6 };
  };
  const runs: Each<{ perSecond: number; processorUs: number }[]> = { free: [], metered: [] };
  for (let round = -1; round < rounds; round++) {
    for (const one of STREAMERS) {
      note(`${streams} streams, ${rate ?? "as many"} events a second, round ${round}: ${one}`);
      const run = await read(one, round < 0 ? warmUpSeconds : seconds);
      if (round >= 0) runs[one].push(run);
    }
  }
  const valuesOf = (one: Streamer, what: "perSecond" | "processorUs") => runs[one].map((run) => run[what]);
  const medians = (what: "perSecond" | "processorUs") => ({
    free: median(valuesOf("free", what)),
    metered: median(valuesOf("metered", what)),
  });
  return {
    streams,
    ...(rate === undefined ? {} : { rate }),
    perSecond: medians("perSecond"),
    processorUs: medians("processorUs"),
    ratio: medianRatio(valuesOf("metered", "perSecond"), valuesOf("free", "perSecond")),
  };
}
