/**
 * A payer: a key that signs payments. What it signs is real; what it owns is a matter of the chain or the ledger.
 *
 * @see EIP-3009, `transferWithAuthorization`; Permit2, `permitWitnessTransferFrom`
 * @module
 */
import { randomBytes } from "node:crypto";
import type { AcceptedRequirements, PaymentPayload, PaymentRequired } from "@farebox/core";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { AUTHORIZATION_TYPES } from "./authorization-types.js";
import { type ExactTerms, readExactOffer } from "./exact-offer.js";
import { PayerError } from "./payer-error.js";
import { isByPermit2, readPermitOffer } from "./permit-offer.js";
import { signPermit } from "./sign-permit.js";

type Hex = `0x${string}`;

/** Who pays. */
export interface PayerOptions {
  /** 32 bytes. Default: a new random key. */
  readonly privateKey?: Hex;
  /** A contract wallet (ERC-1271) that accepts the key's signatures and pays. Default: the key's own address pays. */
  readonly wallet?: Hex;
}

/** How to sign one payment. */
export interface SignOptions {
  /** The challenge that the payment answers; its `resource` and `extensions` are echoed. */
  readonly challenge?: PaymentRequired;
  /** 32 bytes. Default: random, so that every payment is another one. */
  readonly nonce?: Hex;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** Signs payments. Keeps no balance and remembers nothing. */
export interface Payer {
  /** Whose money it is. */
  readonly address: Hex;
  /**
   * Signs a payment for an offer, by EIP-3009 or by Permit2 as the offer says: valid from the beginning of time until
   * `maxTimeoutSeconds` from now. By Permit2 it is worth something once the payer has allowed Permit2 to move the token.
   *
   * @throws {@link PayerError} when the offer is not `exact` on eip155
   */
  signExact(requirements: AcceptedRequirements, options?: SignOptions): Promise<PaymentPayload>;
  /**
   * Signs for the most that an offer may take, by Permit2, for the facilitator that the offer names.
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
  const signByPermit2 = async (scheme: string, offer: AcceptedRequirements, sign: SignOptions) => {
    const terms = payable(offer.scheme === scheme ? readPermitOffer(offer) : `it is not scheme ${scheme}`);
    const { nonce = randomNonce(), now = Date.now } = sign;
    const deadline = Math.floor(now() / 1000) + terms.maxTimeoutSeconds;
    return toPayment(offer, await signPermit(account, { terms, from: address, nonce, deadline }), sign.challenge);
  };
  return Object.freeze({
    address,
    signExact: async (requirements: AcceptedRequirements, sign: SignOptions = {}) => {
      if (isByPermit2(requirements)) return signByPermit2("exact", requirements, sign);
      const payload = await authorize(account, address, { terms: payable(readExactOffer(requirements)), ...sign });
      return toPayment(requirements, payload, sign.challenge);
    },
    signUpto: (requirements: AcceptedRequirements, sign: SignOptions = {}) => signByPermit2("upto", requirements, sign),
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
    // Neither the key nor an error that may quote it belongs into a message.
    throw new PayerError("privateKey is not a key: 0x and 64 hex digits, above zero and below the order of secp256k1");
  }
}

async function authorize(
  account: PrivateKeyAccount,
  from: Hex,
  { terms, nonce = randomNonce(), now = Date.now }: SignOptions & { readonly terms: ExactTerms },
): Promise<Readonly<Record<string, unknown>>> {
  const validBefore = BigInt(Math.floor(now() / 1000) + terms.maxTimeoutSeconds);
  const message = { from, to: terms.payTo, value: terms.value, validAfter: 0n, validBefore, nonce };
  const signature = await account.signTypedData({
    domain: terms.domain,
    types: AUTHORIZATION_TYPES,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const authorization = {
    ...message,
    value: String(message.value),
    validAfter: String(message.validAfter),
    validBefore: String(validBefore),
  };
  return { signature, authorization };
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

function randomNonce(): Hex {
  return `0x${randomBytes(32).toString("hex")}`;
}
