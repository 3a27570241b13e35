/**
 * EIP-3009 as it stands in calls and logs: selectors and topics as constants, so that no chain library is needed.
 *
 * @see EIP-3009; Contract ABI Specification, "Events"
 * @module
 */
import { addressWord } from "../abi-words.js";

/** `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` */
export const AUTHORIZATION_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";

/** `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` */
export const AUTHORIZATION_CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";

/** `authorizationState(address authorizer, bytes32 nonce)` */
const AUTHORIZATION_STATE = "0xe94a0102";

/** The call that asks whether a nonce was used or cancelled. */
export function encodeAuthorizationState(authorizer: string, nonce: string): string {
  return AUTHORIZATION_STATE + addressWord(authorizer).slice(2) + nonce.slice(2).toLowerCase();
}
