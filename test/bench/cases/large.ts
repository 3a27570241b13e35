/**
 * A download of 200 MB: its speed, its first byte, and what memory it takes. Each one in a new process, whose peak of memory
 * is its own.
 *
 * @module
 */
import { PATHS, type Side } from "../plan.js";
import { runProbe, startServer } from "../processes/spawn.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Medians. */
export interface Large {
  readonly title: string;
  readonly megabytesPerSecond: number;
  readonly firstByteMs: number;
  readonly peakMegabytes: number;
}

const DOWNLOADS: readonly { readonly title: string; readonly side: Side; readonly path: string }[] = [
  { title: "bare Express", side: "bare", path: PATHS.large },
  { title: "Farebox, free route", side: "farebox", path: PATHS.freeLarge },
  { title: "Farebox, paid", side: "farebox", path: PATHS.large },
  { title: "reference, free route", side: "reference", path: PATHS.freeLarge },
  { title: "reference, paid", side: "reference", path: PATHS.large },
];

/** Measures each of them. */
export async function measureLarge(effort: Effort): Promise<Large[]> {
  const runs = DOWNLOADS.map(() => [] as Omit<Large, "title">[]);
  for (let round = 0; round < Math.min(effort.rounds, 3); round++) {
    for (const [at, { title, side, path }] of DOWNLOADS.entries()) {
      effort.note(`200 MB: ${title}`);
      runs[at]?.push(await download(side, path));
    }
  }
  return DOWNLOADS.map(({ title }, at) => ({
    title,
    megabytesPerSecond: median((runs[at] ?? []).map((run) => run.megabytesPerSecond)),
    firstByteMs: median((runs[at] ?? []).map((run) => run.firstByteMs)),
    peakMegabytes: median((runs[at] ?? []).map((run) => run.peakMegabytes)),
  }));
}

async function download(side: Side, path: string): Promise<Omit<Large, "title">> {
  const server = await startServer({ side, fillers: 0, offers: 1 });
  const url = server.url + path;
  const isPaid = side !== "bare" && path === PATHS.large;
  const { wholeMs, firstByteMs, bytes } = await runProbe({
    url,
    ...(isPaid ? { payAt: url } : {}),
    requests: 1,
    warmUp: 0,
    expect: 200,
  });
  const { peakBytes } = await server.usage();
  await server.close();
  return {
    megabytesPerSecond: bytes / 1_000 / median(wholeMs),
    firstByteMs: median(firstByteMs),
    peakMegabytes: peakBytes / 1_000_000,
  };
}
