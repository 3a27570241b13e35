/**
 * What a payment adds to one request at a time, with a facilitator behind HTTP.
 *
 * @module
 */
import { PATHS, type Plan, type Side } from "../plan.js";
import { runLoad, runProbe, startFacilitator, startServer } from "../processes/spawn.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Milliseconds, medians. */
export interface Latency {
  readonly title: string;
  readonly latencyMs: number;
  readonly bare: number;
  readonly farebox: number;
  readonly reference: number;
  /** To the facilitator and back, asked without anything between: what its latency comes to. */
  readonly trip: number;
  /** How many of these are in each paid request, by design. */
  readonly trips: number;
}

/** Both ways in which money can move, with a facilitator near and far. */
export async function measureLatencies(effort: Effort): Promise<Latency[]> {
  const all: Latency[] = [];
  for (const latencyMs of [0, 20]) {
    const facilitator = await startFacilitator(latencyMs);
    const time = (side: Side, more: Partial<Plan> = {}) =>
      timePaid({ side, fillers: 0, offers: 1, facilitatorUrl: facilitator.url, ...more }, effort);
    const trip = await timeTrip(facilitator.url, effort);
    const others = { trip, bare: await time("bare"), reference: await time("reference"), latencyMs };
    const after = { ...others, farebox: await time("farebox"), trips: 2 };
    const before = { ...others, farebox: await time("farebox", { settle: "before" }), trips: 1 };
    all.push({ title: `settled after the handler, facilitator ${latencyMs} ms away`, ...after });
    all.push({ title: `settled before the handler, facilitator ${latencyMs} ms away`, ...before });
    await facilitator.close();
  }
  return all;
}

async function timeTrip(facilitatorUrl: string, { requests, note }: Effort): Promise<number> {
  note("latency: the facilitator alone");
  const probe = { url: `${facilitatorUrl}/supported`, requests, warmUp: requests, expect: 200 };
  const { wholeMs } = await runProbe(probe, 0);
  return median(wholeMs);
}

async function timePaid(plan: Plan, { requests, warmUpSeconds, note }: Effort): Promise<number> {
  note(`latency: ${plan.side}`);
  const server = await startServer(plan);
  const url = server.url + PATHS.paid;
  const payAt = plan.side === "bare" ? {} : { payAt: url };
  // One request at a time would take minutes to show V8 what it is to compile.
  await runLoad({ urls: [url], ...payAt, connections: 32, seconds: warmUpSeconds, expect: 200 });
  const { wholeMs } = await runProbe({ url, ...payAt, requests, warmUp: Math.ceil(requests / 2), expect: 200 });
  await server.close();
  return median(wholeMs);
}
