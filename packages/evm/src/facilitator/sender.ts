/**
 * Sends the transactions of one account, one after the other, so that each gets its own nonce, and waits for receipts.
 *
 * A nonce of the account is called its count here, because payments have nonces too.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  BaseError,
  keccak256,
  RpcRequestError,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { type Address, type BookGas, ChainError, type Hash, type Hex, toChainError } from "./chain.js";
import type { ParsedRpcOptions, RpcClient } from "./rpc-options.js";

/** A call of a contract. */
export interface Call {
  readonly to: Address;
  readonly data: Hex;
  /** Wei that go with it. Default 0. */
  readonly value?: bigint;
}

/** Sends calls. */
export interface Sender {
  /**
   * Sends a call. When it resolves, the transaction is out, or may be.
   *
   * @throws {@link ChainError} if provably nothing was broadcast
   */
  send(call: Call): Promise<Hash>;
  /**
   * Sends a transaction again that is not on chain: the node may never have received it, or have lost it. `dropped`: it can
   * no longer get there, because another transaction of the account has its count. Never rejects.
   */
  sendAgain(transaction: Hash): Promise<"pending" | "dropped">;
  /**
   * Whether another transaction seems to have taken the count of one that was sent here: the account's count on chain is
   * past it, and the node does not know it. Nodes that disagree can make it seem so. Never rejects.
   */
  isCrowdedOut(transaction: Hash): Promise<boolean>;
  /** Forgets a transaction that is on chain, and books its cost. */
  forget(transaction: Hash, receipt: TransactionReceipt): void;
  /** Sets whom it asks before it signs. Without one, it signs everything. */
  meterGas(book: BookGas): void;
}

/** Creates a sender. */
export function createSender(options: ParsedRpcOptions): Sender {
  return new AccountSender(options);
}

/** A transaction that is not known to be on chain. */
interface Waiting {
  readonly serialized: Hex;
  readonly count: number;
  /** Corrects the booking of its gas. */
  paid(receipt: TransactionReceipt): void;
}

/** How often another count is tried when another process uses the account at the same time. */
const MAX_TRIES = 16;

/** The oldest are forgotten first. */
const MAX_WAITING = 10_000;

class AccountSender implements Sender {
  readonly #options: ParsedRpcOptions;
  readonly #waiting = new Map<Hash, Waiting>();
  #turn: Promise<unknown> = Promise.resolve();
  /** The count of the next transaction; `undefined` when the node has to be asked. */
  #next: number | undefined;
  #book: BookGas = () => () => {};

  constructor(options: ParsedRpcOptions) {
    this.#options = options;
  }

  async send(call: Call): Promise<Hash> {
    try {
      const costs = await estimateCosts(this.#options, call);
      const correct = this.#book(mostOf(costs, call));
      if (correct === undefined) throw new ChainError("the gas budget of this hour is used up");
      const paid = (receipt: TransactionReceipt) => correct(costOf(receipt, call));
      const sent = this.#turn.then(() => this.#sendInTurn(call, costs, paid));
      this.#turn = sent.catch(() => correct(0n));
      return await sent;
    } catch (error) {
      throw toChainError(error);
    }
  }

  async #sendInTurn(call: Call, costs: Costs, paid: Waiting["paid"]): Promise<Hash> {
    for (let tries = 1; ; tries++) {
      const count = await this.#takeCount();
      const serialized = await this.#sign(call, costs, count);
      const transaction = keccak256(serialized);
      const delivery = await broadcast(this.#options.client, serialized);
      switch (delivery.kind) {
        case "out":
          this.#next = count + 1;
          return this.#wait(transaction, { serialized, count, paid });
        case "unclear":
          // The next count is asked from the node, since only the node knows whether this one is taken.
          return this.#wait(transaction, { serialized, count, paid });
        case "count-taken":
          // By another process; or by this very transaction, handed over twice on the way.
          if (await this.#mayBeKnown(transaction)) return this.#wait(transaction, { serialized, count, paid });
          if (tries >= MAX_TRIES) throw new ChainError("other users of the account keep taking its counts");
          break;
        case "refused":
          throw delivery.error;
        default:
          delivery satisfies never;
      }
    }
  }

  /** If anything fails after this, the node is asked for the next count, so that no gap can arise. */
  async #takeCount(): Promise<number> {
    const { client, account } = this.#options;
    const count = this.#next ?? (await client.getTransactionCount({ address: account.address, blockTag: "pending" }));
    this.#next = undefined;
    return count;
  }

  #sign({ to, data, value = 0n }: Call, { gas, fees }: Costs, nonce: number): Promise<Hex> {
    const { account, chainId } = this.#options;
    return account.signTransaction({ chainId, to, data, value, nonce, gas, ...fees });
  }

  #wait(transaction: Hash, waiting: Waiting): Hash {
    this.#waiting.set(transaction, waiting);
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size > MAX_WAITING) this.#waiting.delete(oldest);
    return transaction;
  }

  async sendAgain(transaction: Hash): Promise<"pending" | "dropped"> {
    const waiting = this.#waiting.get(transaction);
    if (waiting === undefined) return "pending";
    const delivery = await broadcast(this.#options.client, waiting.serialized);
    // The transaction is kept: other callers may wait for it too, and must get the same outcome.
    return delivery.kind === "count-taken" && (await this.isCrowdedOut(transaction)) ? "dropped" : "pending";
  }

  async isCrowdedOut(transaction: Hash): Promise<boolean> {
    const count = this.#waiting.get(transaction)?.count;
    // The count comes first: the second question covers a transaction that is mined between the two.
    return count !== undefined && (await this.#isMined(count)) && !(await this.#mayBeKnown(transaction));
  }

  forget(transaction: Hash, receipt: TransactionReceipt): void {
    this.#waiting.get(transaction)?.paid(receipt);
    this.#waiting.delete(transaction);
  }

  meterGas(book: BookGas): void {
    this.#book = book;
  }

  async #mayBeKnown(hash: Hash): Promise<boolean> {
    try {
      await this.#options.client.getTransaction({ hash });
      return true;
    } catch (error) {
      return !(error instanceof TransactionNotFoundError);
    }
  }

  async #isMined(count: number): Promise<boolean> {
    const { client, account } = this.#options;
    try {
      return (await client.getTransactionCount({ address: account.address, blockTag: "latest" })) > count;
    } catch {
      return false;
    }
  }
}

/** The limits of one transaction. */
interface Costs {
  readonly gas: bigint;
  readonly fees:
    | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
    | { readonly type: "legacy"; readonly gasPrice: bigint };
}

/** The most that a call can cost, without what a rollup takes for its data. */
function mostOf({ gas, fees }: Costs, { value = 0n }: Call): bigint {
  return gas * (fees.type === "eip1559" ? fees.maxFeePerGas : fees.gasPrice) + value;
}

/** Rollups of the OP Stack add what they pay to the chain below. */
function costOf(receipt: TransactionReceipt & { readonly l1Fee?: unknown }, { value = 0n }: Call): bigint {
  const { gasUsed, effectiveGasPrice, status, l1Fee } = receipt;
  const dataFee =
    typeof l1Fee === "bigint" || (typeof l1Fee === "string" && /^0x[\da-f]{1,64}$/i.test(l1Fee)) ? l1Fee : 0;
  return gasUsed * effectiveGasPrice + BigInt(dataFee) + (status === "success" ? value : 0n);
}

/**
 * Asks the node for the costs of a call.
 *
 * @throws {@link ChainError} if it takes more gas than `maxGas`. The request names the token, and a hostile contract could
 *   burn the signer's money.
 */
async function estimateCosts({ client, account, maxGas }: ParsedRpcOptions, call: Call): Promise<Costs> {
  const [estimated, { baseFeePerGas }] = await Promise.all([
    client.estimateGas({ account, ...call }),
    client.getBlock({ blockTag: "latest" }),
  ]);
  // A fifth more than estimated: storage may change between the estimate and the block.
  const gas = estimated + estimated / 5n;
  if (gas > maxGas) throw new ChainError(`the transfer takes ${gas} gas, and maxGas is ${maxGas}`);
  if (baseFeePerGas === null) return { gas, fees: { type: "legacy", gasPrice: await client.getGasPrice() } };
  const maxPriorityFeePerGas = await client.estimateMaxPriorityFeePerGas();
  // Twice the base fee lasts for six full blocks in a row. The signer pays only the fee of the block.
  const maxFeePerGas = baseFeePerGas * 2n + maxPriorityFeePerGas;
  return { gas, fees: { type: "eip1559", maxFeePerGas, maxPriorityFeePerGas } };
}

/**
 * The meaning of a node's response to a transaction.
 *
 * - `out`: the node has the transaction.
 * - `unclear`: the node may have it. Its response was lost, or says nothing definite.
 * - `count-taken`: the node knows another transaction of the account with the same count, or it knows this one.
 * - `refused`: the node does not accept it.
 */
export type Delivery =
  | { readonly kind: "out" | "unclear" }
  | { readonly kind: "count-taken" | "refused"; readonly error: unknown };

/** Messages by which a node says that it has this very transaction. */
const KNOWN =
  /already ?known|already (?:been )?imported|already_exists|known transaction|already in (?:the )?(?:mem)?pool/i;

/** Messages by which a node says that the count is used, or waits in its pool. */
const COUNT_TAKEN =
  /nonce (?:is )?too low|old ?nonce|nonce (?:has )?already (?:been )?used|replacement transaction underpriced/i;

/**
 * Codes of a definite refusal: bad request, unknown method, bad parameters, not accepted, over the limit. An internal error
 * (-32603) or a time-out is not definite: it can come after the node passed the transaction on.
 */
const REFUSALS = new Set([-32_700, -32_600, -32_601, -32_602, -32_000, -32_003, -32_004, -32_005, -32_006, 429]);

/**
 * Hands a signed transaction to a node; a second time if the first response is unclear. Never rejects. May be called again
 * with the same bytes: they are one transaction.
 */
export async function broadcast(client: RpcClient, serializedTransaction: Hex): Promise<Delivery> {
  const first = await handOver(client, serializedTransaction);
  if (first.kind !== "unclear") return first;
  const second = await handOver(client, serializedTransaction);
  // Only a yes is definite: a no to the second can be because of the first.
  return second.kind === "out" ? second : first;
}

async function handOver(client: RpcClient, serializedTransaction: Hex): Promise<Delivery> {
  try {
    await client.sendRawTransaction({ serializedTransaction });
    return { kind: "out" };
  } catch (error) {
    const said = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
    if (!(said instanceof RpcRequestError)) return { kind: "unclear" };
    if (KNOWN.test(said.details)) return { kind: "out" };
    if (COUNT_TAKEN.test(said.details)) return { kind: "count-taken", error };
    if (!REFUSALS.has(said.code) || /timed?[ -]?out/i.test(said.details)) return { kind: "unclear" };
    return { kind: "refused", error };
  }
}

/** A transaction counts as crowded out after so many signs in a row: behind one URL can be nodes of which one lags. */
const SIGNS = 2;

/**
 * Waits until a transaction is on chain, as deep as `confirmations` says, for at most `receiptTimeoutMs`. Ends early if
 * another transaction has clearly taken its place. `undefined` when the time is over. Never rejects.
 *
 * The receipt is fetched anew each time, because a block can be removed from the chain. Only the receipt of this very
 * transaction counts: a replacement with the same count is another transaction, and pays nothing.
 *
 * @param isCrowdedOut - Whether the transaction looks crowded out now. Never rejects. It is asked only if there is no
 *   receipt, but not after the first look, which comes before the next block, nor when no time is left to use the result.
 */
export async function waitForReceipt(
  options: ParsedRpcOptions,
  transaction: Hash,
  isCrowdedOut?: () => Promise<boolean>,
): Promise<TransactionReceipt | "crowded-out" | undefined> {
  const { receiptTimeoutMs, pollingIntervalMs } = options;
  const deadline = performance.now() + receiptTimeoutMs;
  for (let looks = 1, signs = 0; ; looks++) {
    const seen = await look(options, transaction);
    if (typeof seen === "object") return seen;
    const left = deadline - performance.now();
    if (left <= 0) return undefined;
    const isAsked = seen === "none" && looks > 1 && left > pollingIntervalMs;
    signs = isAsked && (await isCrowdedOut?.()) ? signs + 1 : 0;
    if (signs === SIGNS) return "crowded-out";
    await sleep(Math.min(pollingIntervalMs, left));
  }
}

/** `unclear`: the transaction is not deep enough, or the node does not say. */
async function look(
  { client, confirmations }: ParsedRpcOptions,
  hash: Hash,
): Promise<TransactionReceipt | "none" | "unclear"> {
  try {
    const receipt = await client.getTransactionReceipt({ hash });
    if (confirmations === 1) return receipt;
    const head = await client.getBlockNumber({ cacheTime: 0 });
    return head - receipt.blockNumber + 1n >= BigInt(confirmations) ? receipt : "unclear";
  } catch (error) {
    return error instanceof TransactionReceiptNotFoundError ? "none" : "unclear";
  }
}
