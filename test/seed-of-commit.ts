/**
 * The seed of tests that draw: new with each commit, and the same on every machine.
 *
 * @module
 */
import { spawnSync } from "node:child_process";

/** The environment of the tests. Nothing, if a seed is asked for, or if there is no commit. */
export function seedOfCommit(): Readonly<Record<string, string>> {
  if (process.env["FAREBOX_SEED"] !== undefined) return {};
  // The content, not the commit: somebody may have written it anew.
  const { stdout } = spawnSync("git", ["rev-parse", "--short=7", "HEAD^{tree}"], {
    cwd: new URL("..", import.meta.url),
    encoding: "utf8",
  });
  const seed = Number.parseInt((stdout ?? "").slice(0, 7), 16);
  return { FAREBOX_SEED: String(Number.isNaN(seed) ? 1 : seed), FAREBOX_SEED_IS_NEW: "yes" };
}
