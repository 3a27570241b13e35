/**
 * What a facilitator asks a node. No answer is believed to have the form it should have.
 *
 * @see Solana documentation, "JSON-RPC HTTP Methods"
 * @module
 */
import { isJsonObject, type JsonObject, legible } from "@farebox/core";
import { type Ask, nonsense, readContextual } from "../exact/node-questions.js";
import type { Simulation, SvmAccount } from "./chain.js";

/** Some accounts, in their order. */
export async function readAccounts(
  ask: Ask,
  addresses: readonly string[],
): Promise<readonly (SvmAccount | undefined)[]> {
  const method = "getMultipleAccounts";
  const options = { encoding: "base64", commitment: "confirmed" };
  const { value } = readContextual(method, await ask(method, [addresses, options]));
  if (!Array.isArray(value) || value.length !== addresses.length) throw nonsense(method);
  return value.map((account) => (account === null ? undefined : readAccount(method, account)));
}

function readAccount(method: string, value: unknown): SvmAccount {
  const { owner, data }: JsonObject = isJsonObject(value) ? value : {};
  const [text, encoding] = Array.isArray(data) ? data : [];
  if (typeof owner !== "string" || typeof text !== "string" || encoding !== "base64") throw nonsense(method);
  return { owner, data: Buffer.from(text, "base64") };
}

/** Tries a transaction, whatever signatures it lacks. */
export async function simulate(ask: Ask, transaction: string): Promise<Simulation> {
  const method = "simulateTransaction";
  const options = { encoding: "base64", sigVerify: false, replaceRecentBlockhash: false, commitment: "confirmed" };
  const { value } = readContextual(method, await ask(method, [transaction, options]));
  if (!isJsonObject(value) || value["err"] === undefined) throw nonsense(method);
  const { err } = value;
  return err === null ? { ok: true } : { ok: false, problem: legible(JSON.stringify(err)) };
}

/** What a node knows of a transaction, as of a slot. `depth` is `none` where it knows nothing. */
export interface Status {
  readonly slot: number;
  readonly depth: "none" | "processed" | "confirmed" | "finalized";
  readonly failed: boolean;
}

const DEPTHS = ["processed", "confirmed", "finalized"] as const;

/** Asks for a transaction, however old it is. */
export async function readStatus(ask: Ask, signature: string): Promise<Status> {
  const method = "getSignatureStatuses";
  const { slot, value } = readContextual(method, await ask(method, [[signature], { searchTransactionHistory: true }]));
  if (!Array.isArray(value) || value.length !== 1) throw nonsense(method);
  const [status]: readonly unknown[] = value;
  if (status === null) return { slot, depth: "none", failed: false };
  const { err, confirmationStatus }: JsonObject = isJsonObject(status) ? status : {};
  const depth = DEPTHS.find((known) => known === confirmationStatus);
  if (depth === undefined || err === undefined) throw nonsense(method);
  return { slot, depth, failed: err !== null };
}

/** What an account has, in lamports, billionths of a SOL. */
export async function readBalance(ask: Ask, address: string): Promise<number> {
  const method = "getBalance";
  const { value } = readContextual(method, await ask(method, [address, { commitment: "confirmed" }]));
  if (typeof value !== "number" || !Number.isFinite(value)) throw nonsense(method);
  return value;
}
