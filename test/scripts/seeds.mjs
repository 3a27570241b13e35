/**
 * The seed that a script gives to the tests it runs: `--seed 7`; `--seed usual`, those of `pnpm test`; or else a new one.
 *
 * @module
 */

/** The environment of those tests. */
export function seedEnvironment(asked = String(Date.now() % 0x3fffffff)) {
  if (asked === "usual") return {};
  if (!/^\d+$/.test(asked)) throw new RangeError(`--seed must be a whole number or usual, not ${asked}`);
  return { FAREBOX_SEED: asked };
}
