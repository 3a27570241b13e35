/**
 * Sends transactions of one account, one after the other, so that each gets the count that is its own.
 *
 * @module
 */
import { type Hash, type Hex, keccak256, TransactionNotFoundError } from "viem";
import { broadcast } from "./broadcast.js";
import { ChainError, toChainError } from "./chain-error.js";
import { type Call, type Costs, estimateCosts } from "./costs.js";
import type { ParsedRpcOptions } from "./rpc-options.js";

/** Sends calls. */
export interface Sender {
  /**
   * Sends a call. Once it resolves, the transaction is out, or may be.
   *
   * @throws {@link ChainError} when provably nothing was broadcast
   */
  send(call: Call): Promise<Hash>;
  /**
   * Hands over a transaction again that is not on chain: a node may never have got it, or have lost it. `dropped`: it
   * cannot get there any more, because another one of the account has its count. Never rejects.
   */
  sendAgain(transaction: Hash): Promise<"pending" | "dropped">;
  /**
   * Whether another transaction seems to have taken the count of one that was sent here: the account's count on chain is
   * past it, and the node does not know it. Nodes that disagree can make it seem so. Never rejects.
   */
  isCrowdedOut(transaction: Hash): Promise<boolean>;
  /** Says that a transaction is on chain. */
  forget(transaction: Hash): void;
}

/** Creates a sender. */
export function createSender(options: ParsedRpcOptions): Sender {
  return new AccountSender(options);
}

/** A transaction that is not known to be on chain. */
interface Waiting {
  readonly serialized: Hex;
  readonly count: number;
}

/** How often another count is tried when somebody else uses the account at the same time. */
const MAX_TRIES = 16;

/** The oldest are forgotten first. */
const MAX_WAITING = 10_000;

class AccountSender implements Sender {
  readonly #options: ParsedRpcOptions;
  readonly #waiting = new Map<Hash, Waiting>();
  #turn: Promise<unknown> = Promise.resolve();
  /** The count of the next transaction; `undefined` when the node has to be asked. */
  #next: number | undefined;

  constructor(options: ParsedRpcOptions) {
    this.#options = options;
  }

  async send(call: Call): Promise<Hash> {
    try {
      const costs = await estimateCosts(this.#options, call);
      const sent = this.#turn.then(() => this.#sendInTurn(call, costs));
      this.#turn = sent.catch(() => {});
      return await sent;
    } catch (error) {
      throw toChainError(error);
    }
  }

  async sendAgain(transaction: Hash): Promise<"pending" | "dropped"> {
    const waiting = this.#waiting.get(transaction);
    if (waiting === undefined) return "pending";
    const delivery = await broadcast(this.#options.client, waiting.serialized);
    // It is kept, for others may wait for it too, and have to hear the same.
    return delivery.kind === "count-taken" && (await this.isCrowdedOut(transaction)) ? "dropped" : "pending";
  }

  async isCrowdedOut(transaction: Hash): Promise<boolean> {
    const count = this.#waiting.get(transaction)?.count;
    // The count comes first: what is mined between the two questions is known by the second.
    return count !== undefined && (await this.#isMined(count)) && !(await this.#mayBeKnown(transaction));
  }

  forget(transaction: Hash): void {
    this.#waiting.delete(transaction);
  }

  async #sendInTurn(call: Call, costs: Costs): Promise<Hash> {
    for (let tries = 1; ; tries++) {
      const count = await this.#takeCount();
      const serialized = await this.#sign(call, costs, count);
      const transaction = keccak256(serialized);
      const delivery = await broadcast(this.#options.client, serialized);
      switch (delivery.kind) {
        case "out":
          this.#next = count + 1;
          return this.#wait(transaction, { serialized, count });
        case "unclear":
          // The node is asked for the next count, since it alone knows whether this one is taken.
          return this.#wait(transaction, { serialized, count });
        case "count-taken":
          // By somebody else; or by this very transaction, handed over twice on the way.
          if (await this.#mayBeKnown(transaction)) return this.#wait(transaction, { serialized, count });
          if (tries >= MAX_TRIES) throw new ChainError("other users of the account keep taking its counts");
          break;
        case "refused":
          throw delivery.error;
        default:
          delivery satisfies never;
      }
    }
  }

  /** Whatever goes wrong from here on, the node is asked next time, so that no gap can arise. */
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
