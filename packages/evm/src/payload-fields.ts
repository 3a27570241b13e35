/**
 * Fields of a client's payload, as both transfer methods write them, and the limits on how long a payment stays valid.
 * Total: each function accepts any value.
 *
 * @module
 */

/** Facilitators demand this much of the window to be left, at verification and again at settlement. */
export const SETTLEMENT_MARGIN_SECONDS = 6;

/**
 * How much longer than `maxTimeoutSeconds`, for which clients sign, a payment may be valid from now on: clocks may differ by an hour. The
 * store remembers a payment for as long, so strangers must not choose the time.
 */
export const CLOCK_SECONDS: number = 60 * 60;

/** `maxTimeoutSeconds` is at most a day. */
const LONGEST_WINDOW_SECONDS = 24 * 60 * 60 + CLOCK_SECONDS;

/** How long before its expiry a payment may have been carried out. */
const LONGEST_SEARCH_SECONDS = BigInt(LONGEST_WINDOW_SECONDS + CLOCK_SECONDS);

/** The Unix second before which a payment with this window cannot have been carried out. */
export function earliestUse(validAfter: bigint, validBefore: bigint): bigint {
  const accepted = validBefore - LONGEST_SEARCH_SECONDS;
  return validAfter > accepted ? validAfter : accepted;
}

/** 2^256 has 78 digits. Leading zeros are refused, so that a number is written in one way only. */
export const DECIMAL: RegExp = /^(?:0|[1-9]\d{0,77})$/;

/** 32 bytes. */
export const WORD: RegExp = /^0x[0-9a-fA-F]{64}$/;

/** A key signs with 65 bytes. Contract wallets sign with any number of bytes, here up to 4 KiB. */
export const SIGNATURE: RegExp = /^0x(?:[0-9a-fA-F]{2}){1,4096}$/;

const UINT256_LIMIT = 2n ** 256n;

/** Whether a value is 32 bytes in hex. */
export function isWord(value: unknown): value is `0x${string}` {
  return typeof value === "string" && WORD.test(value);
}

/** Reads a decimal string from 0 to 2^256 - 1. A JSON number is refused: above 2^53 it has been rounded. */
export function readUint256(value: unknown): bigint | undefined {
  const number = typeof value === "string" && DECIMAL.test(value) ? BigInt(value) : undefined;
  return number !== undefined && number < UINT256_LIMIT ? number : undefined;
}
