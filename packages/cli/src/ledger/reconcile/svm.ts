/**
 * Transfers to payees on Solana: the transactions of their token accounts, and what each changed.
 *
 * @see Solana documentation, "JSON-RPC HTTP Methods"
 * @module
 */
import type { RpcNode } from "@farebox/core";
import { isJsonObject, type JsonObject } from "@farebox/core/protocol";
import { tokenAccountOf } from "@farebox/svm";
import { CliError } from "../../frame/cli-error.js";
import type { Search } from "./evm.js";
import type { ChainView, Fate, Transfer } from "./transfers.js";

const TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const PAGE = 1_000;

/** Looks at the chain. @throws CliError if the node is of another chain, or cannot be used */
export async function viewSvm(search: Search): Promise<ChainView> {
  const { network, rpc, assets, payees } = search;
  const genesis = await rpc.call("getGenesisHash", []);
  if (typeof genesis !== "string" || !genesis.startsWith(network.slice("solana:".length))) {
    throw new CliError(
      "FAREBOX_CLI_NODE",
      `the node for ${network} is of another chain`,
      "Name a node of this network",
    );
  }
  const transfers: Transfer[] = [];
  for (const asset of assets) {
    const program = await programOf(rpc, asset);
    for (const payee of payees) {
      const account = tokenAccountOf(payee, asset, program);
      for await (const signature of signaturesOf(search, account)) {
        const transfer = toTransfer(await readTransaction(rpc, signature), {
          network,
          asset,
          payee,
          account,
          signature,
        });
        if (transfer !== undefined) transfers.push(transfer);
      }
    }
  }
  return { transfers, fateOf: (transaction) => fateOf(rpc, transaction) };
}

async function programOf(rpc: RpcNode, mint: string): Promise<"token" | "token-2022"> {
  const found = await rpc.call("getAccountInfo", [mint, { encoding: "base64" }]);
  const account = isJsonObject(found) ? found["value"] : undefined;
  return isJsonObject(account) && account["owner"] === TOKEN_2022 ? "token-2022" : "token";
}

/** The successful transactions of an account around that time, the newest first. */
async function* signaturesOf({ rpc, sinceMs, untilMs }: Search, account: string): AsyncGenerator<string, void> {
  for (let before: string | undefined; ; ) {
    const page = await readHistory(rpc, account, before);
    for (const { signature, atMs, isFailed } of page) {
      if (atMs !== undefined && atMs < sinceMs) return;
      if (!isFailed && !(atMs !== undefined && atMs >= untilMs)) yield signature;
    }
    const last = page.at(-1)?.signature;
    if (page.length < PAGE || last === before) return;
    before = last;
  }
}

interface PastTransaction {
  readonly signature: string;
  readonly atMs: number | undefined;
  readonly isFailed: boolean;
}

async function readHistory(
  rpc: RpcNode,
  account: string,
  before: string | undefined,
): Promise<readonly PastTransaction[]> {
  const options = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  const page = await rpc.call("getSignaturesForAddress", [account, options]);
  if (!Array.isArray(page)) throw unreadable("getSignaturesForAddress");
  return page.map((each: unknown) => {
    if (!isJsonObject(each) || typeof each["signature"] !== "string") throw unreadable("getSignaturesForAddress");
    const { signature, blockTime, err } = each;
    const atMs = typeof blockTime === "number" ? blockTime * 1000 : undefined;
    return { signature: String(signature), atMs, isFailed: err !== null };
  });
}

async function readTransaction(rpc: RpcNode, signature: string): Promise<JsonObject> {
  const options = { encoding: "json", maxSupportedTransactionVersion: 0, commitment: "confirmed" };
  const found = await rpc.call("getTransaction", [signature, options]);
  if (!isJsonObject(found)) throw unreadable("getTransaction");
  return found;
}

interface Place {
  readonly network: string;
  readonly asset: string;
  readonly payee: string;
  readonly account: string;
  readonly signature: string;
}

/** What the payee's token account has more; `undefined`: nothing. */
function toTransfer({ meta, transaction, blockTime }: JsonObject, place: Place): Transfer | undefined {
  const message = isJsonObject(transaction) ? transaction["message"] : undefined;
  const changes = changesOf(meta, place.asset);
  const keys = isJsonObject(message) && Array.isArray(message["accountKeys"]) ? message["accountKeys"] : [];
  const own = changes.get(keys.indexOf(place.account));
  if (own === undefined || own.change <= 0n) return undefined;
  const givers = [...changes.values()].filter(({ change }) => change < 0n);
  return {
    network: place.network,
    asset: place.asset,
    from: givers.length === 1 ? givers[0]?.owner : undefined,
    to: place.payee,
    amount: own.change,
    transaction: place.signature,
    atMs: typeof blockTime === "number" ? blockTime * 1000 : undefined,
  };
}

/** How the balances of a token changed, by the index of the account. */
function changesOf(
  meta: unknown,
  mint: string,
): ReadonlyMap<number, { readonly owner: string; readonly change: bigint }> {
  const changes = new Map<number, { readonly owner: string; readonly change: bigint }>();
  const add = (balances: unknown, sign: bigint) => {
    for (const each of Array.isArray(balances) ? balances : []) {
      if (!isJsonObject(each) || each["mint"] !== mint) continue;
      const { accountIndex, owner, uiTokenAmount } = each;
      const amount = isJsonObject(uiTokenAmount) ? uiTokenAmount["amount"] : undefined;
      if (typeof accountIndex !== "number" || typeof amount !== "string") throw unreadable("getTransaction");
      const before = changes.get(accountIndex)?.change ?? 0n;
      changes.set(accountIndex, { owner: String(owner), change: before + sign * BigInt(amount) });
    }
  };
  const { preTokenBalances, postTokenBalances } = isJsonObject(meta) ? meta : {};
  add(preTokenBalances, -1n);
  add(postTokenBalances, 1n);
  return changes;
}

async function fateOf(rpc: RpcNode, transaction: string): Promise<Fate> {
  if (!/^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(transaction)) return "absent";
  const found = await rpc.call("getSignatureStatuses", [[transaction], { searchTransactionHistory: true }]);
  const [status] = isJsonObject(found) && Array.isArray(found["value"]) ? found["value"] : [];
  if (!isJsonObject(status)) return "absent";
  return status["err"] === null ? "succeeded" : "failed";
}

function unreadable(method: string): CliError {
  return new CliError("FAREBOX_CLI_NODE", `the node's response to ${method} is unreadable`, "Name another node");
}
