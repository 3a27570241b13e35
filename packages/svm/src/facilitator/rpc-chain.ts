/**
 * A chain over JSON-RPC.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FareboxError, type SchemeHealth } from "@farebox/core";
import { SIGNATURE_BYTES } from "@farebox/core/scheme";
import { encodeBase58 } from "../base58.js";
import { type Ask, readBlockhashValidity, readNetwork } from "../exact/node-questions.js";
import type { PayerSigned, Simulation, SvmAccount, SvmChain, TransactionOutcome } from "./chain.js";
import { ChainError } from "./chain-error.js";
import { readAccounts, readBalance, readStatus, type Status, simulate } from "./node-answers.js";
import { type ParsedRpcOptions, parseRpcOptions, type RpcSvmChainOptions } from "./rpc-options.js";
import { signAs } from "./signer.js";

/**
 * Creates a chain over JSON-RPC, with one account that pays for transactions. Nothing is asked before the first use; then
 * the hash of the first block is compared with `network` first.
 *
 * @throws ConfigError with every issue at once; neither the key nor the URL is ever quoted.
 */
export function createRpcSvmChain(options: RpcSvmChainOptions): SvmChain {
  return new RpcSvmChain(parseRpcOptions(options));
}

/** A transaction that is not known to be on chain. */
interface Waiting {
  readonly wire: string;
  readonly blockhash: string;
  /** A slot at which the blockhash was valid. */
  readonly slot: number;
}

/** The oldest are forgotten first. */
const MAX_WAITING = 10_000;

class RpcSvmChain implements SvmChain {
  readonly network: `solana:${string}`;
  readonly feePayer: string;
  readonly #options: ParsedRpcOptions;
  readonly #ask: Ask;
  readonly #waiting = new Map<string, Waiting>();
  #checked: Promise<void> | undefined;

  constructor(options: ParsedRpcOptions) {
    this.network = options.network;
    this.feePayer = options.signer.address;
    this.#options = options;
    this.#ask = async (method, params) => {
      await this.#check();
      return options.rpc.call(method, params);
    };
  }

  readAccounts(addresses: readonly string[]): Promise<readonly (SvmAccount | undefined)[]> {
    return readAccounts(this.#ask, addresses);
  }

  simulate(transaction: PayerSigned): Promise<Simulation> {
    return simulate(this.#ask, toWire(Buffer.alloc(SIGNATURE_BYTES), transaction));
  }

  async signatureOf({ message }: PayerSigned): Promise<string> {
    return encodeBase58(await signAs(this.#options.signer, message));
  }

  async statusOf(signature: string): Promise<"confirmed" | "failed" | "pending"> {
    return this.#judge(await readStatus(this.#ask, signature));
  }

  async submit(transaction: PayerSigned): Promise<string> {
    const { blockhash, message } = transaction;
    const { isValid, slot } = await readBlockhashValidity(this.#ask, blockhash, { commitment: "confirmed" });
    if (!isValid) throw new ChainError("the transaction's blockhash has run out");
    const signature = await signAs(this.#options.signer, message);
    const name = encodeBase58(signature);
    const waiting = { wire: toWire(signature, transaction), blockhash, slot };
    this.#waiting.set(name, waiting);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    await this.#handOver(waiting);
    return name;
  }

  async outcomeOf(signature: string): Promise<TransactionOutcome> {
    const { confirmTimeoutMs, pollingIntervalMs } = this.#options;
    const deadline = performance.now() + confirmTimeoutMs;
    for (;;) {
      const outcome = await this.statusOf(signature).catch(() => "pending" as const);
      if (outcome !== "pending") {
        this.#waiting.delete(signature);
        return outcome;
      }
      const left = deadline - performance.now();
      if (left <= 0) return this.#isDropped(signature);
      await sleep(Math.min(pollingIntervalMs, left));
      const waiting = this.#waiting.get(signature);
      // Whoever is to make the next block may have been sent too much to take it.
      if (waiting !== undefined) await this.#handOver(waiting);
    }
  }

  async health(): Promise<SchemeHealth> {
    try {
      if ((await readBalance(this.#ask, this.feePayer)) > 0) return { ok: true };
      return { ok: false, problem: `${this.feePayer} has nothing to pay for transactions with` };
    } catch (error) {
      return { ok: false, problem: error instanceof FareboxError ? error.message : "the node could not be asked" };
    }
  }

  #judge({ depth, failed }: Status): "confirmed" | "failed" | "pending" {
    const isDeep = depth === "finalized" || depth === this.#options.commitment;
    if (!isDeep) return "pending";
    return failed ? "failed" : "confirmed";
  }

  /**
   * Never rejects: whatever the node says, it or something between may have passed the transaction on. The same bytes may
   * be handed over any number of times. It has been tried out before, so the node need not do that again.
   */
  async #handOver({ wire }: Waiting): Promise<void> {
    const options = { encoding: "base64", skipPreflight: true, maxRetries: 0 };
    await this.#ask("sendTransaction", [wire, options]).catch(() => {});
  }

  /** It is, where a node that had seen the blockhash does not take it any more, and later still knows of no transaction. */
  async #isDropped(signature: string): Promise<"pending" | "dropped"> {
    const waiting = this.#waiting.get(signature);
    if (waiting === undefined) return "pending";
    try {
      const question = { commitment: "confirmed", minContextSlot: waiting.slot } as const;
      const { isValid, slot } = await readBlockhashValidity(this.#ask, waiting.blockhash, question);
      if (isValid) return "pending";
      const status = await readStatus(this.#ask, signature);
      if (status.depth !== "none" || status.slot < slot) return "pending";
      this.#waiting.delete(signature);
      return "dropped";
    } catch {
      return "pending";
    }
  }

  /** Once it is known to be the right chain, it stays so; until then it is asked each time. */
  async #check(): Promise<void> {
    const checking = this.#checked ?? this.#compareNetwork();
    this.#checked = checking;
    try {
      await checking;
    } catch (error) {
      if (this.#checked === checking) this.#checked = undefined;
      throw error;
    }
  }

  async #compareNetwork(): Promise<void> {
    const network = await readNetwork((method, params) => this.#options.rpc.call(method, params));
    if (network !== this.network) throw new ChainError(`the RPC URL is of ${network}, not of ${this.network}`);
  }
}

/** The wire form, in base64: how many signatures, the fee payer's, the payer's, the message. */
function toWire(feePayerSignature: Uint8Array, { message, payerSignature }: PayerSigned): string {
  return Buffer.concat([Buffer.of(2), feePayerSignature, payerSignature, message]).toString("base64");
}
