/**
 * Common parts of chains where the facilitator's account pays for transactions: options, signer, the check of the network, and resending
 * until the outcome of a transaction is known.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FareboxError } from "../errors.js";
import type { Issues } from "../issues.js";
import { isSignedBy } from "../scheme/ed25519.js";
import type { SchemeHealth } from "./facilitator-scheme.js";

/** A chain has another network than configured, does not respond, or refuses a transaction. Contains no key, token, URL or signature. */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}

/** Intervals and deadlines, in milliseconds. */
export interface ChainTimes {
  /** Between two requests about a transaction. */
  readonly pollingIntervalMs: number;
  /** For the outcome of a transaction. */
  readonly confirmTimeoutMs: number;
  /** For one request to the node. */
  readonly requestTimeoutMs: number;
}

/** The names of the options that {@link readChainTimes} reads. */
export const CHAIN_TIMES: readonly (keyof ChainTimes)[] = ["pollingIntervalMs", "confirmTimeoutMs", "requestTimeoutMs"];

/** Reads the times from options. */
export function readChainTimes(
  options: { readonly [name in keyof ChainTimes]?: unknown },
  { usualPollingMs, issues }: { readonly usualPollingMs: number; readonly issues: Issues },
): ChainTimes {
  const read = (name: keyof ChainTimes, [least, most, usual]: readonly [number, number, number]) =>
    issues.readNumber(`options.${name}`, options[name], { least, most, usual });
  return {
    pollingIntervalMs: read("pollingIntervalMs", [10, 60_000, usualPollingMs]),
    // A seller waits 30 s for a settlement.
    confirmTimeoutMs: read("confirmTimeoutMs", [100, 600_000, 25_000]),
    requestTimeoutMs: read("requestTimeoutMs", [100, 60_000, 5_000]),
  };
}

/** The signers of one family of networks. */
export interface SignerKind<S extends { readonly address: string }> {
  /** Creates a signer from a key; `undefined` if the value is not a key. Never throws. */
  fromKey(privateKey: unknown): S | undefined;
  /** A description of valid keys, for error messages. */
  readonly keyExpected: string;
  isAddress(value: unknown): boolean;
  /** The name of a signer's signing method. */
  readonly method: Exclude<keyof S & string, "address">;
}

/** Reads the signer from options, which have either `privateKey` or `signer`. Neither is ever quoted. */
export function readSigner<S extends { readonly address: string }>(
  { privateKey, signer }: { readonly privateKey?: unknown; readonly signer?: unknown },
  kind: SignerKind<S>,
  issues: Issues,
): S | undefined {
  if ((privateKey === undefined) === (signer === undefined)) {
    issues.addText("options.privateKey", "either privateKey or signer", privateKey === undefined ? "neither" : "both");
    return undefined;
  }
  if (signer !== undefined) {
    if (isSigner(signer, kind)) return signer;
    issues.addText("options.signer", `a signer with an address and ${kind.method}`, "something else");
    return undefined;
  }
  const own = kind.fromKey(privateKey);
  if (own === undefined) issues.addText("options.privateKey", kind.keyExpected, "something else");
  return own;
}

function isSigner<S extends { readonly address: string }>(value: unknown, kind: SignerKind<S>): value is S {
  if (typeof value !== "object" || value === null || !("address" in value)) return false;
  return kind.isAddress(value.address) && typeof Reflect.get(value, kind.method) === "function";
}

/**
 * Waits for a signature, and checks it with `node:crypto`.
 *
 * @throws {@link ChainError} when it is not the signature of this key over these bytes
 */
export async function expectSignature(
  signing: Promise<Uint8Array>,
  publicKey: Uint8Array | undefined,
  message: Uint8Array,
): Promise<Buffer> {
  const signature = Buffer.from(await signing);
  if (publicKey !== undefined && isSignedBy(publicKey, message, signature)) return signature;
  throw new ChainError("the signer did not sign");
}

/** Wraps a check, such as that of a node's network. It is repeated until it has passed once; callers share a running one. */
export function untilPassed(check: () => Promise<void>): () => Promise<void> {
  let passed: Promise<void> | undefined;
  return async () => {
    const checking = passed ?? check();
    passed = checking;
    try {
      await checking;
    } catch (error) {
      if (passed === checking) passed = undefined;
      throw error;
    }
  };
}

/** Implements `health` of a chain. Never rejects. */
export async function healthOf(feePayer: string, readSpendable: () => Promise<bigint | number>): Promise<SchemeHealth> {
  try {
    if ((await readSpendable()) > 0) return { ok: true };
    return { ok: false, problem: `${feePayer} has nothing to pay for transactions with` };
  } catch (error) {
    return { ok: false, problem: error instanceof FareboxError ? error.message : "the node could not be asked" };
  }
}

/** More than this many are not resent: the oldest are forgotten first. */
const MAX_SENT = 10_000;

/** Sent transactions that are not yet known to be on chain, by name. `S`: the bytes to send, and optional further data. */
export class SentTransactions<S> {
  readonly #sent = new Map<string, S>();
  readonly #times: ChainTimes;
  readonly #handOver: (sent: S) => Promise<unknown>;

  /** @param handOver - Sends the bytes to the node. */
  constructor(times: ChainTimes, handOver: (sent: S) => Promise<unknown>) {
    this.#times = times;
    this.#handOver = handOver;
  }

  find(name: string): S | undefined {
    return this.#sent.get(name);
  }

  forget(name: string): void {
    this.#sent.delete(name);
  }

  /** Sends a transaction. Never rejects: even a node that fails may have passed it on. */
  async send(name: string, sent: S): Promise<void> {
    this.#sent.set(name, sent);
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > MAX_SENT && oldest !== undefined) this.#sent.delete(oldest);
    await this.#tryToHandOver(sent);
  }

  /**
   * Waits for the outcome of a transaction, for a limited time, and sends it again before each request for its status. Nodes drop
   * waiting transactions when they restart or are overloaded, and the same bytes may be sent any number of times.
   *
   * @param statusOf - Asks once. If it rejects, the transaction counts as pending.
   */
  async outcomeOf<O extends string>(name: string, statusOf: () => Promise<O | "pending">): Promise<O | "pending"> {
    const deadline = performance.now() + this.#times.confirmTimeoutMs;
    for (;;) {
      const outcome = await statusOf().catch(() => "pending" as const);
      if (outcome !== "pending") {
        this.forget(name);
        return outcome;
      }
      const left = deadline - performance.now();
      if (left <= 0) return "pending";
      await sleep(Math.min(this.#times.pollingIntervalMs, left));
      const sent = this.#sent.get(name);
      if (sent !== undefined) await this.#tryToHandOver(sent);
    }
  }

  async #tryToHandOver(sent: S): Promise<void> {
    try {
      await this.#handOver(sent);
    } catch {
      // The node may have passed it on nevertheless.
    }
  }
}
