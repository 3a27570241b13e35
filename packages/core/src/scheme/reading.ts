/**
 * Results of reading payments and nodes' responses. A payment is accepted or refused, and a node's response is clear or unclear. Both are
 * values, never exceptions.
 *
 * @module
 */
import { RpcError } from "../errors.js";
import type { RpcNode } from "../http/rpc-node.js";
import { parseAtomic } from "../price/price.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import type { Reason } from "../protocol/reasons.js";

/** A JSON object whose fields are unchecked. */
export type Fields = JsonObject;

/** Reads an object's own fields. Anything else, and an array, yields `{}`. */
export function fieldsOf(value: unknown): Fields {
  if (!isJsonObject(value)) return {};
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects from JSON.parse have no inherited fields and need no copy.
  return prototype === Object.prototype || prototype === null ? value : { ...value };
}

/** The maximum of 64 bits. */
export const MAX_UINT64: bigint = 2n ** 64n - 1n;

/** Reads a decimal string above zero and below 2^64, without leading zeros; `undefined` for any other value. */
export function readUint64(value: unknown): bigint | undefined {
  const parsed = typeof value === "string" ? parseAtomic(value) : undefined;
  return parsed?.ok === true && parsed.amount > 0n && parsed.amount <= MAX_UINT64 ? parsed.amount : undefined;
}

/** Why a payment is refused: a reason for the client, and a message for the log. */
export interface Refusal {
  readonly ok: false;
  readonly reason: Reason;
  readonly message: string;
}

/** A value, or a refusal. */
export type Reading<T> = { readonly ok: true; readonly value: T } | Refusal;

/** Creates a {@link Refusal}. `message` must not quote the request: signatures and transactions do not belong in a log. */
export function refuse(reason: Reason, message: string): Refusal {
  return { ok: false, reason, message };
}

/** Creates a {@link Reading} with a value. */
export function accept<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** Part of `ChainFinding` and of `PayeeCheck`: the node failed, or its response is not conclusive. */
export interface Unclear {
  readonly kind: "unclear";
  /** For the log: short, without the node's text or URL. */
  readonly problem: string;
}

/** Creates an {@link Unclear}. */
export function unclear(problem: string): Unclear {
  return { kind: "unclear", problem };
}

/** Asks a node, for `findPayment` or `checkPayee` of a scheme. An error becomes {@link Unclear}. Never rejects. */
export async function orUnclear<T>(ask: () => Promise<T>): Promise<T | Unclear> {
  try {
    return await ask();
  } catch (error) {
    // Any other error may quote the node, or its URL.
    return unclear(error instanceof RpcError ? error.message : "the node could not be asked");
  }
}

/** A node, and the signal that aborts each request to it. */
export interface AskedNode {
  readonly rpc: RpcNode;
  readonly signal?: AbortSignal;
}

/** Passes at most `limit` requests on to a node, all with the caller's signal. The next one rejects with `given_up`. */
export function askAtMost(limit: number, { rpc, signal }: AskedNode): RpcNode {
  const options = signal === undefined ? {} : { signal };
  let asked = 0;
  const count = () => {
    if (++asked > limit) throw new RpcError(`node was asked ${limit} times without a result`, "given_up");
  };
  return Object.freeze({
    async call(method: string, params: readonly unknown[]) {
      count();
      return rpc.call(method, params, options);
    },
    async get(path: string) {
      count();
      return rpc.get(path, options);
    },
  });
}
