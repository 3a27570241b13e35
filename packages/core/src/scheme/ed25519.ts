/**
 * Checks ed25519 signatures with `node:crypto`, for networks whose addresses are public keys.
 *
 * @see RFC 8032; RFC 8037, §2 for the form of a key
 * @module
 */
import { createPublicKey, verify } from "node:crypto";

/** Bytes of a signature. */
export const SIGNATURE_BYTES = 64;

/** Whether a signature over a message belongs to a public key. Never throws. */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    // As a JWK, because Node reads a DER key ten times slower.
    const x = Buffer.from(publicKey).toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
