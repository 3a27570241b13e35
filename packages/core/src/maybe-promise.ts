/**
 * What may be known at once, and need not be waited for: each wait costs a payment as much as a lookup in a map.
 *
 * @see `docs/background/performance.md`
 * @module
 */

/** An answer now, or the promise of one. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** Whether it has to be waited for. A promise of another library's, or of another realm, is one, too. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
