/**
 * Looks on chain for the transaction that carried out a payment, regardless of its sender.
 *
 * @see EIP-3009, `AuthorizationUsed`; x402 v2, scheme `exact` on EVM, Annex; scheme `upto` on EVM, Annex
 * @module
 */
import { isAddressEqual, parseAbi, parseEventLogs } from "viem";
import { PROXIES } from "../permit2/permit2.js";
import { isCallFor, readSettleCall } from "../permit2/settle-call.js";
import { ChainError, type Hash, type SignedAuthorization, type SignedPermit } from "./chain.js";
import type { RpcClient } from "./rpc-options.js";

const ABI = parseAbi([
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
]);

/** Finds the transfer of an authorization in the last `lookbackBlocks` blocks, newest first. */
export async function findAuthorizationTransfer(
  client: RpcClient,
  { asset, authorization: { from, to, value, nonce } }: SignedAuthorization,
  lookbackBlocks: number,
): Promise<Hash | undefined> {
  const event = {
    address: asset,
    abi: ABI,
    eventName: "AuthorizationUsed",
    args: { authorizer: from, nonce },
  } as const;
  for await (const range of newestRanges(client, lookbackBlocks)) {
    const [use] = await client.getContractEvents({ ...event, ...range });
    if (use === undefined) continue;
    // The nonce can have been used for another transfer, and the transaction can contain transfers of other authorizations.
    // The token logs the transfer right after the use.
    const { logs } = await client.getTransactionReceipt({ hash: use.transactionHash });
    const [next] = logs
      .filter((log) => isAddressEqual(log.address, asset) && log.logIndex > use.logIndex)
      .sort((a, b) => a.logIndex - b.logIndex);
    const [move] = parseEventLogs({ abi: ABI, eventName: "Transfer", logs: next === undefined ? [] : [next] });
    if (move === undefined) return undefined;
    const isOurs =
      isAddressEqual(move.args.from, from) && isAddressEqual(move.args.to, to) && move.args.value === value;
    return isOurs ? use.transactionHash : undefined;
  }
  return undefined;
}

/** A node is asked about at most so many transfers for one payment. Few payers buy that often in so few blocks. */
const MAX_CANDIDATES = 256;

/**
 * Finds the transfer of a Permit2 payment in the last `lookbackBlocks` blocks, newest first. Permit2 writes no event for it.
 * So this reads the token's transfers from the payer to the recipient, and the call that made each of them. A payment through
 * another contract is not found.
 */
export async function findPermitTransfer(
  client: RpcClient,
  { kind, permit }: SignedPermit,
  lookbackBlocks: number,
): Promise<{ readonly transaction: Hash; readonly amount: bigint } | undefined> {
  const { token: address, from, to } = permit;
  const event = { address, abi: ABI, eventName: "Transfer", args: { from, to } } as const;
  const seen = new Set<Hash>();
  for await (const range of newestRanges(client, lookbackBlocks)) {
    const transfers = await client.getContractEvents({ ...event, ...range });
    for (const { transactionHash: hash } of transfers.toReversed()) {
      if (seen.has(hash)) continue;
      if (seen.size >= MAX_CANDIDATES) {
        throw new ChainError("the payer has paid this recipient too often to go through");
      }
      seen.add(hash);
      const { to: called, input } = await client.getTransaction({ hash });
      if (called === null || !isAddressEqual(called, PROXIES[kind])) continue;
      const call = readSettleCall(input, kind);
      if (call !== undefined && isCallFor(call, permit)) return { transaction: hash, amount: call.amount };
    }
  }
  return undefined;
}

/** Most nodes search at most 10,000 blocks at once. */
const BLOCKS_AT_ONCE = 9_000n;

/** Yields the head and the `lookbackBlocks` blocks before it, newest first, in ranges that nodes accept. */
async function* newestRanges(client: RpcClient, lookbackBlocks: number) {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const oldest = head - BigInt(lookbackBlocks);
  const last = oldest < 0n ? 0n : oldest;
  for (let toBlock = head; toBlock >= last; toBlock -= BLOCKS_AT_ONCE) {
    const fromBlock = toBlock - BLOCKS_AT_ONCE + 1n;
    yield { fromBlock: fromBlock < last ? last : fromBlock, toBlock };
  }
}
