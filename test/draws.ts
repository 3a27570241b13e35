/**
 * From which seeds a generated test draws its cases, and how often.
 *
 * `pnpm test` draws from the seeds that a test keeps, and from one that is new with each commit: the same on every machine, so that what
 * passed here passes in CI. `pnpm test:long` draws from one new seed after another until its time is over. A failure names its seed,
 * and `FAREBOX_SEED` repeats exactly that draw.
 *
 * - `FAREBOX_SEED`: the only seed, or the first one of many.
 * - `FAREBOX_SEED_IS_NEW`: nobody asked for that seed, so the kept ones are drawn from, too. `seed-of-commit.ts` sets it.
 * - `FAREBOX_SECONDS`: for how long each generated test draws again. Unset: once from each seed.
 *
 * @module
 */
/** Kept by every test that keeps no other. */
export const USUAL_SEED = 20_261_121;

/** The seed of this run, for a test that draws once. `vitest.config.ts` sets it. */
export const SEED = readNumber("FAREBOX_SEED") ?? USUAL_SEED;

/** Whether somebody asked for that seed. */
const isAsked = process.env["FAREBOX_SEED_IS_NEW"] === undefined;

/** One draw on a slow machine. */
const DRAW_MS = 120_000;

/** Apart from each other, as some tests add small numbers to a seed. */
const STRIDE = 1_000;

/** The draws of one generated test. */
export interface Draws {
  /** One seed after another, as long as there is time, or more is wanted. There is always a first one. */
  seeds(wantsMore?: () => boolean): Iterable<number>;
  /** What the test may take. */
  readonly timeoutMs: number;
}

/**
 * Reads the settings and prints them, so that every run can be repeated.
 *
 * @param kept - Seeds that `pnpm test` draws from before the new one.
 */
export function readDraws(title: string, kept: readonly number[] = [USUAL_SEED]): Draws {
  const seconds = readNumber("FAREBOX_SECONDS") ?? 0;
  console.log(`${title}: FAREBOX_SEED=${SEED}${seconds === 0 ? "" : `, and others for ${seconds} seconds`}`);
  return {
    *seeds(wantsMore = () => false) {
      if (!isAsked) yield* kept;
      const endsAt = performance.now() + seconds * 1_000;
      let seed = SEED;
      do {
        yield seed;
        seed += STRIDE;
      } while (performance.now() < endsAt || wantsMore());
    },
    timeoutMs: DRAW_MS + seconds * 1_000,
  };
}

function readNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new RangeError(`${name} must be a whole number, not ${text}`);
  return Number(text);
}
