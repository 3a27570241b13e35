/**
 * Checks signatures with ed25519, by Node's own cryptography, for networks whose addresses are public keys.
 *
 * @see RFC 8032; RFC 8037, §2 for the form in which Node takes a key
 * @module
 */
import { createPublicKey, verify } from "node:crypto";

/** How many bytes a signature has. */
export const SIGNATURE_BYTES = 64;

/** Whether a signature is the one of a public key over a message. Total. */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    // As a JWK, because Node takes ten times as long to read a key in DER.
    const x = Buffer.from(publicKey).toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
