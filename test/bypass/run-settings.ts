/**
 * How long and from which seed the generated tests run.
 *
 * - `FAREBOX_SEED`: the seed of a run that is to be repeated; a failing run prints it. The usual run always has the same
 *   one, a longer run a new one.
 * - `FAREBOX_RUNS`: how many apps are generated for each version of Express, with some fifty requests each. The usual run
 *   has 400, which is more than 20,000 requests in all; `long-run.mjs` has 5,000.
 *
 * @module
 */
const APPS = 400;

/** A usual run that fails shall be due to a change; looking for what nobody has thought of is the longer run's part. */
const USUAL_SEED = 20_261_121;

/** Of the usual run on a slow machine; a longer run gets as much more. */
const USUAL_TIME_MS = 240_000;

export interface RunSettings {
  readonly seed: number;
  readonly runs: number;
  readonly timeoutMs: number;
}

/**
 * Reads the settings and says them, so that every run can be repeated.
 *
 * @param usualRuns - How long the usual run is. Default 400.
 */
export function readRunSettings(title: string, usualRuns: number = APPS): RunSettings {
  const runs = Number(process.env["FAREBOX_RUNS"] ?? usualRuns);
  const seed = Number(process.env["FAREBOX_SEED"] ?? (runs > usualRuns ? Date.now() % 0x7fffffff : USUAL_SEED));
  if (!Number.isInteger(runs) || runs < 1) throw new RangeError("FAREBOX_RUNS is not a number of runs");
  if (!Number.isInteger(seed)) throw new RangeError("FAREBOX_SEED is not an integer");
  console.log(`${title}: FAREBOX_SEED=${seed} FAREBOX_RUNS=${runs}`);
  return { seed, runs, timeoutMs: USUAL_TIME_MS * Math.max(1, runs / usualRuns) };
}
