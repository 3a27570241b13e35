/**
 * Solana addresses as text: 32 bytes in base58. They have no checksum, and each is written in one way only.
 *
 * @module
 */
import { decodeBase58 } from "./base58.js";

/** How many bytes an address has, and a blockhash. */
export const ADDRESS_BYTES = 32;

/** The bytes of an address; `undefined` when a value is none. */
export function decodeAddress(value: unknown): Buffer | undefined {
  return decodeBase58(value, ADDRESS_BYTES);
}

/** Whether a value is an address: of an account, a mint or a program, which look alike. */
export function isAddress(value: unknown): value is string {
  return decodeAddress(value) !== undefined;
}

/** Whether two addresses are the same one. */
export function sameAddress(a: string, b: string): boolean {
  return a === b;
}
