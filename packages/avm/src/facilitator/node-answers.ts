/**
 * What a facilitator asks a node. No answer is believed to have the form it should have.
 *
 * @see Algorand documentation, "algod REST API"
 * @module
 */
import { isJsonObject, type JsonObject, legible } from "@farebox/core";
import {
  holdingPath,
  type NodeState,
  readCount,
  readNodeState,
  STATE_PATH,
  transactionPath,
} from "../node/read-answers.js";
import type { AlgodClient } from "./algod-client.js";
import type { AvmHolding, Simulation } from "./chain.js";
import { ChainError } from "./chain-error.js";

/** The node's network and last round, in one answer. */
export async function readState(client: AlgodClient): Promise<NodeState> {
  return readNodeState(await found(client, STATE_PATH)) ?? fail();
}

/** What an account has of an asset; `undefined` when it has not opted in. */
export async function readHolding(
  client: AlgodClient,
  { address, asset }: { readonly address: string; readonly asset: bigint },
): Promise<AvmHolding | undefined> {
  const answer = await client.get(holdingPath(address, asset));
  if (answer === undefined) return undefined;
  const holding = answer["asset-holding"];
  if (holding === undefined) return undefined;
  return { amount: count(isJsonObject(holding) ? holding["amount"] : undefined) };
}

/** What an account has above what it has to keep, in millionths of an Algo. */
export async function readBalance(client: AlgodClient, address: string): Promise<bigint> {
  const { amount, "min-balance": kept } = await found(client, `/v2/accounts/${address}?format=json&exclude=all`);
  return count(amount) - count(kept);
}

/** Tries a group, whatever signatures it lacks. */
export async function simulate(client: AlgodClient, request: Uint8Array): Promise<Simulation> {
  const { "txn-groups": groups } = await client.post("/v2/transactions/simulate?format=json", request);
  const [group, ...others]: readonly unknown[] = Array.isArray(groups) ? groups : [];
  if (!isJsonObject(group) || others.length > 0 || !Array.isArray(group["txn-results"])) throw nonsense();
  const { "failure-message": problem } = group;
  if (problem === undefined || problem === "") return { ok: true };
  if (typeof problem !== "string") throw nonsense();
  return { ok: false, problem: legible(problem) };
}

/** Whether a transaction is on chain, as far as the node remembers: 1000 rounds. */
export async function isConfirmed(client: AlgodClient, id: string): Promise<boolean> {
  const answer = await client.get(transactionPath(id));
  const round = answer?.["confirmed-round"];
  return round !== undefined && count(round) > 0n;
}

async function found(client: AlgodClient, path: string): Promise<JsonObject> {
  const answer = await client.get(path);
  if (answer === undefined) throw new ChainError("the node answered with status 404");
  return answer;
}

function count(value: unknown): bigint {
  return readCount(value) ?? fail();
}

function fail(): never {
  throw nonsense();
}

function nonsense(): ChainError {
  return new ChainError("the node's answer is none to what it was asked");
}
