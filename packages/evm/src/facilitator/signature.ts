/**
 * Whether the payer has signed: with a key, or as a contract says.
 *
 * @see EIP-712; ERC-1271
 * @module
 */
import { encodeFunctionData, recoverAddress } from "viem";
import type { Address, Hex } from "./chain.js";
import { isRevert } from "./revert.js";
import type { RpcClient } from "./rpc-options.js";

const ERC1271_ABI = [
  {
    name: "isValidSignature",
    type: "function",
    stateMutability: "view",
    inputs: [
      { type: "bytes32", name: "hash" },
      { type: "bytes", name: "signature" },
    ],
    outputs: [{ type: "bytes4" }],
  },
] as const;

/** What a contract answers to a signature that it accepts, in the first word of its answer. */
const ACCEPTED = `0x1626ba7e${"0".repeat(56)}`;

/** A hash, and whose signature over it this is said to be. */
export interface SignedHash {
  readonly hash: Hex;
  readonly signer: Address;
  readonly signature: Hex;
}

/** Whether the signer's key made the signature. Asks nobody. */
export async function isSignedByKey({ hash, signer, signature }: SignedHash): Promise<boolean> {
  if (signature.length !== 132) return false;
  try {
    const address = await recoverAddress({ hash, signature });
    return address.toLowerCase() === signer.toLowerCase();
  } catch {
    // No point of the curve: nobody's key, though a contract wallet may still accept it.
    return false;
  }
}

/** Whether the contract at the signer's address accepts the signature. Where there is no contract, nobody does. */
export async function isSignedByContract(client: RpcClient, { hash, signer, signature }: SignedHash): Promise<boolean> {
  const data = encodeFunctionData({ abi: ERC1271_ABI, args: [hash, signature] });
  try {
    const answer = await client.call({ to: signer, data });
    return answer.data?.slice(0, ACCEPTED.length) === ACCEPTED;
  } catch (error) {
    if (isRevert(error)) return false;
    throw error;
  }
}
