/**
 * Looks on chain for the transaction that carried out an authorization, whoever sent it.
 *
 * @see EIP-3009, `AuthorizationUsed`
 * @module
 */
import { type Hash, isAddressEqual, parseEventLogs } from "viem";
import { type BlockRange, rangesBefore } from "./block-ranges.js";
import type { SignedAuthorization } from "./chain.js";
import { EIP3009_ABI } from "./eip3009-abi.js";
import type { RpcClient } from "./rpc-options.js";

/** Finds the transfer of an authorization in the last `lookbackBlocks` blocks, the newest first. */
export async function findTransfer(
  client: RpcClient,
  signed: SignedAuthorization,
  lookbackBlocks: number,
): Promise<Hash | undefined> {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  for (const range of rangesBefore(head, lookbackBlocks)) {
    const use = await findUse(client, signed, range);
    if (use !== undefined) return (await movedMoney(client, signed, use)) ? use.transactionHash : undefined;
  }
  return undefined;
}

interface Use {
  readonly transactionHash: Hash;
  readonly logIndex: number;
}

async function findUse(
  client: RpcClient,
  { asset, authorization }: SignedAuthorization,
  range: BlockRange,
): Promise<Use | undefined> {
  const { from: authorizer, nonce } = authorization;
  const args = { authorizer, nonce };
  const event = { address: asset, abi: EIP3009_ABI, eventName: "AuthorizationUsed", args } as const;
  const [use] = await client.getContractEvents({ ...event, ...range });
  return use;
}

/**
 * The same nonce can have been used for a transfer to somebody else, or of another amount; and another transfer in the same
 * transaction can belong to another authorization. The token logs the transfer right behind the use.
 */
async function movedMoney(
  client: RpcClient,
  { asset, authorization: { from, to, value } }: SignedAuthorization,
  { transactionHash: hash, logIndex }: Use,
): Promise<boolean> {
  const { logs } = await client.getTransactionReceipt({ hash });
  const [next] = logs
    .filter((log) => isAddressEqual(log.address, asset) && log.logIndex > logIndex)
    .sort((a, b) => a.logIndex - b.logIndex);
  const [move] = parseEventLogs({ abi: EIP3009_ABI, eventName: "Transfer", logs: next === undefined ? [] : [next] });
  if (move === undefined) return false;
  return isAddressEqual(move.args.from, from) && isAddressEqual(move.args.to, to) && move.args.value === value;
}
