/**
 * Looks on chain for the transaction that carried out a payment by Permit2, whoever sent it. Permit2 writes no event for
 * it, so the token's transfers from the payer to the recipient are gone through, and the call that made each is read.
 *
 * @see x402 v2, scheme `exact` on EVM, Annex; scheme `upto` on EVM, Annex
 * @module
 */
import { type Hash, isAddressEqual } from "viem";
import { PROXIES } from "../permit2/proxies.js";
import { isCallFor, readSettleCall } from "../permit2/settle-call.js";
import { rangesBefore } from "./block-ranges.js";
import type { SignedPermit } from "./chain.js";
import { ChainError } from "./chain-error.js";
import { EIP3009_ABI } from "./eip3009-abi.js";
import type { RpcClient } from "./rpc-options.js";

/** A payer who buys that often in so few blocks is rare, and a node is not asked without end for one payment. */
const MAX_CANDIDATES = 256;

/** A transfer that was made. */
interface Found {
  readonly transaction: Hash;
  readonly amount: bigint;
}

/** Finds the payment in the last `lookbackBlocks` blocks, the newest first. A call through another contract is not found. */
export async function findPermitTransfer(
  client: RpcClient,
  signed: SignedPermit,
  lookbackBlocks: number,
): Promise<Found | undefined> {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const seen = new Set<Hash>();
  for (const range of rangesBefore(head, lookbackBlocks)) {
    const { token: address, from, to } = signed.permit;
    const event = { address, abi: EIP3009_ABI, eventName: "Transfer", args: { from, to } } as const;
    const transfers = await client.getContractEvents({ ...event, ...range });
    for (const { transactionHash: hash } of transfers.toReversed()) {
      if (seen.has(hash)) continue;
      if (seen.size >= MAX_CANDIDATES)
        throw new ChainError("the payer has paid this recipient too often to go through");
      seen.add(hash);
      const amount = await amountOf(client, signed, hash);
      if (amount !== undefined) return { transaction: hash, amount };
    }
  }
  return undefined;
}

/** What the transaction moved by this payment; `undefined` when it was sent for another one. */
async function amountOf(client: RpcClient, { kind, permit }: SignedPermit, hash: Hash): Promise<bigint | undefined> {
  const { to, input } = await client.getTransaction({ hash });
  if (to === null || !isAddressEqual(to, PROXIES[kind])) return undefined;
  const call = readSettleCall(input, kind);
  return call !== undefined && isCallFor(call, permit) ? call.amount : undefined;
}
