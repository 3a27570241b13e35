/**
 * What the payloads of both transfer methods are made of, and how long a payment may be good for. Total: any value can be
 * asked about.
 *
 * @module
 */

/** Facilitators demand this much of the window to be left, at verification and again at settlement. */
export const SETTLEMENT_MARGIN_SECONDS = 6;

/**
 * A payment is remembered until it expires, so a window without end would be memory without end. Clients sign for
 * `maxTimeoutSeconds`, at most a day; the hour more is for clocks that disagree.
 */
export const LONGEST_WINDOW_SECONDS: number = 25 * 60 * 60;

/** 2^256 has 78 digits. One number is written in one way: without leading zeros. */
export const DECIMAL: RegExp = /^(0|[1-9]\d{0,77})$/;

/** 32 bytes. */
export const WORD: RegExp = /^0x[0-9a-fA-F]{64}$/;

/** 65 bytes for a key; contract wallets sign with what they like, here up to 4 KiB. */
const SIGNATURE: RegExp = /^0x(?:[0-9a-fA-F]{2}){1,4096}$/;

/** Whether a value is text of a form. */
export function matches(form: RegExp, value: unknown): value is string {
  return typeof value === "string" && form.test(value);
}

/** Whether a value is {@link WORD}. */
export function isWord(value: unknown): value is `0x${string}` {
  return matches(WORD, value);
}

/** Whether a value is {@link SIGNATURE}. */
export function isSignature(value: unknown): value is `0x${string}` {
  return matches(SIGNATURE, value);
}
