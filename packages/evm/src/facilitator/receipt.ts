/**
 * Waits for a transaction to be on chain, as deep as is asked for.
 *
 * The receipt is fetched anew each time, because a block can be taken back, and it is the receipt of this transaction and
 * of no other: a replacement with the same count is another transaction, and pays nobody.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Hash, type TransactionReceipt, TransactionReceiptNotFoundError } from "viem";
import type { ParsedRpcOptions } from "./rpc-options.js";

/** In how many looks in a row a transaction has to be crowded out: behind one URL can be nodes of which one lags. */
const SIGNS = 2;

/** Waits for at most `receiptTimeoutMs`; `undefined` when the receipt has not come by then. Never rejects. */
export async function waitForReceipt(
  options: ParsedRpcOptions,
  transaction: Hash,
): Promise<TransactionReceipt | undefined> {
  const seen = await waitUnlessCrowdedOut(options, transaction, async () => false);
  return seen === "crowded-out" ? undefined : seen;
}

/**
 * Waits in the same way, but no longer than until it is clear that another transaction has taken the place of this one.
 *
 * @param isCrowdedOut - Whether it looks like that now. Never rejects. It is asked only where there is no receipt: not at
 *   the first look, which comes before the next block, nor when there is no time left to make use of the answer.
 */
export async function waitUnlessCrowdedOut(
  options: ParsedRpcOptions,
  transaction: Hash,
  isCrowdedOut: () => Promise<boolean>,
): Promise<TransactionReceipt | "crowded-out" | undefined> {
  const { receiptTimeoutMs, pollingIntervalMs } = options;
  const deadline = performance.now() + receiptTimeoutMs;
  for (let looks = 1, signs = 0; ; looks++) {
    const seen = await look(options, transaction);
    if (typeof seen === "object") return seen;
    const left = deadline - performance.now();
    if (left <= 0) return undefined;
    const isAsked = seen === "none" && looks > 1 && left > pollingIntervalMs;
    signs = isAsked && (await isCrowdedOut()) ? signs + 1 : 0;
    if (signs === SIGNS) return "crowded-out";
    await sleep(Math.min(pollingIntervalMs, left));
  }
}

/** `unclear`: it is not deep enough, or the node does not say. */
async function look(
  { client, confirmations }: ParsedRpcOptions,
  hash: Hash,
): Promise<TransactionReceipt | "none" | "unclear"> {
  try {
    const receipt = await client.getTransactionReceipt({ hash });
    if (confirmations === 1) return receipt;
    const head = await client.getBlockNumber({ cacheTime: 0 });
    return head - receipt.blockNumber + 1n >= BigInt(confirmations) ? receipt : "unclear";
  } catch (error) {
    return error instanceof TransactionReceiptNotFoundError ? "none" : "unclear";
  }
}
