/**
 * `Retry-After`: how long a server asks to be left alone.
 *
 * @see RFC 9110 §10.2.3
 * @module
 */

const LONGEST_SECONDS = 3600;

/** Reads the header: seconds or an HTTP date, at most an hour; `undefined` when it is neither. */
export function readRetryAfter(value: string | null, nowMs: number = Date.now()): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - nowMs) / 1000);
  if (!Number.isFinite(seconds)) return undefined;
  return Math.min(Math.max(seconds, 0), LONGEST_SECONDS);
}
