/**
 * JSON-RPC over HTTP, as little of it as the local chain needs.
 *
 * @module
 */
import { LocalChainError } from "./local-chain-error.js";

/** Calls a method and yields its `result`. Rejects with a {@link LocalChainError} when there is none. */
export type Rpc = (method: string, ...params: readonly unknown[]) => Promise<unknown>;

/** What a transaction did, reduced to what the local chain looks at. */
export interface MinedTransaction {
  /** `null` unless a contract was created. */
  readonly contractAddress: string | null;
}

/** Binds {@link Rpc} to a URL. */
export function createRpc(url: string): Rpc {
  return async function rpc(method, ...params) {
    const answer = await post(url, { jsonrpc: "2.0", id: 1, method, params }).catch((error: unknown) => {
      throw new LocalChainError(`the local chain did not answer ${method}`, { cause: error });
    });
    if (isRecord(answer) && "result" in answer) return answer["result"];
    throw new LocalChainError(`${method} failed: ${describeFailure(answer)}`);
  };
}

/** Sends a transaction from an unlocked account and waits until it is mined. */
export async function transact(rpc: Rpc, transaction: Readonly<Record<string, string>>): Promise<MinedTransaction> {
  const receipt = await rpc("eth_sendTransactionSync", transaction);
  if (!isRecord(receipt) || receipt["status"] !== "0x1") {
    throw new LocalChainError(`a transaction to ${transaction["to"] ?? "a new contract"} was reverted`);
  }
  const { contractAddress } = receipt;
  return { contractAddress: typeof contractAddress === "string" ? contractAddress : null };
}

/** Reads a number from an answer in hexadecimal. */
export function toBigInt(result: unknown): bigint {
  if (typeof result === "string" && /^0x[0-9a-fA-F]+$/.test(result)) return BigInt(result);
  throw new LocalChainError("the local chain answered with something other than a number");
}

async function post(url: string, body: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}

function describeFailure(answer: unknown): string {
  const error = isRecord(answer) ? answer["error"] : undefined;
  const message = isRecord(error) ? error["message"] : undefined;
  return typeof message === "string" ? message : "no result and no error message";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
