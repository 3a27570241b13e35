/**
 * How much is measured.
 *
 * @module
 */

/** The whole benchmark, or a quick look that finds only what is grossly wrong. */
export interface Effort {
  /** In how many processes, one after the other, each side is measured. */
  readonly generations: number;
  /** How often each side is measured in each of them; the sides take turns. */
  readonly rounds: number;
  /** How long each side has load, each time. */
  readonly seconds: number;
  /** The same before it counts: V8 has to have seen what it is to compile. */
  readonly warmUpSeconds: number;
  /** How many requests are timed one by one. */
  readonly requests: number;
  /** Called before each measurement. */
  readonly note: (what: string) => void;
}
