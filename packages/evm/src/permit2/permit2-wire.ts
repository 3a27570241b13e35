/**
 * Permit2 as it stands in calls and logs: selectors and topics as constants, so that no chain library is needed.
 *
 * @see Permit2, `SignatureTransfer`
 * @module
 */
import { addressWord, uintWord } from "../abi-words.js";

/** `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)`; a payment writes no such event. */
export const NONCE_INVALIDATION = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d";

/** `nonceBitmap(address owner, uint256 word)` */
const NONCE_BITMAP = "0x4fe02b44";

/** The call that asks which of the 256 nonces beside this one are used. */
export function encodeNonceBitmap(owner: string, nonce: bigint): string {
  return NONCE_BITMAP + addressWord(owner).slice(2) + uintWord(nonce >> 8n).slice(2);
}

/** Whether a nonce is among those of a bitmap. */
export function hasNonce(bitmap: bigint, nonce: bigint): boolean {
  return ((bitmap >> (nonce & 0xffn)) & 1n) === 1n;
}
