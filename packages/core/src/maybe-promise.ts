/**
 * Values that are there at once, or later.
 *
 * @module
 */
import type { MaybePromise } from "./store/payment-store.js";

export type { MaybePromise } from "./store/payment-store.js";

/** Whether a value is a promise. Promises of other libraries and of other realms count. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
