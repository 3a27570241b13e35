/**
 * Sends transactions of one account, one after the other, so that each gets the count that is its own.
 *
 * @module
 */
import { BaseError, type Hash, type Hex, keccak256, NonceTooLowError, RpcRequestError } from "viem";
import { ChainError, toChainError } from "./chain-error.js";
import type { ParsedRpcOptions } from "./rpc-options.js";

/** A call to make. */
export interface Call {
  readonly to: `0x${string}`;
  readonly data: Hex;
}

/** Sends calls. */
export interface Sender {
  /**
   * Sends a call. Once it resolves, the transaction is out, or may be.
   *
   * @throws {@link ChainError} when provably nothing was broadcast
   */
  send(call: Call): Promise<Hash>;
}

/** What a transaction costs, as far as it is decided beforehand. */
interface Costs {
  readonly gas: bigint;
  readonly fees:
    | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
    | { readonly type: "legacy"; readonly gasPrice: bigint };
}

/** Creates a sender. */
export function createSender({ client, account, chainId }: ParsedRpcOptions): Sender {
  let turn: Promise<unknown> = Promise.resolve();
  /** The count of the next transaction; `undefined` when the node has to be asked. */
  let next: number | undefined;

  async function sendInTurn(call: Call, costs: Costs): Promise<Hash> {
    try {
      return await sendWithCount(call, costs, await countOf());
    } catch (error) {
      next = undefined;
      if (!isNonceTooLow(error)) throw toChainError(error);
      // Somebody else has used the account meanwhile; nothing of this call went out.
      return sendWithCount(call, costs, await countOf()).catch((again: unknown) => {
        next = undefined;
        throw toChainError(again);
      });
    }
  }

  async function countOf(): Promise<number> {
    next ??= await client.getTransactionCount({ address: account.address, blockTag: "pending" });
    return next;
  }

  async function sendWithCount({ to, data }: Call, { gas, fees }: Costs, nonce: number): Promise<Hash> {
    const serializedTransaction = await account.signTransaction({ chainId, to, data, nonce, gas, ...fees });
    const hash = keccak256(serializedTransaction);
    try {
      await client.sendRawTransaction({ serializedTransaction });
      next = nonce + 1;
    } catch (error) {
      if (isRefusal(error)) throw error;
      // The request may have arrived though its answer did not. The node knows the count, and the hash is known here.
      next = undefined;
    }
    return hash;
  }

  return {
    async send(call) {
      const costs = await estimate(call).catch((error: unknown) => {
        throw toChainError(error);
      });
      const sent = turn.then(() => sendInTurn(call, costs));
      turn = sent.catch(() => {});
      return sent;
    },
  };

  async function estimate(call: Call): Promise<Costs> {
    const [estimated, fees] = await Promise.all([client.estimateGas({ account, ...call }), estimateFees()]);
    return { gas: withHeadroom(estimated), fees };
  }

  async function estimateFees(): Promise<Costs["fees"]> {
    const { baseFeePerGas } = await client.getBlock();
    if (baseFeePerGas === null) return { type: "legacy", gasPrice: await client.getGasPrice() };
    const { maxFeePerGas, maxPriorityFeePerGas } = await client.estimateFeesPerGas();
    return { type: "eip1559", maxFeePerGas, maxPriorityFeePerGas };
  }
}

/** A fifth more than estimated: storage may change between the estimate and the block. */
function withHeadroom(gas: bigint): bigint {
  return gas + gas / 5n;
}

/** Whether the node itself said no, so that nothing was broadcast. "Already known" is not a no. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof BaseError)) return error instanceof ChainError;
  const said = error.walk((cause) => cause instanceof RpcRequestError);
  return said instanceof RpcRequestError && !/already known|already imported/i.test(said.details);
}

function isNonceTooLow(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof NonceTooLowError) !== null;
}
