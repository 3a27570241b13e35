/**
 * Reads an EIP-3009 payment: everything that can be told from the payload alone.
 *
 * @see x402 v2, scheme `exact` on EVM, §1, Phases 1 and 2
 * @module
 */
import type { PaymentReading, PaymentRequirements, Reason } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { isAddressShaped, sameAddress } from "../address.js";
import {
  DECIMAL,
  isSignature,
  isWord,
  LONGEST_WINDOW_SECONDS,
  matches,
  SETTLEMENT_MARGIN_SECONDS,
} from "../payload-fields.js";

/** Implements `readPayment` of the `exact` scheme. Total. */
export function readAuthorizationPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const authorization = readAuthorization(payload);
  if (authorization === undefined) return refused("invalid_payload");
  const { from, to, value, validAfter, validBefore, nonce } = authorization;

  if (!sameAddress(to, requirements.payTo)) return refused("invalid_exact_evm_payload_recipient_mismatch");
  if (value !== requirements.amount) return refused("invalid_exact_evm_payload_authorization_value_mismatch");
  // What is too large to be exact as a number is far beyond every bound.
  if (Number(validAfter) > nowSeconds) return refused("invalid_exact_evm_payload_authorization_valid_after");
  const expiresAtSeconds = Number(validBefore);
  const secondsLeft = expiresAtSeconds - nowSeconds;
  if (secondsLeft > LONGEST_WINDOW_SECONDS) return refused("invalid_exact_evm_payload_authorization_valid_before");
  return {
    kind: secondsLeft < SETTLEMENT_MARGIN_SECONDS ? "expired" : "readable",
    identity: `${requirements.network}|${requirements.asset}|${from}|${nonce}`.toLowerCase(),
    payer: from,
    expiresAtSeconds,
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  };
}

/** What was signed, each field of the form it must have. */
export interface Authorization {
  readonly from: `0x${string}`;
  readonly to: `0x${string}`;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: `0x${string}`;
  readonly signature: `0x${string}`;
}

/** Reads the authorization of a payment, whatever its time and terms; `undefined` when it has none. Total. */
export function readAuthorization(payload: unknown): Authorization | undefined {
  const { signature, authorization } = fieldsOf(payload);
  const { from, to, value, validAfter, validBefore, nonce } = fieldsOf(authorization);
  if (!isSignature(signature) || !isWord(nonce)) return undefined;
  if (!isAddressShaped(from) || !isAddressShaped(to)) return undefined;
  if (!matches(DECIMAL, value) || !matches(DECIMAL, validAfter) || !matches(DECIMAL, validBefore)) return undefined;
  return { from, to, value, validAfter, validBefore, nonce, signature };
}

function refused(reason: Reason): PaymentReading {
  return { kind: "refused", reason };
}
