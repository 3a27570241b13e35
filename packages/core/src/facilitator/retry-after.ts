/**
 * `Retry-After`: how long a server asks to be left alone.
 *
 * @see RFC 9110 §10.2.3
 * @module
 */

const LONGEST_SECONDS = 3600;

/** `Sun, 06 Nov 1994 08:49:37 GMT`. Checked because `Date.parse` makes a date of nearly anything. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Reads the header: seconds or an HTTP date, at most an hour; `undefined` when it is neither. */
export function readRetryAfter(value: string | undefined, nowMs: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = readSeconds(value, nowMs);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), LONGEST_SECONDS);
}

function readSeconds(value: string, nowMs: number): number {
  if (/^\d+$/.test(value)) return Number(value);
  return HTTP_DATE.test(value) ? Math.ceil((Date.parse(value) - nowMs) / 1000) : Number.NaN;
}
