/**
 * Algorand addresses as text: 32 bytes and the last 4 of their hash, in base32. Each is written in one way only.
 *
 * @see x402 v2, scheme `exact` on Algorand, "Algorand Addresses and Public Key relationship"
 * @module
 */
import { decodeBase32, encodeBase32 } from "./base32.js";
import { sha512_256 } from "./hash.js";

/** How many bytes an address has, without its checksum. */
export const ADDRESS_BYTES = 32;

const CHECKSUM_BYTES = 4;
const ADDRESS_LENGTH = 58;

/** Nobody's: all bytes are zero. In a transaction it stands for none. */
const ZERO: Buffer = Buffer.alloc(ADDRESS_BYTES);

/** The bytes of an address; `undefined` when a value is none, or is nobody's. */
export function decodeAddress(value: unknown): Buffer | undefined {
  if (typeof value !== "string" || value.length !== ADDRESS_LENGTH) return undefined;
  const bytes = decodeBase32(value);
  const key = bytes?.subarray(0, ADDRESS_BYTES);
  if (bytes === undefined || key === undefined || isNobodys(key)) return undefined;
  return bytes.subarray(ADDRESS_BYTES).equals(checksumOf(key)) ? key : undefined;
}

/** Writes an address. */
export function encodeAddress(key: Uint8Array): string {
  return encodeBase32(Buffer.concat([key, checksumOf(key)]));
}

/** Whether a value is the address of somebody. */
export function isAddress(value: unknown): value is string {
  return decodeAddress(value) !== undefined;
}

/** Whether 32 bytes are nobody's address. */
export function isNobodys(key: Uint8Array): boolean {
  return ZERO.equals(key);
}

/** Whether two addresses or asset ids are the same one. */
export function sameAddress(a: string, b: string): boolean {
  return a === b;
}

function checksumOf(key: Uint8Array): Buffer {
  return sha512_256(key).subarray(-CHECKSUM_BYTES);
}
