/**
 * A signed authorization as a hash to check, and as a call to send.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import { encodeFunctionData, type Hex, hashTypedData, slice } from "viem";
import { transferTypedData } from "../signatures/typed-data.js";
import type { SignedAuthorization, TransferAuthorization } from "./chain.js";
import { EIP3009_ABI } from "./eip3009-abi.js";
import type { SignedHash } from "./signature.js";

/** The hash that an authorization's signature is over. */
export function hashAuthorization(signed: SignedAuthorization): SignedHash {
  const { authorization, signature } = signed;
  return { hash: hashTypedData(transferTypedData(signed)), signer: authorization.from, signature };
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
