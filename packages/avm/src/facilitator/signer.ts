/**
 * The key that pays for transactions.
 *
 * @see RFC 8032
 * @module
 */
import { isSignedBy, readSigningKey } from "@farebox/core/scheme";
import { decodeAddress, encodeAddress, isAddress } from "../address.js";
import { ChainError } from "./chain-error.js";

/** Signs transactions, e.g. with a key in a vault. */
export interface BytesSigner {
  readonly address: string;
  /** Yields the 64 bytes of a signature with ed25519. The bytes begin with `TX`. */
  signBytes(bytes: Uint8Array): Promise<Uint8Array>;
}

/** A secret key as Algorand's tools write it: 32 secret bytes, and the 32 of the address. */
const KEY_BYTES = 64;

/** Makes a signer of a key: base64, or bytes. `undefined` when it is none, or its halves differ. Total. */
export function createKeySigner(privateKey: unknown): BytesSigner | undefined {
  const bytes = readKey(privateKey);
  const key = bytes === undefined ? undefined : readSigningKey(bytes);
  if (key === undefined) return undefined;
  return Object.freeze({
    address: encodeAddress(key.publicKey),
    signBytes: async (message: Uint8Array) => key.sign(message),
  });
}

function readKey(value: unknown): Buffer | undefined {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "base64");
    return bytes.length === KEY_BYTES && bytes.toString("base64") === value ? bytes : undefined;
  }
  return value instanceof Uint8Array && value.length === KEY_BYTES ? Buffer.from(value) : undefined;
}

/** Whether a value can be a signer. */
export function isBytesSigner(value: unknown): value is BytesSigner {
  if (typeof value !== "object" || value === null || !("address" in value) || !("signBytes" in value)) return false;
  return isAddress(value.address) && typeof value.signBytes === "function";
}

/**
 * Signs some bytes.
 *
 * @throws {@link ChainError} when what comes is no signature of this signer
 */
export async function signAs(signer: BytesSigner, message: Uint8Array): Promise<Buffer> {
  const signature = Buffer.from(await signer.signBytes(message));
  const key = decodeAddress(signer.address);
  if (key !== undefined && isSignedBy(key, message, signature)) return signature;
  throw new ChainError("the signer did not sign");
}
