/**
 * Signatures with ed25519, by Node's own cryptography.
 *
 * @see RFC 8032
 * @module
 */
import { createPublicKey, verify } from "node:crypto";

/** How many bytes a signature has. */
export const SIGNATURE_BYTES = 64;

/** What stands before the 32 bytes of a key in its DER form (RFC 8410, §4). */
const KEY_HEADER = Buffer.from("302a300506032b6570032100", "hex");

/** Whether a signature is the one of an address's key over a message. Total. */
export function isSignedBy(address: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: Buffer.concat([KEY_HEADER, address]), format: "der", type: "spki" });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
