/**
 * One local chain for all test files of a worker, because a start takes longer than most files. Each file finds it as it was after the start.
 *
 * @module
 */
import { type LocalChain, startLocalChain } from "@farebox/testing";
import { createPublicClient, http } from "viem";

interface WorkerChain {
  readonly chain: LocalChain;
  /** The state after the start. A node forgets a snapshot once it has gone back to it. */
  snapshot: string;
}

/** Ends with the worker: a local chain does not keep its process alive. */
let started: Promise<WorkerChain> | undefined;

let isLent = false;

/** Lends the chain to one file at a time. `close` gives it back. Until then, its state, its clock and its mining are the file's own. */
export async function borrowChain(): Promise<LocalChain> {
  if (isLent) throw new Error("The chain of this worker is in use. A file gives it back with close().");
  isLent = true;
  started ??= start();
  const worker = await started;
  let returning: Promise<void> | undefined;
  const close = (): Promise<void> => {
    returning ??= giveBack(worker);
    return returning;
  };
  return { ...worker.chain, close };
}

async function start(): Promise<WorkerChain> {
  const chain = await startLocalChain();
  return { chain, snapshot: await ask<string>(chain, "evm_snapshot") };
}

async function giveBack(worker: WorkerChain): Promise<void> {
  const { chain } = worker;
  await ask(chain, "anvil_dropAllTransactions");
  await ask(chain, "evm_revert", worker.snapshot);
  worker.snapshot = await ask<string>(chain, "evm_snapshot");
  await ask(chain, "anvil_removeBlockTimestampInterval");
  // The clock went back, too.
  await ask(chain, "evm_setTime", Math.floor(Date.now() / 1000));
  await chain.resumeMining();
  isLent = false;
}

function ask<T = unknown>({ rpcUrl }: LocalChain, method: string, ...params: readonly unknown[]): Promise<T> {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0 }) });
  return client.request({ method, params } as never) as Promise<T>;
}
