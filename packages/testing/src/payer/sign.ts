/**
 * The two messages that a payer signs: an EIP-3009 authorization, and a Permit2 permit with a witness.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @see x402 v2, scheme `exact` on EVM, §2, Phase 2; scheme `upto` on EVM, §1, Phase 2
 * @module
 */
import type { PrivateKeyAccount } from "viem/accounts";
import type { ExactTerms, PermitTerms } from "./offers.js";

type Hex = `0x${string}`;

/** The EIP-712 types of an authorization; the primary type is `TransferWithAuthorization`. */
export const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

/** An authorization before its signature. */
interface UnsignedAuthorization {
  readonly terms: ExactTerms;
  /** The address that pays; the account signs. */
  readonly from: Hex;
  /** 32 bytes. */
  readonly nonce: Hex;
  /** Unix seconds. */
  readonly validBefore: number;
}

/** Signs an authorization, and returns the payload of the payment. */
export async function signAuthorization(
  account: PrivateKeyAccount,
  { terms, from, nonce, validBefore: before }: UnsignedAuthorization,
): Promise<Readonly<Record<string, unknown>>> {
  const validBefore = BigInt(before);
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

interface Member {
  readonly name: string;
  readonly type: string;
}

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** The members of the witness differ by scheme, so TypeScript does not infer them. */
const TYPES: Readonly<Record<string, readonly Member[]>> = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
};

const [TO, FACILITATOR, VALID_AFTER] = [
  { name: "to", type: "address" },
  { name: "facilitator", type: "address" },
  { name: "validAfter", type: "uint256" },
] as const;

/** The message of a permit. */
export interface PermitMessage {
  readonly chainId: number;
  readonly token: Hex;
  /** Atomic units: the amount, or the maximum. */
  readonly amount: bigint;
  readonly spender: Hex;
  readonly nonce: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly to: Hex;
  /** The only address that may settle; `undefined` for `exact`. */
  readonly facilitator?: Hex | undefined;
  /** Unix seconds. */
  readonly validAfter: bigint;
}

/** A message and its EIP-712 types. */
interface TypedData {
  readonly domain: { readonly name: string; readonly chainId: number; readonly verifyingContract: Hex };
  readonly types: Readonly<Record<string, readonly Member[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** The EIP-712 form of a permit. */
export function permitTypedData(permit: PermitMessage): TypedData {
  const { chainId, token, amount, spender, nonce, deadline, to, facilitator, validAfter } = permit;
  const settledBy = facilitator === undefined ? {} : { facilitator };
  const Witness = facilitator === undefined ? [TO, VALID_AFTER] : [TO, FACILITATOR, VALID_AFTER];
  const types: Readonly<Record<string, readonly Member[]>> = { ...TYPES, Witness };
  return {
    domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
    types,
    primaryType: "PermitWitnessTransferFrom",
    message: {
      permitted: { token, amount },
      spender,
      nonce,
      deadline,
      witness: { to, ...settledBy, validAfter },
    },
  };
}

/** A permit before its signature. */
interface UnsignedPermit {
  readonly terms: PermitTerms;
  /** The address that pays; the account signs. */
  readonly from: Hex;
  /** 32 bytes. */
  readonly nonce: Hex;
  /** Unix seconds. */
  readonly deadline: number;
}

/** Signs a permit, and returns the payload of the payment. */
export async function signPermit(
  account: PrivateKeyAccount,
  { terms, from, nonce, deadline }: UnsignedPermit,
): Promise<Readonly<Record<string, unknown>>> {
  const { chainId, token, amount, spender, payTo: to, facilitator } = terms;
  const settledBy = facilitator === undefined ? {} : { facilitator };
  const times = { deadline: BigInt(deadline), validAfter: 0n };
  const signature = await account.signTypedData(
    permitTypedData({ chainId, token, amount, spender, to, facilitator, nonce: BigInt(nonce), ...times }),
  );
  const permit2Authorization = {
    from,
    permitted: { token, amount: amount.toString() },
    spender,
    nonce: BigInt(nonce).toString(),
    deadline: String(deadline),
    witness: { to, ...settledBy, validAfter: "0" },
  };
  return { signature, permit2Authorization };
}
