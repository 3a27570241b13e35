/**
 * The calls to a local chain: JSON-RPC over HTTP, the transactions of its operator, and their error.
 *
 * @module
 */

import { FareboxError } from "@farebox/core";
import type { Address, Hex } from "viem";
import { numberToHex } from "viem/utils";

/** A local chain that did not start, or a failed call to it. `cause` is the underlying error, if any. */
export class LocalChainError extends FareboxError {
  override readonly name = "LocalChainError";
  override readonly code = "ERR_FAREBOX_LOCAL_CHAIN";
}

/** Calls a method and returns its `result`. Rejects with a {@link LocalChainError} when the call fails. */
export type Rpc = (method: string, ...params: readonly unknown[]) => Promise<unknown>;

/** The receipt of a transaction, as far as the local chain reads it. */
interface MinedTransaction {
  /** `null` unless a contract was created. */
  readonly contractAddress: string | null;
}

/** Creates the caller for a URL. */
export function createRpc(url: string): Rpc {
  return async function rpc(method, ...params) {
    const response = await post(url, { jsonrpc: "2.0", id: 1, method, params }).catch((error: unknown) => {
      throw new LocalChainError(`the local chain did not respond to ${method}`, { cause: error });
    });
    if (isRecord(response) && "result" in response) return response["result"];
    throw new LocalChainError(`${method} failed: ${describeFailure(response)}`);
  };
}

/** Sends a transaction from an unlocked account, and waits until it is mined. */
export async function transact(rpc: Rpc, transaction: Readonly<Record<string, string>>): Promise<MinedTransaction> {
  const receipt = await rpc("eth_sendTransactionSync", transaction);
  if (!isRecord(receipt) || receipt["status"] !== "0x1") {
    throw new LocalChainError(`a transaction to ${transaction["to"] ?? "a new contract"} was reverted`);
  }
  const { contractAddress } = receipt;
  return { contractAddress: typeof contractAddress === "string" ? contractAddress : null };
}

/** Reads a hexadecimal number. */
export function toBigInt(result: unknown): bigint {
  if (typeof result === "string" && /^0x[0-9a-fA-F]+$/.test(result)) return BigInt(result);
  throw new LocalChainError("the local chain responded with a value that is not a number");
}

/**
 * The account that sets up the chain and mints on it. It differs from the accounts of anvil, so that those start with nonce 0.
 * It has no key; anvil lets it send without a signature.
 */
export const OPERATOR = "0x00000000000000000000000000000000fa2eb001";

/** Enough for the largest contract, and below the limit of EIP-7825 for a transaction. */
const GAS = numberToHex(12_000_000);

/** Lets the operator send transactions. */
export async function enableOperator(rpc: Rpc): Promise<void> {
  await rpc("anvil_impersonateAccount", OPERATOR);
  await rpc("anvil_setBalance", OPERATOR, numberToHex(10n ** 24n));
}

/** Calls a contract as the operator, and waits until the transaction is mined. */
export async function operate(rpc: Rpc, to: Address, data: Hex): Promise<void> {
  await transact(rpc, { from: OPERATOR, to, data, gas: GAS });
}

/** Deploys a contract as the operator, and returns its address. */
export async function deploy(rpc: Rpc, code: Hex): Promise<Address> {
  const { contractAddress } = await transact(rpc, { from: OPERATOR, data: code, gas: GAS });
  if (contractAddress === null) throw new LocalChainError("a contract was not deployed");
  return `0x${contractAddress.slice(2)}`;
}

async function post(url: string, body: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}

function describeFailure(response: unknown): string {
  const error = isRecord(response) ? response["error"] : undefined;
  const message = isRecord(error) ? error["message"] : undefined;
  return typeof message === "string" ? message : "no result and no error message";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
