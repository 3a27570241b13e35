/**
 * Waits for a transaction to be on chain, as deep as is asked for.
 *
 * The receipt is fetched anew each time, because a block can be taken back, and it is the receipt of this transaction and
 * of no other: a replacement with the same count is another transaction, and pays nobody.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Hash, TransactionReceipt } from "viem";
import type { ParsedRpcOptions } from "./rpc-options.js";

/** Waits for at most `receiptTimeoutMs`; `undefined` when the receipt has not come by then. Never rejects. */
export async function waitForReceipt(
  options: ParsedRpcOptions,
  transaction: Hash,
): Promise<TransactionReceipt | undefined> {
  const deadline = performance.now() + options.receiptTimeoutMs;
  for (;;) {
    const receipt = await deepReceipt(options, transaction).catch(() => undefined);
    if (receipt !== undefined) return receipt;
    const left = deadline - performance.now();
    if (left <= 0) return undefined;
    await sleep(Math.min(options.pollingIntervalMs, left));
  }
}

async function deepReceipt(
  { client, confirmations }: ParsedRpcOptions,
  hash: Hash,
): Promise<TransactionReceipt | undefined> {
  const receipt = await client.getTransactionReceipt({ hash });
  if (confirmations === 1) return receipt;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  return head - receipt.blockNumber + 1n >= BigInt(confirmations) ? receipt : undefined;
}
