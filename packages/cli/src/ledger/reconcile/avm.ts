/**
 * Transfers to payees on Algorand, as an indexer tells them. A node alone has no history by account.
 *
 * @see Algorand documentation, "Indexer REST API"
 * @module
 */
import { RpcError, type RpcNode } from "@farebox/core";
import { canonicalNetwork, isJsonObject, type JsonObject } from "@farebox/core/protocol";
import { CliError } from "../../frame/cli-error.js";
import type { Search } from "./evm.js";
import type { ChainView, Fate, Transfer } from "./transfers.js";

/** A page of so many transactions is far below the limit on the size of a response. */
const PAGE = 100;

/** Looks at the chain. @throws CliError if the indexer is of another chain, or cannot be used */
export async function viewAvm(search: Search): Promise<ChainView> {
  const { network, rpc, assets, payees } = search;
  const genesis = await readGenesis(rpc);
  if (!genesis.startsWith(canonicalNetwork(network).slice("algorand:".length))) {
    throw new CliError(
      "FAREBOX_CLI_NODE",
      `the indexer for ${network} is of another chain`,
      "Name an indexer of this network",
    );
  }
  const transfers: Transfer[] = [];
  for (const asset of assets) {
    for (const payee of payees) {
      for (const root of await readHistory(search, payee, asset)) {
        const id = readText(root["id"]);
        const place = { network, asset, payee, transaction: id, atMs: readCount(root["round-time"]) * 1000 };
        transfers.push(...transfersIn(root, place));
      }
    }
  }
  return { transfers, fateOf: (transaction) => fateOf(rpc, transaction) };
}

/** The hash of the first block, in base64. */
async function readGenesis(rpc: RpcNode): Promise<string> {
  const health = await rpc.get("/health");
  if (!isJsonObject(health) || typeof health["round"] !== "number") {
    throw new CliError("FAREBOX_CLI_NODE", "a node of Algorand is no indexer", "Name an indexer: it knows the history");
  }
  const block = await rpc.get(`/v2/blocks/${health["round"]}?header-only=true`);
  return readText(isJsonObject(block) ? block["genesis-hash"] : undefined);
}

/** The transactions that have to do with an account and an asset around that time, each once. */
async function readHistory(
  { rpc, sinceMs, untilMs }: Search,
  account: string,
  asset: string,
): Promise<readonly JsonObject[]> {
  const found = new Map<string, JsonObject>();
  const query = new URLSearchParams({
    "asset-id": asset,
    "after-time": new Date(sinceMs).toISOString(),
    "before-time": new Date(untilMs).toISOString(),
    limit: `${PAGE}`,
  });
  for (let next: string | undefined; ; ) {
    if (next !== undefined) query.set("next", next);
    const page = await rpc.get(`/v2/accounts/${account}/transactions?${query}`);
    const transactions = isJsonObject(page) ? page["transactions"] : undefined;
    if (!Array.isArray(transactions) || !transactions.every(isJsonObject)) throw unreadable();
    for (const root of transactions) found.set(readText(root["id"]), root);
    const token = isJsonObject(page) ? page["next-token"] : undefined;
    if (transactions.length === 0 || typeof token !== "string" || token === next) return [...found.values()];
    next = token;
  }
}

interface Place {
  readonly network: string;
  readonly asset: string;
  readonly payee: string;
  readonly transaction: string;
  readonly atMs: number;
}

/** What a transaction moved to the payee, those included that a program made within it. */
function transfersIn(transaction: JsonObject, place: Place): readonly Transfer[] {
  const moved = transaction["asset-transfer-transaction"];
  const inner = transaction["inner-txns"];
  const below = (Array.isArray(inner) ? inner : []).filter(isJsonObject).flatMap((each) => transfersIn(each, place));
  if (!isJsonObject(moved) || String(moved["asset-id"]) !== place.asset) return below;
  const { network, asset, payee, atMs } = place;
  // A clawback names whose money it moves.
  const from = readText(moved["sender"] ?? transaction["sender"]);
  const to = (receiver: unknown, amount: unknown): readonly Transfer[] => {
    const units = receiver === payee ? readCount(amount ?? 0) : 0;
    if (units === 0 || from === payee) return [];
    return [{ network, asset, from, to: payee, amount: BigInt(units), transaction: place.transaction, atMs }];
  };
  return [...to(moved["receiver"], moved["amount"]), ...to(moved["close-to"], moved["close-amount"]), ...below];
}

async function fateOf(rpc: RpcNode, transaction: string): Promise<Fate> {
  if (!/^[A-Z2-7]{52}$/.test(transaction)) return "absent";
  try {
    await rpc.get(`/v2/transactions/${transaction}`);
    // A transaction that fails gets on no block.
    return "succeeded";
  } catch (error) {
    if (error instanceof RpcError && error.status === 404) return "absent";
    throw error;
  }
}

function readText(value: unknown): string {
  if (typeof value === "string") return value;
  throw unreadable();
}

/** JSON numbers are exact up to 2⁵³. */
function readCount(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw unreadable();
}

function unreadable(): CliError {
  return new CliError("FAREBOX_CLI_NODE", "the indexer's response is unreadable", "Name another indexer");
}
