/**
 * On what was measured.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { PINNED } from "./processes/spawn.js";

/** The machine, and the versions of what was measured. */
export interface Machine {
  /** When it was measured. */
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly system: string;
  readonly node: string;
  /** Of other processes, over the minute before. */
  readonly loadAverage?: number;
  /** Whether servers had a core to themselves. */
  readonly isPinned: boolean;
  readonly versions: Readonly<Record<string, string>>;
}

/** How long a machine is given to become quiet. The benchmark itself was built a moment ago. */
const SECONDS_TO_QUIET = 300;

/** Waits until other processes leave the processors alone, for some minutes at most. */
export async function awaitQuiet(): Promise<void> {
  const [quiet, endsAt] = [0.3, Date.now() + SECONDS_TO_QUIET * 1000];
  while ((loadavg()[0] ?? 0) > quiet && Date.now() < endsAt) await sleep(1000);
}

/** Describes this machine. Called before it is put to work. */
export function describeMachine(root: URL): Machine {
  const versionOf = (folder: string): string =>
    JSON.parse(readFileSync(new URL(`${folder}/package.json`, root), "utf8")).version;
  const [loadAverage = 0] = loadavg();
  return {
    date: new Date().toISOString().slice(0, "2026-01-31".length),
    loadAverage,
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    isPinned: PINNED,
    versions: {
      express: versionOf("node_modules/express"),
      "@farebox/express": versionOf("packages/express"),
      "@x402/express": versionOf("node_modules/@x402/express"),
    },
  };
}
