/**
 * Objects under construction, whose fields are put in only where there is something to put.
 *
 * @module
 */

/** An object that is not finished. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Puts in a field, if there is a value for it. */
export function put<T, K extends keyof T>(draft: Draft<T>, name: K, value: T[K] | undefined): void {
  if (value !== undefined) draft[name] = value;
}
