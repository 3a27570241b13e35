/**
 * A chain over a node's REST API, with `algosdk`. Requests go through a transport of our own: each has a deadline, responses
 * are bounded, redirects are not followed, and no error quotes the URL, the token or the node.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";
import { ChainError, healthOf, SentTransactions, type Simulation, untilPassed } from "@farebox/core/facilitator";
import { legible } from "@farebox/core/scheme";
import {
  Algodv2,
  type BaseHTTPClient,
  type BaseHTTPClientResponse,
  decodeUnsignedTransaction,
  encodeMsgpack,
  modelsv2,
  SignedTransaction,
} from "algosdk";
import { MAX_ROUNDS } from "../exact/payment.js";
import { type AvmNetwork, isNetworkOf } from "../networks.js";
import { SIGNED_PREFIX } from "../transaction/read-transaction.js";
import type {
  AvmChain,
  AvmHolding,
  BookGas,
  ChainHealth,
  GroupMember,
  PayerSigned,
  TransactionName,
  TransactionOutcome,
} from "./chain.js";
import { type AlgodChainOptions, type ParsedAlgodOptions, parseAlgodOptions } from "./rpc-options.js";
import { signAs } from "./signer.js";

/**
 * Creates a chain over a node's REST API, with one account that pays for transactions. The node is not asked before the first
 * use. Then the hash of its first block is compared with `network` first.
 *
 * @throws ConfigError with every issue at once. It quotes neither the key, nor the token, nor the URL.
 */
export function createAlgodChain(options: AlgodChainOptions): AvmChain {
  return new AlgodChain(parseAlgodOptions(options));
}

/** For so many rounds after its last one, a transaction still counts as pending, because a node may lag behind. */
const MARGIN = 10n;

/** A group that was sent. */
interface Sent {
  readonly wire: readonly Uint8Array[];
  /** Corrects the booking of its fee. */
  correct(cost: bigint): void;
}

class AlgodChain implements AvmChain {
  readonly network: AvmNetwork;
  readonly feePayer: string;
  readonly #options: ParsedAlgodOptions;
  readonly #client: Algodv2;
  readonly #checkNetwork: () => Promise<void>;
  readonly #sent: SentTransactions<Sent>;
  #book: BookGas = () => () => {};

  constructor(options: ParsedAlgodOptions) {
    this.network = options.network;
    this.feePayer = options.signer.address;
    this.#options = options;
    this.#client = new Algodv2(new BoundedHttpClient(options), "");
    this.#checkNetwork = untilPassed(async () => void (await this.#lastRound()));
    this.#sent = new SentTransactions(options.times, ({ wire }) => this.#client.sendRawTransaction([...wire]).do());
  }

  async holdingOf(address: string, asset: bigint): Promise<AvmHolding | undefined> {
    await this.#checkNetwork();
    const response = await askOrNothing(() => this.#client.accountAssetInformation(address, asset).do());
    const holding = response?.assetHolding;
    return holding === undefined ? undefined : { amount: holding.amount };
  }

  async simulate({ members }: PayerSigned): Promise<Simulation> {
    await this.#checkNetwork();
    const txnGroups = [new modelsv2.SimulateRequestTransactionGroup({ txns: members.map(toSigned) })];
    const request = new modelsv2.SimulateRequest({ txnGroups, allowEmptySignatures: true });
    const response = await ask(() => this.#client.simulateTransactions(request).do());
    const [group, ...others] = response.txnGroups;
    if (group === undefined || others.length > 0 || group.txnResults.length !== members.length) throw unreadable();
    const { failureMessage: problem = "" } = group;
    return problem === "" ? { ok: true } : { ok: false, problem: legible(problem) };
  }

  /** Asks for the last round before and after, because a transaction is only missing if all its rounds were searched. */
  async statusOf({ id, firstValid, lastValid }: TransactionName): Promise<TransactionOutcome> {
    const before = await this.#lastRound();
    const known = await askOrNothing(() => this.#client.pendingTransactionInformation(id).do());
    if ((known?.confirmedRound ?? 0n) > 0n) return "confirmed";
    if (before <= lastValid + MARGIN) return "pending";
    const after = await this.#lastRound();
    return after <= firstValid + MAX_ROUNDS ? "dropped" : "forgotten";
  }

  async submit({ members, transfer, feeMicroAlgos }: PayerSigned): Promise<void> {
    await this.#checkNetwork();
    const correct = this.#book(feeMicroAlgos);
    if (correct === undefined) throw new ChainError("the gas budget of this hour is used up");
    try {
      const wire = await Promise.all(
        members.map(async ({ bytes, signature }) =>
          encodeMsgpack(toSigned({ bytes, signature: signature ?? (await this.#sign(bytes)) })),
        ),
      );
      await this.#sent.send(transfer.id, { wire, correct });
    } catch (error) {
      correct(0n);
      throw error;
    }
  }

  async outcomeOf(transaction: TransactionName): Promise<TransactionOutcome> {
    const sent = this.#sent.find(transaction.id);
    const outcome = await this.#sent.outcomeOf(transaction.id, () => this.statusOf(transaction));
    if (outcome === "dropped") sent?.correct(0n);
    return outcome;
  }

  meterGas(book: BookGas): void {
    this.#book = book;
  }

  async health(): Promise<ChainHealth> {
    let balance: string | undefined;
    const health = await healthOf(this.feePayer, async () => {
      await this.#lastRound();
      const account = await ask(() => this.#client.accountInformation(this.feePayer).exclude("all").do());
      const spendable = account.amount - account.minBalance;
      balance = (spendable > 0n ? spendable : 0n).toString();
      return spendable;
    });
    return balance === undefined ? health : { ...health, balance };
  }

  #sign(bytes: Uint8Array): Promise<Buffer> {
    return signAs(this.#options.signer, Buffer.concat([Buffer.from(SIGNED_PREFIX), bytes]));
  }

  /** The node's last round. The same response proves that the node is of the right network. */
  async #lastRound(): Promise<bigint> {
    const { genesisHash = Buffer.alloc(0), firstValid } = await ask(() => this.#client.getTransactionParams().do());
    if (!isNetworkOf(this.network, genesisHash)) throw new ChainError(`the node is not of ${this.network}`);
    // The library reads a missing number as zero.
    if (BigInt(firstValid) === 0n) throw unreadable();
    return BigInt(firstValid);
  }
}

/** The library serializes a transaction again. The result must be the bytes that were signed. */
function toSigned({ bytes, signature }: GroupMember): SignedTransaction {
  try {
    const txn = decodeUnsignedTransaction(bytes);
    if (Buffer.from(bytes).equals(txn.toByte())) {
      return new SignedTransaction(signature === undefined ? { txn } : { txn, sig: signature });
    }
  } catch {
    // Reported below.
  }
  throw new ChainError("a transaction is not in its canonical form");
}

/** The library's errors quote the node's response. Only our own errors pass. */
async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw error instanceof FareboxError ? error : unreadable();
  }
}

/** Yields `undefined` if the node responds with 404. */
async function askOrNothing<T>(question: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(question);
  } catch (error) {
    if (error instanceof StatusError && error.status === 404) return undefined;
    throw error;
  }
}

function unreadable(): ChainError {
  return new ChainError("the node's response is unreadable");
}

/** The node responded with a status other than 200. */
class StatusError extends ChainError {
  readonly status: number;

  constructor(status: number) {
    super(`the node responded with status ${status}`);
    this.status = status;
  }
}

/** A simulation's response has some kilobytes for each transaction. */
const MAX_BODY_BYTES = 1024 * 1024;

/** A transport for the library. The library's own has no deadline and no bound, and its errors quote the node. */
class BoundedHttpClient implements BaseHTTPClient {
  readonly #algodUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #deadlineMs: number;

  constructor({ algodUrl, token, times }: ParsedAlgodOptions) {
    this.#algodUrl = algodUrl;
    this.#headers = token === undefined ? {} : { "x-algo-api-token": token };
    this.#deadlineMs = times.requestTimeoutMs;
  }

  get(path: string, query: Query = {}, headers: Headers = {}): Promise<BaseHTTPClientResponse> {
    return this.#send(path, query, { headers });
  }

  post(path: string, body: Uint8Array, query: Query = {}, headers: Headers = {}): Promise<BaseHTTPClientResponse> {
    return this.#send(path, query, { method: "POST", headers, body });
  }

  delete(path: string): Promise<BaseHTTPClientResponse> {
    return this.#send(path, {}, { method: "DELETE" });
  }

  async #send(path: string, query: Query, init: RequestInit): Promise<BaseHTTPClientResponse> {
    const deadlineMs = this.#deadlineMs;
    const signal = AbortSignal.timeout(deadlineMs);
    const headers = { ...init.headers, ...this.#headers } as Headers;
    try {
      const search = new URLSearchParams(query).toString();
      const url = `${this.#algodUrl}${path}${search === "" ? "" : `?${search}`}`;
      const response = await fetch(url, { ...init, headers, redirect: "manual", signal });
      if (response.ok) return { status: response.status, headers: {}, body: await readBody(response) };
      // Not awaited: the rest of the body does not matter, nor does an error in it.
      response.body?.cancel().catch(() => {});
      throw new StatusError(response.status);
    } catch (error) {
      if (error instanceof ChainError) throw error;
      const isLate = error instanceof Error && error.name === "TimeoutError";
      throw new ChainError(
        isLate ? `the node did not respond within ${deadlineMs} ms` : "the node could not be reached",
      );
    }
  }
}

type Query = Record<string, string>;
type Headers = Record<string, string>;

async function readBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new ChainError(`the node's response is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
