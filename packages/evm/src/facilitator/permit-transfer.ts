/**
 * A payment by Permit2 as a hash to check, and as a call to send.
 *
 * @see x402 v2, scheme `exact` on EVM, §2 and Annex; scheme `upto` on EVM; EIP-712
 * @module
 */
import { encodeFunctionData, type Hex, hashTypedData, parseAbi, slice } from "viem";
import { PROXIES } from "../permit2/proxies.js";
import type { Permit } from "../permit2/read-permit.js";
import { permitTypedData } from "../signatures/typed-data.js";
import type { SignedApproval, SignedPermit } from "./chain.js";
import type { Call } from "./costs.js";
import type { SignedHash } from "./signature.js";

const STRUCTS = [
  "struct Approval { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
] as const;

const EXACT_ABI = parseAbi([
  ...STRUCTS,
  "struct Witness { address to; uint256 validAfter; }",
  "function settle(Permit permit, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Approval approval, Permit permit, address owner, Witness witness, bytes signature)",
]);

const UPTO_ABI = parseAbi([
  ...STRUCTS,
  "struct Witness { address to; address facilitator; uint256 validAfter; }",
  "function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Approval approval, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
]);

/** The hash that a payment's signature is over. */
export function hashPermit({ chainId, permit }: SignedPermit): SignedHash {
  const typed = permitTypedData(chainId, permit);
  const hash = hashTypedData(typed);
  return { hash, signer: permit.from, signature: permit.signature };
}

/** The call that carries a payment out: of `amount`, where the scheme lets a part be taken. */
export function encodePermitCall({ kind, permit, approval }: SignedPermit, amount: bigint): Call {
  return { to: PROXIES[kind], data: permit.facilitator === undefined ? encodeExact() : encodeUpto(permit.facilitator) };

  function encodeExact(): Hex {
    const { from, to, validAfter, signature } = permit;
    const args = [toPermit(permit), from, { to, validAfter }, signature] as const;
    if (approval === undefined) return encodeFunctionData({ abi: EXACT_ABI, functionName: "settle", args });
    const all = [toApproval(approval), ...args] as const;
    return encodeFunctionData({ abi: EXACT_ABI, functionName: "settleWithPermit", args: all });
  }

  function encodeUpto(facilitator: Hex): Hex {
    const { from, to, validAfter, signature } = permit;
    const args = [toPermit(permit), amount, from, { to, facilitator, validAfter }, signature] as const;
    if (approval === undefined) return encodeFunctionData({ abi: UPTO_ABI, functionName: "settle", args });
    const all = [toApproval(approval), ...args] as const;
    return encodeFunctionData({ abi: UPTO_ABI, functionName: "settleWithPermit", args: all });
  }
}

function toPermit({ token, amount, nonce, deadline }: Permit) {
  return { permitted: { token, amount }, nonce, deadline };
}

function toApproval({ value, deadline, signature }: SignedApproval) {
  const [r, s] = [slice(signature, 0, 32), slice(signature, 32, 64)];
  return { value, deadline, r, s, v: Number.parseInt(signature.slice(-2), 16) };
}
