/**
 * Signatures with ed25519, by Node's own cryptography, for networks whose addresses are public keys.
 *
 * @see RFC 8032; RFC 8037, §2 for the form in which Node takes a key
 * @module
 */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from "node:crypto";

/** How many bytes a signature has. */
export const SIGNATURE_BYTES = 64;

/** Whether a signature is the one of a public key over a message. Total. */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    // As a JWK, because Node takes ten times as long to read a key in DER.
    const key = createPublicKey({ key: { ...KIND, x: toText(publicKey) }, format: "jwk" });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}

/** A secret key, and what belongs to it. */
export interface SigningKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** Yields the 64 bytes of a signature, the same for the same message. */
  sign(message: Uint8Array): Buffer;
}

/** As many are secret, and as many are the public key. */
const HALF_BYTES = 32;

/**
 * Reads a secret key as wallets write it: 32 secret bytes, and the 32 of the public key. `undefined` when it is none, or its
 * halves differ. Total.
 */
export function readSigningKey(bytes: Uint8Array): SigningKey | undefined {
  if (bytes.length !== 2 * HALF_BYTES) return undefined;
  const [d, x] = [toText(bytes.subarray(0, HALF_BYTES)), toText(bytes.subarray(HALF_BYTES))];
  const key = readJwk({ ...KIND, d, x });
  // Before 26, Node reads the secret half only, and makes the other one of it.
  if (key === undefined || createPublicKey(key).export({ format: "jwk" }).x !== x) return undefined;
  return Object.freeze({
    publicKey: Buffer.from(x, "base64url"),
    sign: (message: Uint8Array) => sign(null, message, key),
  });
}

/** Node 26 refuses halves that differ. */
function readJwk(key: JsonWebKey): KeyObject | undefined {
  try {
    return createPrivateKey({ key, format: "jwk" });
  } catch {
    return undefined;
  }
}

const KIND = { kty: "OKP", crv: "Ed25519" };

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
