/**
 * The key that pays for transactions.
 *
 * @module
 */
import { expectSignature, type SignerKind } from "@farebox/core/facilitator";
import { decodeUnsignedTransaction, mnemonicFromSeed, mnemonicToSecretKey } from "algosdk";
import { decodeAddress, isAddress } from "../address.js";
import { SIGNED_PREFIX } from "../transaction/read-transaction.js";

/** Signs transactions, e.g. with its key in a vault. */
export interface BytesSigner {
  readonly address: string;
  /** Returns an ed25519 signature of 64 bytes. The bytes begin with `TX`. */
  signBytes(bytes: Uint8Array): Promise<Uint8Array>;
}

/** How the options name a signer. */
export const BYTES_SIGNER: SignerKind<BytesSigner> = {
  fromKey: createKeySigner,
  keyExpected: "a key of 64 bytes, in base64 or as bytes, whose second half is the address of the first",
  isAddress,
  method: "signBytes",
};

/** Signs bytes. @throws ChainError when the signer returns an invalid signature */
export function signAs(signer: BytesSigner, bytes: Uint8Array): Promise<Buffer> {
  return expectSignature(signer.signBytes(bytes), decodeAddress(signer.address), bytes);
}

/** Reads a key: base64, or bytes. `undefined` when it is not one, or its halves do not match. Total. */
function createKeySigner(privateKey: unknown): BytesSigner | undefined {
  const bytes = readKey(privateKey);
  if (bytes === undefined) return undefined;
  // The library creates an account from a seed only by way of its mnemonic.
  const { addr, sk } = mnemonicToSecretKey(mnemonicFromSeed(bytes.subarray(0, SEED_BYTES)));
  if (!bytes.equals(sk)) return undefined;
  return Object.freeze({
    address: addr.toString(),
    signBytes: async (message: Uint8Array) =>
      decodeUnsignedTransaction(message.subarray(SIGNED_PREFIX.length)).rawSignTxn(sk),
  });
}

/** 32 secret bytes, and the 32 bytes of the address. */
const KEY_BYTES = 64;
const SEED_BYTES = 32;

function readKey(value: unknown): Buffer | undefined {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "base64");
    return bytes.length === KEY_BYTES && bytes.toString("base64") === value ? bytes : undefined;
  }
  return value instanceof Uint8Array && value.length === KEY_BYTES ? Buffer.from(value) : undefined;
}
