/**
 * The messages that payers sign, as typed data. The seller's side and the facilitator's side check the same ones.
 *
 * @see EIP-712; EIP-3009; x402 v2, scheme `exact` on EVM, §2 and Annex; scheme `upto` on EVM
 * @module
 */
import { PERMIT2, type Permit } from "../permit2/permit2.js";

type Address = `0x${string}`;

/** A message in the form that a wallet signs. */
export interface TypedData {
  readonly domain: {
    readonly name: string;
    readonly version?: string;
    readonly chainId: number;
    readonly verifyingContract: Address;
  };
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** A transfer by EIP-3009, and the domain of its token. */
export interface TransferMessage {
  readonly asset: Address;
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number };
  readonly authorization: {
    readonly from: Address;
    readonly to: Address;
    readonly value: bigint;
    readonly validAfter: bigint;
    readonly validBefore: bigint;
    readonly nonce: `0x${string}`;
  };
}

const TRANSFER = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

/** Builds the message of a transfer by EIP-3009. */
export function transferTypedData({ asset, domain, authorization }: TransferMessage): TypedData {
  const primaryType = "TransferWithAuthorization";
  const message = { ...authorization };
  return { domain: { ...domain, verifyingContract: asset }, types: TRANSFER, primaryType, message };
}

/** The message that Permit2 checks, without the witness. */
const PERMIT = {
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
} as const;

const TO = { name: "to", type: "address" } as const;
const FACILITATOR = { name: "facilitator", type: "address" } as const;
const VALID_AFTER = { name: "validAfter", type: "uint256" } as const;

const EXACT = { ...PERMIT, Witness: [TO, VALID_AFTER] } as const;
const UPTO = { ...PERMIT, Witness: [TO, FACILITATOR, VALID_AFTER] };

/** Builds the message of a payment by Permit2. Only `upto` has a facilitator in it. */
export function permitTypedData(chainId: number, permit: Permit): TypedData {
  const { token, amount, spender, nonce, deadline, to, validAfter, facilitator } = permit;
  const domain = { name: "Permit2", chainId, verifyingContract: PERMIT2 } as const;
  const types = facilitator === undefined ? EXACT : UPTO;
  const witness = facilitator === undefined ? { to, validAfter } : { to, facilitator, validAfter };
  const message = { permitted: { token, amount }, spender, nonce, deadline, witness };
  return { domain, types, primaryType: "PermitWitnessTransferFrom", message };
}
