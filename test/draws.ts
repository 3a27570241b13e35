/**
 * From which seeds a generated test draws its cases, and how often.
 *
 * `pnpm test` draws once, always from the same seed: a failure is due to a change. A test that keeps seeds of its own draws from
 * each of them, and from a new one. `pnpm test:long` draws from one new seed after another until its time is over. A failure names
 * its seed, and `FAREBOX_SEED` repeats exactly that draw.
 *
 * - `FAREBOX_SEED`: the first seed.
 * - `FAREBOX_SECONDS`: for how long each generated test draws again. Unset: one draw.
 *
 * @module
 */
/** Of `pnpm test`. */
export const USUAL_SEED = 20_261_121;

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
 * @param kept - Seeds that `pnpm test` draws from before a new one.
 */
export function readDraws(title: string, kept: readonly number[] = []): Draws {
  const seconds = readNumber("FAREBOX_SECONDS") ?? 0;
  const asked = readNumber("FAREBOX_SEED");
  const isUsual = seconds === 0 && asked === undefined;
  const first = asked ?? (isUsual && kept.length === 0 ? USUAL_SEED : Date.now() % 0x3fffffff);
  console.log(`${title}: FAREBOX_SEED=${first}${seconds === 0 ? "" : `, and others for ${seconds} seconds`}`);
  return {
    *seeds(wantsMore = () => false) {
      if (isUsual) yield* kept;
      const endsAt = performance.now() + seconds * 1_000;
      let seed = first;
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
