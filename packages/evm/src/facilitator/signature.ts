/**
 * Whether the payer has signed: with the key of `from`, or as the contract at `from` says.
 *
 * @see EIP-712; ERC-1271
 * @module
 */
import { encodeFunctionData, hashTypedData, recoverAddress } from "viem";
import type { Hex, SignedAuthorization } from "./chain.js";
import { isRevert } from "./revert.js";
import type { RpcClient } from "./rpc-options.js";
import { typedDataOf } from "./transfer.js";

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

/** Whether the key of `from` made the signature. Asks nobody. */
export async function isSignedByKey(signed: SignedAuthorization): Promise<boolean> {
  if (signed.signature.length !== 132) return false;
  try {
    const signer = await recoverAddress({ hash: hashOf(signed), signature: signed.signature });
    return signer.toLowerCase() === signed.authorization.from.toLowerCase();
  } catch {
    // No point of the curve: nobody's key, though a contract wallet may still accept it.
    return false;
  }
}

/** Whether the contract at `from` accepts the signature. Where there is no contract, nobody does. */
export async function isSignedByContract(client: RpcClient, signed: SignedAuthorization): Promise<boolean> {
  const data = encodeFunctionData({ abi: ERC1271_ABI, args: [hashOf(signed), signed.signature] });
  try {
    const answer = await client.call({ to: signed.authorization.from, data });
    return answer.data?.slice(0, ACCEPTED.length) === ACCEPTED;
  } catch (error) {
    if (isRevert(error)) return false;
    throw error;
  }
}

function hashOf(signed: SignedAuthorization): Hex {
  return hashTypedData(typedDataOf(signed));
}
