/**
 * Permit2 on the seller's side: the contracts, what can be read from a payment without asking a node, and the words by which
 * Permit2 appears in calls and logs. Those are constants, so no chain library is needed.
 *
 * @see x402 v2, scheme `exact` on EVM, §2, Phases 2 and 3, and Annex; scheme `upto` on EVM, §1, Phases 2 and 3, and Annex;
 *   Permit2, `SignatureTransfer`
 * @module
 */
import type { PaymentReading, PaymentRequirements, Reason } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { ADDRESS, canonicalAddress, lowerCase, sameAddress } from "../address.js";
import { addressWord, uintWord } from "../node/node-questions.js";
import { CLOCK_SECONDS, isWord, readUint256, SETTLEMENT_MARGIN_SECONDS, SIGNATURE } from "../payload-fields.js";

/** Uniswap's Permit2, at the same address on every network. It checks each signature and moves the token, once. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** The scheme that a proxy belongs to. */
export type ProxyKind = "exact" | "upto";

/** The spenders that payers name, the same on every network. Each moves money only to the recipient in the signature. */
export const PROXIES: Readonly<Record<ProxyKind, `0x${string}`>> = Object.freeze({
  exact: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
  upto: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
});

/** A signed payment. Each field has the form it must have. */
export interface Permit {
  /** The payer, as the client wrote it. */
  readonly from: `0x${string}`;
  readonly token: `0x${string}`;
  /** Atomic units: the amount to move, or the maximum. */
  readonly amount: bigint;
  readonly spender: `0x${string}`;
  /** Usable once per payer, across all tokens. */
  readonly nonce: bigint;
  /** The last Unix second in which the payment can be carried out. */
  readonly deadline: bigint;
  readonly to: `0x${string}`;
  /** The first Unix second in which the payment can be carried out. */
  readonly validAfter: bigint;
  /** The only account that may carry the payment out. Without one, any account may. */
  readonly facilitator: `0x${string}` | undefined;
  readonly signature: `0x${string}`;
}

/** Reads the permit of a payment, regardless of its time and terms; `undefined` without one. Total. */
export function readPermit(payload: unknown, kind: ProxyKind): Permit | undefined {
  const { signature, permit2Authorization } = fieldsOf(payload);
  const { from, permitted, spender, nonce: writtenNonce, deadline: last, witness } = fieldsOf(permit2Authorization);
  const { token, amount: writtenAmount } = fieldsOf(permitted);
  const { to, facilitator: settler, validAfter: first } = fieldsOf(witness);
  if (typeof signature !== "string" || !SIGNATURE.test(signature)) return undefined;
  if (typeof from !== "string" || !ADDRESS.test(from)) return undefined;
  if (typeof spender !== "string" || !ADDRESS.test(spender)) return undefined;
  if (typeof token !== "string" || !ADDRESS.test(token)) return undefined;
  if (typeof to !== "string" || !ADDRESS.test(to)) return undefined;
  const isUpto = kind === "upto";
  if (isUpto && (typeof settler !== "string" || !ADDRESS.test(settler))) return undefined;
  const [amount, deadline, validAfter] = [readUint256(writtenAmount), readUint256(last), readUint256(first)];
  // Clients write the nonce in decimal; an example of the specification has it in hexadecimal. It is the same number.
  const nonce = isWord(writtenNonce) ? BigInt(writtenNonce) : readUint256(writtenNonce);
  if (amount === undefined || nonce === undefined || deadline === undefined || validAfter === undefined) {
    return undefined;
  }
  const facilitator = isUpto ? settler : undefined;
  return { from, token, amount, spender, nonce, deadline, to, validAfter, facilitator, signature } as Permit;
}

/** Writes all addresses of a permit in lower case, for the libraries that hash it. */
export function permitInLowerCase(permit: Permit): Permit {
  const { from, token, spender, to, facilitator } = permit;
  return {
    ...permit,
    from: lowerCase(from),
    token: lowerCase(token),
    spender: lowerCase(spender),
    to: lowerCase(to),
    facilitator: facilitator === undefined ? undefined : lowerCase(facilitator),
  };
}

/** Implements `readPayment` of both schemes for Permit2. Total. */
export function readPermitPayment(
  kind: ProxyKind,
  payload: unknown,
  { requirements, nowSeconds }: { readonly requirements: PaymentRequirements; readonly nowSeconds: number },
): PaymentReading {
  const permit = readPermit(payload, kind);
  if (permit === undefined) return refused("invalid_payload");
  const { from, token, spender, nonce, deadline, to, validAfter, facilitator, signature } = permit;
  const { network, asset, payTo, amount, maxTimeoutSeconds } = requirements;

  if (!sameAddress(spender, PROXIES[kind]) || !sameAddress(token, asset)) return refused("invalid_payload");
  if (!sameAddress(to, payTo)) return refused("invalid_exact_evm_payload_recipient_mismatch");
  if (permit.amount.toString() !== amount) return refused("invalid_exact_evm_payload_authorization_value_mismatch");
  // The named facilitator is not compared with the offer's: a facilitator may have several addresses and announce another
  // one each time. It checks by itself whether the payer named one of them.
  if (validAfter > BigInt(nowSeconds)) return refused("invalid_exact_evm_payload_authorization_valid_after");
  const secondsLeft = deadline - BigInt(nowSeconds);
  if (secondsLeft > maxTimeoutSeconds + CLOCK_SECONDS)
    return refused("invalid_exact_evm_payload_authorization_valid_before");
  const payer = canonicalAddress(from);
  const settler = facilitator === undefined ? {} : { facilitator: canonicalAddress(facilitator) };
  return {
    kind: secondsLeft < SETTLEMENT_MARGIN_SECONDS ? "expired" : "readable",
    payload: {
      signature: signature.toLowerCase(),
      permit2Authorization: {
        from: payer,
        permitted: { token: asset, amount },
        spender: PROXIES[kind],
        nonce: nonce.toString(),
        deadline: deadline.toString(),
        witness: { to: payTo, ...settler, validAfter: validAfter.toString() },
      },
    },
    // Permit2 counts nonces by payer, not by token.
    identity: `${network}|permit2|${from}|${nonce}`.toLowerCase(),
    payer,
    expiresAtSeconds: Number(deadline),
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  };
}

function refused(reason: Reason): PaymentReading {
  return { kind: "refused", reason };
}

/** `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)`; a payment writes no such event. */
export const NONCE_INVALIDATION = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d";

/** `nonceBitmap(address owner, uint256 word)` */
const NONCE_BITMAP = "0x4fe02b44";

/** Encodes the call that asks which of the 256 nonces around this one are used. */
export function encodeNonceBitmap(owner: string, nonce: bigint): string {
  return NONCE_BITMAP + addressWord(owner).slice(2) + uintWord(nonce >> 8n).slice(2);
}

/** Whether a bitmap contains a nonce. */
export function hasNonce(bitmap: bigint, nonce: bigint): boolean {
  return ((bitmap >> (nonce & 0xffn)) & 1n) === 1n;
}
