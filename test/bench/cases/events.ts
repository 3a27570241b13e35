/**
 * When the first of a stream of events is here. The handler writes it at once and the last one half a second later.
 *
 * @module
 */
import { PATHS, type Side } from "../plan.js";
import { runProbe, startServer } from "../processes/spawn.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Milliseconds, medians, facilitator in the process. */
export interface FirstEvent {
  readonly title: string;
  readonly firstByteMs: number;
}

/** Measures each side. */
export async function measureFirstEvents({ note }: Effort): Promise<FirstEvent[]> {
  const all: FirstEvent[] = [];
  for (const side of ["bare", "farebox", "reference"] satisfies Side[]) {
    note(`events: ${side}`);
    const server = await startServer({ side, fillers: 0, offers: 1 });
    const url = server.url + PATHS.events;
    const payAt = side === "bare" ? {} : { payAt: url };
    const { firstByteMs } = await runProbe({ url, ...payAt, requests: 5, warmUp: 1, expect: 200 });
    all.push({ title: side, firstByteMs: median(firstByteMs) });
    await server.close();
  }
  return all;
}
