/**
 * EVM addresses as text.
 *
 * @see EIP-55
 * @module
 */
import { keccak_256 } from "@noble/hashes/sha3.js";

/** The form of an address. */
export const ADDRESS: RegExp = /^0x[0-9a-fA-F]{40}$/;

/** Whether a value has the form of an address. For a client's input, where the checksum does not matter. */
export function isAddressShaped(value: unknown): value is `0x${string}` {
  return typeof value === "string" && ADDRESS.test(value);
}

/**
 * Whether a value is an address with a correct checksum. For a seller's input, where a mistyped digit would lose money. An
 * address all in one case has no checksum and passes.
 */
export function isAddress(value: unknown): value is `0x${string}` {
  if (!isAddressShaped(value)) return false;
  const digits = value.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  return value === toChecksum(value);
}

/** Whether two addresses are the same, regardless of case. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}

/** Hex in lower case. Libraries that insist on the checksum of an address accept it. */
export function lowerCase(hex: string): `0x${string}` {
  return `0x${hex.slice(2).toLowerCase()}`;
}

/** An address with its checksum, which EIP-55 writes in capitals. */
export function toChecksum(address: `0x${string}`): `0x${string}` {
  const digits = address.slice(2).toLowerCase();
  const hash = Buffer.from(keccak_256(Buffer.from(digits, "ascii"))).toString("hex");
  const capitals = Array.from(digits, (digit, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  ).join("");
  return `0x${capitals}`;
}

/** Checksums of addresses in lower case. A payer comes back, and one checksum costs as much as the rest of a reading. */
const checksums = new Map<string, `0x${string}`>();

/** Then they are forgotten: strangers may name any address. */
const MOST_CHECKSUMS = 1024;

/** A client's address with its checksum: clients and facilitators write it so, and some accept nothing else. */
export function canonicalAddress(address: `0x${string}`): `0x${string}` {
  const key = address.toLowerCase();
  let canonical = checksums.get(key);
  if (canonical === undefined) {
    canonical = toChecksum(address);
    if (checksums.size === MOST_CHECKSUMS) checksums.clear();
    checksums.set(key, canonical);
  }
  return canonical;
}
