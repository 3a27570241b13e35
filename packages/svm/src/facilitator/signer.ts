/**
 * The key that pays for transactions.
 *
 * @module
 */
import { ChainError, expectSignature, type SignerKind } from "@farebox/core/facilitator";
import { Keypair, VersionedMessage, VersionedTransaction } from "@solana/web3.js";
import { decodeAddress, decodeBase58, isAddress } from "../address.js";

/** Signs messages, e.g. with its key in a vault. */
export interface MessageSigner {
  /** In base58. */
  readonly address: string;
  /** Returns an ed25519 signature of 64 bytes, always the same for the same message. */
  signMessage(message: Uint8Array): Promise<Uint8Array>;
}

/** How the options name a signer. */
export const MESSAGE_SIGNER: SignerKind<MessageSigner> = {
  fromKey: createKeySigner,
  keyExpected: "a key of 64 bytes, in base58 or as a list, whose second half is the address of the first",
  isAddress,
  method: "signMessage",
};

/** Signs a message. @throws ChainError when the signer returns an invalid signature */
export function signAs(signer: MessageSigner, message: Uint8Array): Promise<Buffer> {
  return expectSignature(signer.signMessage(message), decodeAddress(signer.address), message);
}

/** Reads a key: base58, or the bytes of a key file. `undefined` when it is not one, or its halves do not match. Total. */
function createKeySigner(privateKey: unknown): MessageSigner | undefined {
  const bytes = readKey(privateKey);
  if (bytes === undefined) return undefined;
  try {
    const keypair = Keypair.fromSecretKey(bytes);
    return Object.freeze({
      address: keypair.publicKey.toBase58(),
      signMessage: async (message: Uint8Array) => sign(keypair, message),
    });
  } catch {
    return undefined;
  }
}

/** 32 secret bytes, and the 32 bytes of the address. */
const KEY_BYTES = 64;

function readKey(value: unknown): Uint8Array | undefined {
  if (typeof value === "string") return decodeBase58(value, KEY_BYTES);
  if (!Array.isArray(value) && !(value instanceof Uint8Array)) return undefined;
  const bytes: readonly unknown[] = Array.from(value);
  const areBytes = bytes.every((byte) => Number.isInteger(byte) && Number(byte) >= 0 && Number(byte) < 256);
  return bytes.length === KEY_BYTES && areBytes ? Uint8Array.from(bytes.map(Number)) : undefined;
}

function sign(keypair: Keypair, message: Uint8Array): Uint8Array {
  const transaction = new VersionedTransaction(VersionedMessage.deserialize(message));
  transaction.sign([keypair]);
  const [signature] = transaction.signatures;
  if (signature === undefined) throw new ChainError("the transaction has no fee payer");
  return signature;
}
