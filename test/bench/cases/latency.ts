/**
 * What a payment adds to one request at a time, with a facilitator behind HTTP.
 *
 * @module
 */
import { PATHS, type Plan, type Side } from "../plan.js";
import { runProbe, startFacilitator, startServer } from "../processes/spawn.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Milliseconds, medians. */
export interface Latency {
  readonly title: string;
  readonly latencyMs: number;
  readonly bare: number;
  readonly farebox: number;
  readonly reference: number;
  /** Of the facilitator's latency in each paid request, by design. */
  readonly trips: number;
}

/** Both ways in which money can move, with a facilitator near and far. */
export async function measureLatencies(effort: Effort): Promise<Latency[]> {
  const all: Latency[] = [];
  for (const latencyMs of [0, 20]) {
    const facilitator = await startFacilitator(latencyMs);
    const time = (side: Side, more: Partial<Plan> = {}) =>
      timePaid({ side, fillers: 0, offers: 1, facilitatorUrl: facilitator.url, ...more }, effort);
    const [bare, reference] = [await time("bare"), await time("reference")];
    const after = { bare, reference, farebox: await time("farebox"), trips: 2, latencyMs };
    const before = { bare, reference, farebox: await time("farebox", { settle: "before" }), trips: 1, latencyMs };
    all.push({ title: `settled after the handler, facilitator ${latencyMs} ms away`, ...after });
    all.push({ title: `settled before the handler, facilitator ${latencyMs} ms away`, ...before });
    await facilitator.close();
  }
  return all;
}

async function timePaid(plan: Plan, { requests, note }: Effort): Promise<number> {
  note(`latency: ${plan.side}`);
  const server = await startServer(plan);
  const url = server.url + PATHS.paid;
  const payAt = plan.side === "bare" ? {} : { payAt: url };
  const { wholeMs } = await runProbe({ url, ...payAt, requests, warmUp: Math.ceil(requests / 2), expect: 200 });
  await server.close();
  return median(wholeMs);
}
