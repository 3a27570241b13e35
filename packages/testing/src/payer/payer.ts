/**
 * A payer: a key that signs payments. The signatures are real; the balance is a matter of the chain or the ledger.
 *
 * @see EIP-3009, `transferWithAuthorization`; Permit2, `permitWitnessTransferFrom`
 * @module
 */
import { randomBytes } from "node:crypto";
import { type AcceptedRequirements, FareboxError, type PaymentPayload, type PaymentRequired } from "@farebox/core";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { isByPermit2, readExactOffer, readPermitOffer } from "./offers.js";
import { signAuthorization, signPermit } from "./sign.js";

type Hex = `0x${string}`;

/** Options of `createPayer`. */
export interface PayerOptions {
  /** 32 bytes. Default: a new random key. */
  readonly privateKey?: Hex;
  /** A contract wallet (ERC-1271) that accepts the key's signatures and pays. Default: the key's own address pays. */
  readonly wallet?: Hex;
}

/** Options for one signature. */
export interface SignOptions {
  /** The challenge to pay; the payment echoes its `resource` and `extensions`. */
  readonly challenge?: PaymentRequired;
  /** 32 bytes. Default: random, so that each payment is a new one. */
  readonly nonce?: Hex;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** Signs payments. Has no state and no balance. */
export interface Payer {
  /** The address that pays. */
  readonly address: Hex;
  /**
   * Signs a payment for an offer, by EIP-3009 or Permit2 as the offer says. It expires `maxTimeoutSeconds` from now. A payment
   * by Permit2 needs the payer's allowance for Permit2.
   *
   * @throws {@link PayerError} when the offer is not `exact` on eip155
   */
  signExact(requirements: AcceptedRequirements, options?: SignOptions): Promise<PaymentPayload>;
  /**
   * Signs for the maximum of an offer, by Permit2, for the facilitator that the offer names.
   *
   * @throws {@link PayerError} when the offer is not `upto` on eip155 with a `facilitatorAddress`
   */
  signUpto(requirements: AcceptedRequirements, options?: SignOptions): Promise<PaymentPayload>;
}

/**
 * Creates a payer.
 *
 * @throws {@link PayerError} when `privateKey` is not a key
 */
export function createPayer(options: PayerOptions = {}): Payer {
  const account = toAccount(options.privateKey ?? generatePrivateKey());
  const address = options.wallet ?? account.address;

  async function signByPermit2(
    scheme: string,
    offer: AcceptedRequirements,
    sign: SignOptions,
  ): Promise<PaymentPayload> {
    const terms = payable(offer.scheme === scheme ? readPermitOffer(offer) : `it is not scheme ${scheme}`);
    const { nonce, expires } = freshFields(terms, sign);
    const payload = await signPermit(account, { terms, from: address, nonce, deadline: expires });
    return toPayment(offer, payload, sign.challenge);
  }

  async function signByAuthorization(offer: AcceptedRequirements, sign: SignOptions): Promise<PaymentPayload> {
    const terms = payable(readExactOffer(offer));
    const { nonce, expires } = freshFields(terms, sign);
    const payload = await signAuthorization(account, { terms, from: address, nonce, validBefore: expires });
    return toPayment(offer, payload, sign.challenge);
  }

  return Object.freeze({
    address,
    signExact: (offer: AcceptedRequirements, sign: SignOptions = {}) =>
      isByPermit2(offer) ? signByPermit2("exact", offer, sign) : signByAuthorization(offer, sign),
    signUpto: (offer: AcceptedRequirements, sign: SignOptions = {}) => signByPermit2("upto", offer, sign),
  });
}

function payable<Terms extends object>(terms: Terms | string): Terms {
  if (typeof terms === "string") throw new PayerError(`the offer cannot be paid: ${terms}`);
  return terms;
}

function toAccount(privateKey: Hex): PrivateKeyAccount {
  try {
    return privateKeyToAccount(privateKey);
  } catch {
    // The error of viem may quote the key, so it is not the cause.
    throw new PayerError("privateKey is not a key: 0x and 64 hex digits, above zero and below the order of secp256k1");
  }
}

function toPayment(
  accepted: AcceptedRequirements,
  payload: Readonly<Record<string, unknown>>,
  challenge: PaymentRequired | undefined,
): PaymentPayload {
  return {
    x402Version: 2,
    accepted,
    payload,
    ...(challenge === undefined ? {} : { resource: challenge.resource }),
    ...(challenge?.extensions === undefined ? {} : { extensions: challenge.extensions }),
  };
}

/** The nonce of a payment, and when it expires in Unix seconds. */
function freshFields(
  { maxTimeoutSeconds }: { readonly maxTimeoutSeconds: number },
  { nonce = `0x${randomBytes(32).toString("hex")}`, now = Date.now }: SignOptions,
): { readonly nonce: Hex; readonly expires: number } {
  return { nonce, expires: Math.floor(now() / 1000) + maxTimeoutSeconds };
}

/**
 * A payer that cannot pay: a wrong option, an offer that it cannot sign, no connection, or a broken one. A refused payment is
 * not an error.
 */
export class PayerError extends FareboxError {
  override readonly name = "PayerError";
  override readonly code = "ERR_FAREBOX_PAYER";
}
