/**
 * Permit2 and its proxies over JSON-RPC.
 *
 * @see x402 v2, scheme `exact` on EVM, §2; scheme `upto` on EVM
 * @module
 */
import { parseAbi } from "viem";
import { hasNonce } from "../permit2/permit2-wire.js";
import { PERMIT2 } from "../permit2/proxies.js";
import type { ApprovalChain, Hash, Permit2Chain, Simulation } from "./chain.js";
import type { Call } from "./costs.js";
import { findPermitTransfer } from "./find-permit-transfer.js";
import { encodePermitCall, hashPermit } from "./permit-transfer.js";
import type { RpcClient } from "./rpc-options.js";
import { isSignedByContract, isSignedByKey } from "./signature.js";

const ABI = parseAbi([
  "function allowance(address owner, address spender) view returns (uint256)",
  "function balanceOf(address owner) view returns (uint256)",
  "function nonceBitmap(address owner, uint256 word) view returns (uint256)",
]);

/** How the chain is asked, and sent transactions. */
export interface RpcParts {
  ask<T>(question: (client: RpcClient) => Promise<T>): Promise<T>;
  simulate(call: Call): Promise<Simulation>;
  send(call: Call): Promise<Hash>;
  readonly lookbackBlocks: number;
  /** Absent where approvals are not carried out. */
  readonly approvals: ApprovalChain | undefined;
}

/** Creates the part of a chain that is about Permit2. */
export function createRpcPermit2({ ask, simulate, send, lookbackBlocks, approvals }: RpcParts): Permit2Chain {
  return Object.freeze({
    verifySignature: async (signed) => {
      const hashed = hashPermit(signed);
      return (await isSignedByKey(hashed)) || ask((client) => isSignedByContract(client, hashed));
    },
    balanceOf: (address, owner) =>
      ask((client) => client.readContract({ address, abi: ABI, functionName: "balanceOf", args: [owner] })),
    allowanceOf: (address, owner) =>
      ask((client) => client.readContract({ address, abi: ABI, functionName: "allowance", args: [owner, PERMIT2] })),
    isNonceUsed: async (owner, nonce) => {
      const call = { address: PERMIT2, abi: ABI, functionName: "nonceBitmap", args: [owner, nonce >> 8n] } as const;
      const bitmap = await ask((client) => client.readContract(call));
      return hasNonce(bitmap, nonce);
    },
    simulate: (signed, amount) => simulate(encodePermitCall(signed, amount)),
    submit: (signed, amount) => send(encodePermitCall(signed, amount)),
    ...(approvals === undefined ? {} : { approvals }),
    findTransfer: (signed) => ask((client) => findPermitTransfer(client, signed, lookbackBlocks)),
  } satisfies Permit2Chain);
}
