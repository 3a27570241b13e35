/**
 * A signed authorization as typed data to check, and as a transaction to send.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import { encodeFunctionData, type Hex, slice } from "viem";
import type { SignedAuthorization, TransferAuthorization } from "./chain.js";
import { EIP3009_ABI } from "./eip3009-abi.js";

/** Types of the typed data. */
export const AUTHORIZATION_TYPES: {
  readonly TransferWithAuthorization: readonly { readonly name: string; readonly type: string }[];
} = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

/** The message that was signed, with its signature, as viem takes it. */
export interface SignedTypedData {
  readonly domain: SignedAuthorization["domain"] & { readonly verifyingContract: `0x${string}` };
  readonly types: typeof AUTHORIZATION_TYPES;
  readonly primaryType: "TransferWithAuthorization";
  readonly message: Record<string, unknown>;
  readonly signature: Hex;
}

/** The typed data of an authorization. */
export function typedDataOf({ asset, domain, authorization, signature }: SignedAuthorization): SignedTypedData {
  return {
    domain: { ...domain, verifyingContract: asset },
    types: AUTHORIZATION_TYPES,
    primaryType: "TransferWithAuthorization",
    message: { ...authorization },
    signature,
  };
}

/**
 * The call that carries the transfer out. A signature of 65 bytes goes in its three parts, which every token with
 * EIP-3009 understands; any other length is a contract wallet's and goes as it is.
 */
export function encodeTransfer({ authorization, signature }: SignedAuthorization): Hex {
  const functionName = "transferWithAuthorization";
  const common = argumentsOf(authorization);
  if (signature.length !== 132) {
    return encodeFunctionData({ abi: EIP3009_ABI, functionName, args: [...common, signature] });
  }
  const [r, s] = [slice(signature, 0, 32), slice(signature, 32, 64)];
  const v = Number.parseInt(signature.slice(-2), 16);
  return encodeFunctionData({ abi: EIP3009_ABI, functionName, args: [...common, v, r, s] });
}

function argumentsOf({ from, to, value, validAfter, validBefore, nonce }: TransferAuthorization) {
  return [from, to, value, validAfter, validBefore, nonce] as const;
}
