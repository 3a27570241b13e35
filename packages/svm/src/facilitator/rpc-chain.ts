/**
 * A chain over JSON-RPC, with `@solana/web3.js`. Requests go through Farebox's own RPC client: each has a deadline, responses
 * are bounded, redirects are not followed, and no error quotes the URL or the node.
 *
 * @module
 */
import { FareboxError, RpcError, type RpcNode } from "@farebox/core";
import { ChainError, healthOf, SentTransactions, type Simulation, untilPassed } from "@farebox/core/facilitator";
import { legible, SIGNATURE_BYTES } from "@farebox/core/scheme";
import { Connection, PublicKey, VersionedTransaction } from "@solana/web3.js";
import { encodeBase58 } from "../address.js";
import { networkOf, type SvmNetwork } from "../networks.js";
import type { BookGas, ChainHealth, PayerSigned, SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
import { type ParsedRpcOptions, parseRpcOptions, type RpcSvmChainOptions } from "./rpc-options.js";
import { signAs } from "./signer.js";

/**
 * Creates a chain over JSON-RPC, with one account that pays for transactions. The node is not asked before the first use.
 * Then the hash of its first block is compared with `network` first.
 *
 * @throws ConfigError with every issue at once. It quotes neither the key nor the URL.
 */
export function createRpcSvmChain(options: RpcSvmChainOptions): SvmChain {
  return new RpcSvmChain(parseRpcOptions(options));
}

/** A transaction that was sent. */
interface Sent {
  readonly wire: Buffer;
  readonly blockhash: string;
  /** A slot at which the blockhash was valid. */
  readonly slot: number;
  /** Corrects the booking of its fee. */
  correct(cost: bigint): void;
}

/** The node's view of a transaction, as of a slot. `depth` is `none` if it does not know the transaction. */
interface Status {
  readonly slot: number;
  readonly depth: "none" | "processed" | "confirmed" | "finalized";
  readonly failed: boolean;
}

class RpcSvmChain implements SvmChain {
  readonly network: SvmNetwork;
  readonly feePayer: string;
  readonly #options: ParsedRpcOptions;
  readonly #connection: Connection;
  readonly #checkNetwork: () => Promise<void>;
  readonly #sent: SentTransactions<Sent>;
  #book: BookGas = () => () => {};

  constructor(options: ParsedRpcOptions) {
    this.network = options.network;
    this.feePayer = options.signer.address;
    this.#options = options;
    this.#connection = connect(options.rpc);
    this.#checkNetwork = untilPassed(() => this.#compareNetwork());
    // The transaction was simulated before, so the node need not do it again.
    const sending = { skipPreflight: true, maxRetries: 0 };
    this.#sent = new SentTransactions(options.times, ({ wire }) =>
      this.#ask("sendTransaction", (connection) => connection.sendRawTransaction(wire, sending)),
    );
  }

  async readAccounts(addresses: readonly string[]): Promise<readonly (SvmAccount | undefined)[]> {
    const method = "getMultipleAccounts";
    const keys = addresses.map((address) => new PublicKey(address));
    const ask = (connection: Connection) => connection.getMultipleAccountsInfoAndContext(keys, "confirmed");
    const { value } = await this.#ask(method, ask);
    if (value.length !== addresses.length) throw unreadable(method);
    return value.map((account) => (account === null ? undefined : toAccount(account.owner, account.data)));
  }

  async simulate(transaction: PayerSigned): Promise<Simulation> {
    const unsigned = toVersioned(toWire(Buffer.alloc(SIGNATURE_BYTES), transaction));
    const options = { sigVerify: false, replaceRecentBlockhash: false, commitment: "confirmed" } as const;
    const { value } = await this.#ask("simulateTransaction", (connection) =>
      connection.simulateTransaction(unsigned, options),
    );
    return value.err === null ? { ok: true } : { ok: false, problem: legible(JSON.stringify(value.err)) };
  }

  async signatureOf({ message }: PayerSigned): Promise<string> {
    return encodeBase58(await signAs(this.#options.signer, message));
  }

  async statusOf(signature: string): Promise<"confirmed" | "failed" | "pending"> {
    const { depth, failed } = await this.#readStatus(signature);
    const isDeep = depth === "finalized" || depth === this.#options.commitment;
    if (!isDeep) return "pending";
    return failed ? "failed" : "confirmed";
  }

  async submit(transaction: PayerSigned): Promise<string> {
    const { blockhash, message, feeLamports } = transaction;
    const { isValid, slot } = await this.#readBlockhashValidity(blockhash, 0);
    if (!isValid) throw new ChainError("the transaction's blockhash has expired");
    const correct = this.#book(feeLamports);
    if (correct === undefined) throw new ChainError("the gas budget of this hour is used up");
    try {
      const signature = await signAs(this.#options.signer, message);
      const name = encodeBase58(signature);
      await this.#sent.send(name, { wire: toWire(signature, transaction), blockhash, slot, correct });
      return name;
    } catch (error) {
      correct(0n);
      throw error;
    }
  }

  async outcomeOf(signature: string): Promise<TransactionOutcome> {
    const outcome = await this.#sent.outcomeOf(signature, () => this.statusOf(signature));
    if (outcome !== "pending" || !(await this.#isDropped(signature).catch(() => false))) return outcome;
    this.#sent.find(signature)?.correct(0n);
    this.#sent.forget(signature);
    return "dropped";
  }

  meterGas(book: BookGas): void {
    this.#book = book;
  }

  async health(): Promise<ChainHealth> {
    let balance: string | undefined;
    const health = await healthOf(this.feePayer, async () => {
      const payer = new PublicKey(this.feePayer);
      const ask = (connection: Connection) => connection.getBalanceAndContext(payer, "confirmed");
      const { value } = await this.#ask("getBalance", ask);
      balance = String(value);
      return value;
    });
    return balance === undefined ? health : { ...health, balance };
  }

  /** Whether a node that had seen the blockhash now rejects it, and at a later slot does not know the transaction. */
  async #isDropped(signature: string): Promise<boolean> {
    const sent = this.#sent.find(signature);
    if (sent === undefined) return false;
    const { isValid, slot } = await this.#readBlockhashValidity(sent.blockhash, sent.slot);
    if (isValid) return false;
    const status = await this.#readStatus(signature);
    return status.depth === "none" && status.slot >= slot;
  }

  /** Whether transactions with a blockhash are still accepted, as of a slot. */
  async #readBlockhashValidity(
    blockhash: string,
    minContextSlot: number,
  ): Promise<{ readonly isValid: boolean; readonly slot: number }> {
    const method = "isBlockhashValid";
    const { context, value } = await this.#ask(method, (connection) =>
      connection.isBlockhashValid(blockhash, { commitment: "confirmed", minContextSlot }),
    );
    if (!Number.isSafeInteger(context.slot) || context.slot < minContextSlot) throw unreadable(method);
    return { isValid: value, slot: context.slot };
  }

  async #readStatus(signature: string): Promise<Status> {
    const method = "getSignatureStatuses";
    const { context, value } = await this.#ask(method, (connection) =>
      connection.getSignatureStatuses([signature], { searchTransactionHistory: true }),
    );
    const [status] = value;
    if (status === undefined || value.length !== 1) throw unreadable(method);
    if (status === null) return { slot: context.slot, depth: "none", failed: false };
    const { confirmationStatus: depth, err } = status;
    if (depth === undefined) throw unreadable(method);
    return { slot: context.slot, depth, failed: err !== null };
  }

  async #ask<T>(method: string, ask: (connection: Connection) => Promise<T>): Promise<T> {
    await this.#checkNetwork();
    return askSafely(method, () => ask(this.#connection));
  }

  async #compareNetwork(): Promise<void> {
    const method = "getGenesisHash";
    const network = networkOf(await askSafely(method, () => this.#connection.getGenesisHash()));
    if (network === undefined) throw unreadable(method);
    if (network !== this.network) throw new ChainError(`the RPC URL is of ${network}, not of ${this.network}`);
  }
}

/** The library's own transport has no deadline and no bound, and its errors quote the node. So it never learns the URL. */
function connect(rpc: RpcNode): Connection {
  const send: typeof fetch = async (_url, init) => {
    const { id, method, params } = JSON.parse(String(init?.body));
    const result = await rpc.call(method, params);
    return new Response(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  return new Connection("http://node.invalid", { fetch: send, httpAgent: false, disableRetryOnRateLimit: true });
}

/** The library's errors quote the node's response. Only our own errors pass. */
async function askSafely<T>(method: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof FareboxError ? error : unreadable(method);
  }
}

function unreadable(method: string): RpcError {
  return new RpcError(`node's response to ${method} is unreadable`, "unreadable");
}

function toAccount(owner: PublicKey, data: Uint8Array): SvmAccount {
  return { owner: owner.toBase58(), data };
}

/** The wire form: the number of signatures, the fee payer's signature, the payer's, the message. */
function toWire(feePayerSignature: Uint8Array, { message, payerSignature }: PayerSigned): Buffer {
  return Buffer.concat([Buffer.of(2), feePayerSignature, payerSignature, message]);
}

/** The library serializes a transaction again to simulate it. Those bytes must be the ones that will be sent. */
function toVersioned(wire: Buffer): VersionedTransaction {
  try {
    const transaction = VersionedTransaction.deserialize(wire);
    if (wire.equals(transaction.serialize())) return transaction;
  } catch {
    // Reported below.
  }
  throw new ChainError("the transaction is not in its canonical form");
}
