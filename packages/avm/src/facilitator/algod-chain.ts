/**
 * A chain over the REST interface of a node.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FareboxError, type SchemeHealth } from "@farebox/core";
import { MAX_ROUNDS } from "../exact/payment.js";
import { type AvmNetwork, isNetworkOf } from "../networks.js";
import { SIGNED_PREFIX } from "../transaction/read-transaction.js";
import { type AlgodChainOptions, type ParsedAlgodOptions, parseAlgodOptions } from "./algod-options.js";
import type { AvmChain, AvmHolding, PayerSigned, Simulation, TransactionName, TransactionOutcome } from "./chain.js";
import { ChainError } from "./chain-error.js";
import { toSimulateRequest, toWire } from "./envelope.js";
import { isConfirmed, readBalance, readHolding, readState, simulate } from "./node-answers.js";
import { signAs } from "./signer.js";

/**
 * Creates a chain over the REST interface of a node, with one account that pays for transactions. Nothing is asked before
 * the first use; then the hash of the first block is compared with `network` first.
 *
 * @throws ConfigError with every issue at once; neither key, nor token, nor URL is ever quoted.
 */
export function createAlgodChain(options: AlgodChainOptions): AvmChain {
  return new AlgodChain(parseAlgodOptions(options));
}

/** So many rounds later no node behind is asked about the end of a transaction's rounds. */
const MARGIN = 10n;

/** Groups that are not known to be on chain; the oldest are forgotten first. */
const MAX_WAITING = 10_000;

class AlgodChain implements AvmChain {
  readonly network: AvmNetwork;
  readonly feePayer: string;
  readonly #options: ParsedAlgodOptions;
  readonly #waiting = new Map<string, Buffer>();
  #isChecked = false;

  constructor(options: ParsedAlgodOptions) {
    this.network = options.network;
    this.feePayer = options.signer.address;
    this.#options = options;
  }

  async holdingOf(address: string, asset: bigint): Promise<AvmHolding | undefined> {
    await this.#check();
    return readHolding(this.#options.client, { address, asset });
  }

  async simulate({ members }: PayerSigned): Promise<Simulation> {
    await this.#check();
    return simulate(this.#options.client, toSimulateRequest(members));
  }

  /** Asked for its round before and after: what is in none of a transaction's rounds has to be looked for in all. */
  async statusOf({ id, firstValid, lastValid }: TransactionName): Promise<TransactionOutcome> {
    const before = await this.#lastRound();
    if (await isConfirmed(this.#options.client, id)) return "confirmed";
    if (before <= lastValid + MARGIN) return "pending";
    const after = await this.#lastRound();
    return after <= firstValid + MAX_ROUNDS ? "dropped" : "forgotten";
  }

  async submit({ members, transfer }: PayerSigned): Promise<void> {
    await this.#check();
    const signed = await Promise.all(
      members.map(async ({ bytes, signature }) => ({ bytes, signature: signature ?? (await this.#sign(bytes)) })),
    );
    const wire = toWire(signed);
    this.#waiting.set(transfer.id, wire);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    await this.#handOver(wire);
  }

  async outcomeOf(transaction: TransactionName): Promise<TransactionOutcome> {
    const { confirmTimeoutMs, pollingIntervalMs } = this.#options;
    const deadline = performance.now() + confirmTimeoutMs;
    for (;;) {
      const outcome = await this.statusOf(transaction).catch(() => "pending" as const);
      if (outcome !== "pending") {
        this.#waiting.delete(transaction.id);
        return outcome;
      }
      const left = deadline - performance.now();
      if (left <= 0) return "pending";
      await sleep(Math.min(pollingIntervalMs, left));
      const wire = this.#waiting.get(transaction.id);
      // A node forgets what waits when it is restarted, or has too much of it.
      if (wire !== undefined) await this.#handOver(wire);
    }
  }

  async health(): Promise<SchemeHealth> {
    try {
      await this.#lastRound();
      if ((await readBalance(this.#options.client, this.feePayer)) > 0n) return { ok: true };
      return { ok: false, problem: `${this.feePayer} has nothing to pay for transactions with` };
    } catch (error) {
      return { ok: false, problem: error instanceof FareboxError ? error.message : "the node could not be asked" };
    }
  }

  #sign(bytes: Uint8Array): Promise<Buffer> {
    return signAs(this.#options.signer, Buffer.concat([Buffer.from(SIGNED_PREFIX), bytes]));
  }

  /**
   * Never rejects: whatever the node says, it or something between may have passed the group on. The same bytes may be
   * handed over any number of times.
   */
  async #handOver(wire: Buffer): Promise<void> {
    await this.#options.client.post("/v2/transactions", wire).catch(() => {});
  }

  async #lastRound(): Promise<bigint> {
    const { genesisHash, lastRound } = await readState(this.#options.client);
    if (!isNetworkOf(this.network, genesisHash)) throw new ChainError(`the node is not of ${this.network}`);
    this.#isChecked = true;
    return lastRound;
  }

  /** Once it is known to be the right chain, it stays so; until then it is asked each time. */
  async #check(): Promise<void> {
    if (!this.#isChecked) await this.#lastRound();
  }
}
