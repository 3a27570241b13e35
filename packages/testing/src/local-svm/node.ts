/**
 * A node of the local Solana network: JSON-RPC over HTTP, as far as payments need it.
 *
 * @see Solana documentation, "JSON-RPC HTTP Methods"
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isJsonObject, parseJson } from "@farebox/core/protocol";
import type { Transaction } from "@solana/kit";
import { type Listening, listen } from "../http/listening.js";
import type { Bank } from "./bank.js";

/** The hash of devnet's first block. */
const GENESIS = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";

/** LiteSVM's own list has one entry. */
const RECENT_BLOCKHASHES = "SysvarRecentB1ockHashes11111111111111111111";

/** How the node handles transactions, see `LocalSvm`. */
export type Handling = "carry-out" | "keep" | "forget" | "lose-answer";

/** A node. */
export class LocalNode {
  handling: Handling = "carry-out";
  /** The method of each received request. */
  readonly asked: string[] = [];
  readonly #bank: Bank;
  #kept: Transaction[] = [];

  constructor(bank: Bank) {
    this.#bank = bank;
  }

  listen(port: number): Promise<Listening> {
    return listen(
      createServer((req, res) => void this.#answer(req, res)),
      port,
    );
  }

  /** Executes the kept transactions. */
  land(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const transaction of kept) this.#bank.carryOut(transaction);
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const json = parseJson(await readAll(req));
    const { id, method, params } = json.ok && isJsonObject(json.value) ? json.value : {};
    const name = String(method);
    this.asked.push(name);
    const said = this.#say(name, Array.isArray(params) ? params : []);
    if (name === "sendTransaction" && this.handling === "lose-answer") return void res.destroy();
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...said }, (_, value) =>
      typeof value === "bigint" ? Number(value) : value,
    );
    res.setHeader("content-type", "application/json").end(text);
  }

  #say(method: string, [first]: readonly unknown[]): object {
    const known = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (known === undefined) return { error: { code: -32_601, message: "Method not found" } };
    try {
      return { result: known(first) };
    } catch {
      return { error: { code: -32_602, message: "Invalid params" } };
    }
  }

  /** Each method reads only its first parameter. */
  readonly #methods: Readonly<Record<string, (first: unknown) => unknown>> = {
    getGenesisHash: () => GENESIS,
    getSlot: () => this.#bank.slot,
    getBlockHeight: () => this.#bank.slot,
    getBlockTime: () => this.#bank.svm.getClock().unixTimestamp,
    getLatestBlockhash: () =>
      this.#inContext({
        blockhash: this.#bank.svm.latestBlockhash(),
        lastValidBlockHeight: this.#bank.slot + this.#bank.blocksLeft,
      }),
    isBlockhashValid: (blockhash) => this.#inContext(blockhash === this.#bank.svm.latestBlockhash()),
    getBalance: (where) => this.#inContext(this.#bank.lamportsOf(String(where))),
    getAccountInfo: (where) => this.#inContext(this.#account(where)),
    getMultipleAccounts: (all) => this.#inContext(list(all).map((where) => this.#account(where))),
    simulateTransaction: (wire) =>
      this.#inContext({ err: this.#bank.simulate(this.#bank.decode(String(wire))), logs: [] }),
    sendTransaction: (wire) => this.#take(this.#bank.decode(String(wire))),
    getSignatureStatuses: (all) => this.#inContext(list(all).map((name) => this.#status(name))),
    getSignaturesForAddress: (where) => this.#history(String(where)),
    getTransaction: (name) => this.#transaction(name),
  };

  #inContext(value: unknown): object {
    return { context: { slot: this.#bank.slot, apiVersion: "3.0.0" }, value };
  }

  #account(where: unknown): object | null {
    const account = this.#bank.account(String(where));
    if (account === undefined) return null;
    const { executable, programAddress: owner, lamports } = account;
    const data = where === RECENT_BLOCKHASHES ? this.#bank.recentBlockhashes() : Buffer.from(account.data);
    return {
      data: [data.toString("base64"), "base64"],
      executable,
      lamports,
      owner,
      rentEpoch: 0,
      space: data.length,
    };
  }

  #take(transaction: Transaction): string {
    if (this.handling === "keep") this.#kept.push(transaction);
    else if (this.handling !== "forget") this.#bank.carryOut(transaction);
    return this.#bank.nameOf(transaction);
  }

  #status(name: unknown): object | null {
    const landed = this.#bank.landed.find(({ signature }) => signature === name);
    if (landed === undefined) return null;
    const { slot, err } = landed;
    return { slot, confirmations: null, err, confirmationStatus: "finalized" };
  }

  #transaction(name: unknown): object | null {
    const landed = this.#bank.landed.find(({ signature }) => signature === name);
    if (landed === undefined) return null;
    const { slot, err, accounts, balances, signature } = landed;
    return {
      slot,
      blockTime: null,
      meta: { err, preTokenBalances: balances.before, postTokenBalances: balances.after },
      transaction: { signatures: [signature], message: { accountKeys: accounts } },
    };
  }

  #history(where: string): readonly object[] {
    return this.#bank.landed
      .filter(({ accounts }) => accounts.includes(where))
      .map(({ signature, slot, err }) => ({ signature, slot, err, blockTime: null, confirmationStatus: "finalized" }));
  }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

async function readAll(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
