/**
 * EIP-3009 on the seller's side: what can be read from a payment without asking a node, and the words by which EIP-3009
 * appears in calls and logs. Those are constants, so no chain library is needed.
 *
 * @see x402 v2, scheme `exact` on EVM, §1, Phases 1 and 2; EIP-3009; Contract ABI Specification, "Events"
 * @module
 */
import type { PaymentReading, PaymentRequirements, Reason } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { canonicalAddress, isAddressShaped, sameAddress } from "../address.js";
import { addressWord } from "../node/node-questions.js";
import { isDecimal, isSignature, isWord, longestWindowSeconds, SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";

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
  if (!isSignature(signature) || !isWord(nonce)) return undefined;
  if (!isAddressShaped(from) || !isAddressShaped(to)) return undefined;
  if (!isDecimal(value) || !isDecimal(validAfter) || !isDecimal(validBefore)) return undefined;
  return { from, to, value, validAfter, validBefore, nonce, signature };
}

/** Implements `readPayment` of the `exact` scheme for EIP-3009. Total. */
export function readAuthorizationPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const authorization = readAuthorization(payload);
  if (authorization === undefined) return refused("invalid_payload");
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;

  if (!sameAddress(to, requirements.payTo)) return refused("invalid_exact_evm_payload_recipient_mismatch");
  if (value !== requirements.amount) return refused("invalid_exact_evm_payload_authorization_value_mismatch");
  // A time too large for an exact number lies far beyond every bound.
  if (Number(validAfter) > nowSeconds) return refused("invalid_exact_evm_payload_authorization_valid_after");
  const expiresAtSeconds = Number(validBefore);
  const secondsLeft = expiresAtSeconds - nowSeconds;
  if (secondsLeft > longestWindowSeconds(requirements))
    return refused("invalid_exact_evm_payload_authorization_valid_before");
  const payer = canonicalAddress(from);
  return {
    kind: secondsLeft < SETTLEMENT_MARGIN_SECONDS ? "expired" : "readable",
    payload: {
      signature: signature.toLowerCase(),
      authorization: {
        ...{ from: payer, to: requirements.payTo, value, validAfter, validBefore },
        nonce: nonce.toLowerCase(),
      },
    },
    identity: `${requirements.network}|${requirements.asset}|${from}|${nonce}`.toLowerCase(),
    payer,
    expiresAtSeconds,
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  };
}

function refused(reason: Reason): PaymentReading {
  return { kind: "refused", reason };
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
