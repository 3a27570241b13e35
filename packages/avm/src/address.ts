/**
 * Algorand addresses: 32 bytes and the last 4 bytes of their hash, written in base32, each in one way only. Also the hash
 * that names addresses' checksums, transactions and groups.
 *
 * @see x402 v2, scheme `exact` on Algorand, "Algorand Addresses and Public Key relationship"
 * @module
 */
import { createHash } from "node:crypto";
import { base32nopad } from "@scure/base";

/** The length of an address, without its checksum. */
export const ADDRESS_BYTES = 32;

const CHECKSUM_BYTES = 4;
const ADDRESS_LENGTH = 58;

/** All zeros, an address for which no key exists. In a transaction it means: no address. */
const ZERO: Buffer = Buffer.alloc(ADDRESS_BYTES);

/** The bytes of an address; `undefined` when a value is not one, or is the zero address. */
export function decodeAddress(value: unknown): Buffer | undefined {
  if (typeof value !== "string" || value.length !== ADDRESS_LENGTH) return undefined;
  const bytes = decodeBase32(value);
  const key = bytes?.subarray(0, ADDRESS_BYTES);
  if (bytes === undefined || key === undefined || isZeroAddress(key)) return undefined;
  return bytes.subarray(ADDRESS_BYTES).equals(checksumOf(key)) ? key : undefined;
}

/** Writes an address. */
export function encodeAddress(key: Uint8Array): string {
  return encodeBase32(Buffer.concat([key, checksumOf(key)]));
}

/** Whether a value is an address, and not the zero address. */
export function isAddress(value: unknown): value is string {
  return decodeAddress(value) !== undefined;
}

/** Whether bytes are the zero address. */
export function isZeroAddress(key: Uint8Array): boolean {
  return ZERO.equals(key);
}

/** Whether two addresses or asset ids are the same. */
export function sameAddress(a: string, b: string): boolean {
  return a === b;
}

/** Writes bytes in base32 without padding, as in addresses and transaction ids. */
export function encodeBase32(bytes: Uint8Array): string {
  return base32nopad.encode(bytes);
}

/** The length of a hash. */
export const HASH_BYTES = 32;

/** Algorand's hash, SHA-512/256, of byte strings in sequence. */
export function sha512_256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha512-256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function decodeBase32(text: string): Buffer | undefined {
  try {
    return Buffer.from(base32nopad.decode(text));
  } catch {
    return undefined;
  }
}

function checksumOf(key: Uint8Array): Buffer {
  return sha512_256(key).subarray(-CHECKSUM_BYTES);
}
