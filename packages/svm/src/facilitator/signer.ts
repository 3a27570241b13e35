/**
 * The key that pays for transactions.
 *
 * @see RFC 8032
 * @module
 */
import { isSignedBy, readSigningKey } from "@farebox/core/scheme";
import { decodeAddress, isAddress } from "../address.js";
import { decodeBase58, encodeBase58 } from "../base58.js";
import { ChainError } from "./chain-error.js";

/** Signs messages, e.g. with a key in a vault. */
export interface MessageSigner {
  /** In base58. */
  readonly address: string;
  /** Yields the 64 bytes of a signature with ed25519, the same for the same message. */
  signMessage(message: Uint8Array): Promise<Uint8Array>;
}

/** A secret key as Solana's tools write it: 32 secret bytes, and the 32 of the address. */
const KEY_BYTES = 64;

/** Makes a signer of a key: base58, or the bytes of a key file. `undefined` when it is none, or its halves differ. Total. */
export function createKeySigner(privateKey: unknown): MessageSigner | undefined {
  const bytes = readKey(privateKey);
  const key = bytes === undefined ? undefined : readSigningKey(bytes);
  if (key === undefined) return undefined;
  return Object.freeze({
    address: encodeBase58(key.publicKey),
    signMessage: async (message: Uint8Array) => key.sign(message),
  });
}

function readKey(value: unknown): Buffer | undefined {
  if (typeof value === "string") return decodeBase58(value, KEY_BYTES);
  if (!Array.isArray(value) && !(value instanceof Uint8Array)) return undefined;
  const bytes: readonly unknown[] = Array.from(value);
  const areBytes = bytes.every((byte) => Number.isInteger(byte) && Number(byte) >= 0 && Number(byte) < 256);
  return bytes.length === KEY_BYTES && areBytes ? Buffer.from(bytes.map(Number)) : undefined;
}

/** Whether a value can be a signer. */
export function isMessageSigner(value: unknown): value is MessageSigner {
  if (typeof value !== "object" || value === null || !("address" in value) || !("signMessage" in value)) return false;
  return isAddress(value.address) && typeof value.signMessage === "function";
}

/**
 * Signs a message.
 *
 * @throws {@link ChainError} when what comes is no signature of this signer
 */
export async function signAs(signer: MessageSigner, message: Uint8Array): Promise<Buffer> {
  const signature = Buffer.from(await signer.signMessage(message));
  const key = decodeAddress(signer.address);
  if (key !== undefined && isSignedBy(key, message, signature)) return signature;
  throw new ChainError("the signer did not sign");
}
