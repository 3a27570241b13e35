/**
 * What a transaction may cost.
 *
 * @module
 */
import type { Address, Hex } from "./chain.js";
import { ChainError } from "./chain-error.js";
import type { ParsedRpcOptions } from "./rpc-options.js";

/** A call of a contract. */
export interface Call {
  readonly to: Address;
  readonly data: Hex;
  /** Wei that go with it. Default none. */
  readonly value?: bigint;
}

/** Limits of one transaction. */
export interface Costs {
  readonly gas: bigint;
  readonly fees:
    | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
    | { readonly type: "legacy"; readonly gasPrice: bigint };
}

/**
 * Asks the node what a call costs now.
 *
 * @throws {@link ChainError} when it takes more gas than is allowed: the token is the request's word, and a contract that
 *   burns the signer's money is no token
 */
export async function estimateCosts({ client, account, maxGas }: ParsedRpcOptions, call: Call): Promise<Costs> {
  const [estimated, { baseFeePerGas }] = await Promise.all([
    client.estimateGas({ account, ...call }),
    client.getBlock({ blockTag: "latest" }),
  ]);
  // A fifth more than estimated: storage may change between the estimate and the block.
  const gas = estimated + estimated / 5n;
  if (gas > maxGas) throw new ChainError(`the transfer takes ${gas} gas, and maxGas is ${maxGas}`);
  if (baseFeePerGas === null) return { gas, fees: { type: "legacy", gasPrice: await client.getGasPrice() } };
  const maxPriorityFeePerGas = await client.estimateMaxPriorityFeePerGas();
  // Twice the base fee lasts for six full blocks in a row; what is not needed is not paid.
  const maxFeePerGas = baseFeePerGas * 2n + maxPriorityFeePerGas;
  return { gas, fees: { type: "eip1559", maxFeePerGas, maxPriorityFeePerGas } };
}
