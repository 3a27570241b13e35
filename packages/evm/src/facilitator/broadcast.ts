/**
 * Hands a signed transaction to a node, and says what can be concluded from the answer. The same bytes may be handed over
 * any number of times: they are one transaction.
 *
 * @module
 */
import { BaseError, type Hex, RpcRequestError } from "viem";
import type { RpcClient } from "./rpc-options.js";

/**
 * - `out`: the node has it.
 * - `unclear`: the node may have it; its answer was lost, or says nothing definite.
 * - `count-taken`: the node knows another transaction of the account with the same count, or it knows this one.
 * - `refused`: the node does not take it.
 */
export type Delivery =
  | { readonly kind: "out" | "unclear" }
  | { readonly kind: "count-taken" | "refused"; readonly error: unknown };

/** Answers by which a node says that it has this very transaction. */
const KNOWN =
  /already ?known|already (?:been )?imported|already_exists|known transaction|already in (?:the )?(?:mem)?pool/i;

/** Answers by which a node says that the count is used up, or waits in its pool. */
const COUNT_TAKEN =
  /nonce (?:is )?too low|old ?nonce|nonce (?:has )?already (?:been )?used|replacement transaction underpriced/i;

/**
 * Codes with which a node says no for certain: bad request, unknown method, bad parameters, not accepted, over the limit.
 * An internal error (-32603) or a time-out can come after the transaction was passed on.
 */
const REFUSALS = new Set([-32_700, -32_600, -32_601, -32_602, -32_000, -32_003, -32_004, -32_005, -32_006, 429]);

/** Hands over a transaction; a second time where the first answer is unclear. Never rejects. */
export async function broadcast(client: RpcClient, serializedTransaction: Hex): Promise<Delivery> {
  const first = await handOver(client, serializedTransaction);
  if (first.kind !== "unclear") return first;
  const second = await handOver(client, serializedTransaction);
  // Only a yes settles it: a no to the second can be because of the first.
  return second.kind === "out" ? second : first;
}

async function handOver(client: RpcClient, serializedTransaction: Hex): Promise<Delivery> {
  try {
    await client.sendRawTransaction({ serializedTransaction });
    return { kind: "out" };
  } catch (error) {
    return judge(error);
  }
}

function judge(error: unknown): Delivery {
  const said = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  if (!(said instanceof RpcRequestError)) return { kind: "unclear" };
  if (KNOWN.test(said.details)) return { kind: "out" };
  if (COUNT_TAKEN.test(said.details)) return { kind: "count-taken", error };
  if (!REFUSALS.has(said.code) || /timed?[ -]?out/i.test(said.details)) return { kind: "unclear" };
  return { kind: "refused", error };
}
