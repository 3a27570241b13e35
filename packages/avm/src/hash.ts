/**
 * Algorand's hash: SHA-512/256, by Node's own cryptography.
 *
 * @see FIPS 180-4, §5.3.6.2
 * @module
 */
import { createHash } from "node:crypto";

/** How many bytes a hash has. */
export const HASH_BYTES = 32;

/** The hash of some bytes, one after the other. */
export function sha512_256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha512-256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
