/**
 * Reads a payment by Permit2: everything that can be told from the payload alone.
 *
 * @see x402 v2, scheme `exact` on EVM, §2, Phases 2 and 3; scheme `upto` on EVM, §1, Phases 2 and 3
 * @module
 */
import type { PaymentReading, PaymentRequirements, Reason } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { isAddressShaped, sameAddress } from "../address.js";
import {
  DECIMAL,
  isSignature,
  LONGEST_WINDOW_SECONDS,
  matches,
  SETTLEMENT_MARGIN_SECONDS,
  WORD,
} from "../payload-fields.js";
import { PROXIES, type ProxyKind } from "./proxies.js";

/** What was signed, each field of the form it must have. */
export interface Permit {
  /** The payer, as the client wrote it. */
  readonly from: `0x${string}`;
  readonly token: `0x${string}`;
  /** Atomic units: what is moved, or the most that may be. */
  readonly amount: bigint;
  readonly spender: `0x${string}`;
  /** Usable once per payer, whatever the token. */
  readonly nonce: bigint;
  /** Unix seconds; the last in which it can be carried out. */
  readonly deadline: bigint;
  readonly to: `0x${string}`;
  /** Unix seconds; the first in which it can be carried out. */
  readonly validAfter: bigint;
  /** Who alone may carry it out; anybody may where there is none. */
  readonly facilitator: `0x${string}` | undefined;
  readonly signature: `0x${string}`;
}

const UINT256_LIMIT = 2n ** 256n;

/** Reads what was signed, whatever its time and terms; `undefined` when it is nothing of the kind. Total. */
export function readPermit(payload: unknown, kind: ProxyKind): Permit | undefined {
  const { signature, permit2Authorization } = fieldsOf(payload);
  const { from, permitted, spender, nonce, deadline, witness } = fieldsOf(permit2Authorization);
  const { token, amount } = fieldsOf(permitted);
  const { to, facilitator, validAfter } = fieldsOf(witness);
  const numbers = [readUint(amount), readNonce(nonce), readUint(deadline), readUint(validAfter)] as const;
  if (!isSignature(signature) || !isAddressShaped(from) || !isAddressShaped(spender)) return undefined;
  if (!isAddressShaped(token) || !isAddressShaped(to) || !isAll(numbers)) return undefined;
  if (kind === "upto" && !isAddressShaped(facilitator)) return undefined;
  const settler = kind === "upto" && isAddressShaped(facilitator) ? facilitator : undefined;
  const [value, number, last, first] = numbers;
  return {
    ...{ from, token, amount: value, spender, nonce: number, deadline: last },
    ...{ to, validAfter: first, facilitator: settler, signature },
  };
}

/** Implements `readPayment` for both schemes. Total. */
export function readPermitPayment(
  kind: ProxyKind,
  payload: unknown,
  { requirements, nowSeconds }: { readonly requirements: PaymentRequirements; readonly nowSeconds: number },
): PaymentReading {
  const permit = readPermit(payload, kind);
  if (permit === undefined || !sameAddress(permit.spender, PROXIES[kind])) return refused("invalid_payload");
  if (!sameAddress(permit.token, requirements.asset)) return refused("invalid_payload");
  if (!sameAddress(permit.to, requirements.payTo)) return refused("invalid_exact_evm_payload_recipient_mismatch");
  if (permit.amount.toString() !== requirements.amount) {
    return refused("invalid_exact_evm_payload_authorization_value_mismatch");
  }
  // Whether the facilitator named in it is the one that will be asked is for that one to say: it may have several
  // addresses and announce another of them each time.
  if (permit.validAfter > BigInt(nowSeconds)) return refused("invalid_exact_evm_payload_authorization_valid_after");
  const secondsLeft = permit.deadline - BigInt(nowSeconds);
  if (secondsLeft > LONGEST_WINDOW_SECONDS) return refused("invalid_exact_evm_payload_authorization_valid_before");
  return {
    kind: secondsLeft < SETTLEMENT_MARGIN_SECONDS ? "expired" : "readable",
    // Permit2 counts nonces by payer, not by token.
    identity: [requirements.network, "permit2", permit.from, permit.nonce].join("|").toLowerCase(),
    payer: permit.from,
    expiresAtSeconds: Number(permit.deadline),
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  };
}

function readUint(value: unknown): bigint | undefined {
  const number = matches(DECIMAL, value) ? BigInt(value) : undefined;
  return number !== undefined && number < UINT256_LIMIT ? number : undefined;
}

/** Clients write it in decimal; an example of the specification has it in hexadecimal. It is the same number. */
function readNonce(value: unknown): bigint | undefined {
  return matches(WORD, value) ? BigInt(value) : readUint(value);
}

type Numbers = readonly [bigint, bigint, bigint, bigint];

function isAll(numbers: readonly (bigint | undefined)[]): numbers is Numbers {
  return numbers.every((number) => number !== undefined);
}

function refused(reason: Reason): PaymentReading {
  return { kind: "refused", reason };
}
