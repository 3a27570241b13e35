/**
 * EIP-3009 on the seller's side: what can be read from a payment without asking a node, and the words by which EIP-3009
 * appears in calls and logs. Those are constants, so no chain library is needed.
 *
 * @see x402 v2, scheme `exact` on EVM, §1, Phases 1 and 2; EIP-3009; Contract ABI Specification, "Events"
 * @module
 */
import { fieldsOf } from "@farebox/core/scheme";
import { ADDRESS } from "../address.js";
import { addressWord } from "../node/node-questions.js";
import { DECIMAL, SIGNATURE, WORD } from "../payload-fields.js";

/** A signed authorization. Each field has the form it must have. */
export interface Authorization {
  readonly from: `0x${string}`;
  readonly to: `0x${string}`;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: `0x${string}`;
  readonly signature: `0x${string}`;
}

/** Reads the authorization of a payment, regardless of its time and terms; `undefined` without one. Total. */
export function readAuthorization(payload: unknown): Authorization | undefined {
  const { signature, authorization } = fieldsOf(payload);
  const { from, to, value, validAfter, validBefore, nonce } = fieldsOf(authorization);
  if (typeof signature !== "string" || !SIGNATURE.test(signature)) return undefined;
  if (typeof nonce !== "string" || !WORD.test(nonce)) return undefined;
  if (typeof from !== "string" || !ADDRESS.test(from)) return undefined;
  if (typeof to !== "string" || !ADDRESS.test(to)) return undefined;
  if (typeof value !== "string" || !DECIMAL.test(value)) return undefined;
  if (typeof validAfter !== "string" || !DECIMAL.test(validAfter)) return undefined;
  if (typeof validBefore !== "string" || !DECIMAL.test(validBefore)) return undefined;
  return { from, to, value, validAfter, validBefore, nonce, signature } as Authorization;
}

/** `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` */
export const AUTHORIZATION_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";

/** `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` */
export const AUTHORIZATION_CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";

/** `authorizationState(address authorizer, bytes32 nonce)` */
const AUTHORIZATION_STATE = "0xe94a0102";

/** Encodes the call that asks whether a nonce was used or cancelled. */
export function encodeAuthorizationState(authorizer: string, nonce: string): string {
  return AUTHORIZATION_STATE + addressWord(authorizer).slice(2) + nonce.slice(2).toLowerCase();
}
