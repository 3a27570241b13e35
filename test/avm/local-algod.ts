/**
 * A stand-in for an Algorand node: an HTTP server with those responses of algod that a payment needs. It decodes with
 * `algosdk` and has a ledger of its own. No real node and no virtual machine runs here. A test decides how a group gets from
 * the node to the chain.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeMsgpack, encodeMsgpack, modelsv2, msgpackRawDecode, msgpackRawEncode, SignedTransaction } from "algosdk";
import { GENESIS_HASH } from "../../packages/avm/src/payments.fixture.js";
import { Ledger, LedgerError } from "./ledger.js";

/** A status, and JSON. */
type Reply = readonly [status: number, body: unknown];

/** As on Algorand's networks. */
const SECONDS_PER_ROUND = 2.8;

/** A transaction on the chain. */
export interface Landed extends Pick<SignedTransaction, "txn"> {
  readonly round: number;
  readonly atMs: number;
}

export class LocalAlgod {
  readonly ledger: Ledger = new Ledger();
  /** Each received request: its method, and its path without the query. */
  readonly asked: string[] = [];
  /** How the node handles groups. `lose`: it applies them, but its response is lost. */
  mode: "carry-out" | "keep" | "forget" | "lose" = "carry-out";
  /** The first block that the node still has. */
  oldestBlock = 0;
  /** The token that requests need, if any. */
  token: string | undefined;
  /** The network of the node. */
  genesisHash: Buffer = GENESIS_HASH;
  // A busy machine pauses a test for longer than the five seconds that a connection may be idle.
  readonly #server: Server = createServer({ keepAliveTimeout: 0 }, (req, res) => void this.#serve(req, res));
  /** Every transaction on the chain, the oldest first. */
  readonly history: Landed[] = [];
  readonly #landed = new Map<string, SignedTransaction>();
  /** Since the last round. */
  #secondsSince = 0;
  #kept: SignedTransaction[][] = [];

  static async start(): Promise<LocalAlgod> {
    const local = new LocalAlgod();
    await new Promise<void>((resolve) => local.#server.listen(0, "127.0.0.1", resolve));
    return local;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get sent(): boolean {
    return this.asked.includes("POST /v2/transactions");
  }

  /** Lets time pass on the chain, with a round for each 2.8 seconds. */
  passTime(seconds: number): void {
    this.#secondsSince += seconds;
    const rounds = Math.floor(this.#secondsSince / SECONDS_PER_ROUND);
    this.ledger.round += rounds;
    this.#secondsSince -= rounds * SECONDS_PER_ROUND;
  }

  /** Applies the kept groups. */
  land(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const group of kept) this.#apply(group);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(req.url ?? "", "http://algod");
    const question = `${req.method} ${pathname}`;
    this.asked.push(question);
    const body = await readAll(req);
    const isAllowed = this.token === undefined || req.headers["x-algo-api-token"] === this.token;
    const [status, said]: Reply = isAllowed ? this.#respond(question, body) : [401, { message: "Invalid API Token" }];
    if (question === "POST /v2/transactions" && this.mode === "lose") return void res.destroy();
    res.statusCode = status;
    if (searchParams.get("format") === "msgpack") {
      return void res.setHeader("content-type", "application/msgpack").end(msgpackRawEncode(said));
    }
    res
      .setHeader("content-type", "application/json")
      .end(JSON.stringify(said, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
  }

  #respond(question: string, body: Buffer): Reply {
    if (question === "GET /v2/transactions/params") return [200, this.#params()];
    if (/^GET \/v2\/status(\/wait-for-block-after\/\d+)?$/.test(question)) return [200, this.#status()];
    if (question === "POST /v2/transactions/simulate") return this.#simulate(body);
    if (question === "POST /v2/transactions") return this.#take(body);
    const [, id] = /^GET \/v2\/transactions\/pending\/([A-Z2-7]{52})$/.exec(question) ?? [];
    if (id !== undefined) return this.#pending(id);
    const [, address, asset] = /^GET \/v2\/accounts\/([A-Z2-7]{58})(?:\/assets\/(\d+))?$/.exec(question) ?? [];
    if (address !== undefined) return this.#account(address, asset);
    const [, round] = /^GET \/v2\/blocks\/(\d+)\/txids$/.exec(question) ?? [];
    if (round !== undefined) return this.#block(Number(round));
    return [404, { message: "Not Found" }];
  }

  #block(round: number): Reply {
    const isKept = round >= this.oldestBlock && round <= this.ledger.round;
    return isKept ? [200, { blockTxids: this.ledger.idsIn(round) }] : [404, { message: "failed to retrieve" }];
  }

  #params(): object {
    return {
      "consensus-version": "future",
      fee: 0,
      "genesis-hash": this.genesisHash.toString("base64"),
      "genesis-id": "testnet-v1.0",
      "last-round": this.ledger.round,
      "min-fee": 1000,
    };
  }

  #status(): object {
    return {
      "catchup-time": 0,
      "last-round": this.ledger.round,
      "last-version": "future",
      "next-version": "future",
      "next-version-round": this.ledger.round + 1,
      "next-version-supported": true,
      "stopped-at-unsupported-round": false,
      "time-since-last-round": Math.round(this.#secondsSince * 1e9),
    };
  }

  #account(address: string, asset: string | undefined): Reply {
    if (asset === undefined) {
      return [200, { address, amount: Number(this.ledger.balanceOf(address) ?? 0n), "min-balance": 100_000 }];
    }
    const amount = this.ledger.balanceOf(address, BigInt(asset));
    if (amount === undefined) return [404, { message: "account asset info not found" }];
    const holding = { amount: Number(amount), "asset-id": Number(asset), "is-frozen": false };
    return [200, { round: this.ledger.round, "asset-holding": holding }];
  }

  #simulate(body: Buffer): Reply {
    const { txnGroups, allowEmptySignatures } = decodeMsgpack(body, modelsv2.SimulateRequest);
    const signatures = allowEmptySignatures === true ? "may-be-missing" : "all";
    const groups = txnGroups.map(({ txns }) => {
      const results = txns.map((signed) => ({ "txn-result": { "pool-error": "", txn: rawOf(signed) } }));
      const problem = problemOf(() => this.ledger.try(txns, { signatures }));
      return { ...(problem === undefined ? {} : { "failure-message": problem }), "txn-results": results };
    });
    return [200, { "last-round": this.ledger.round, "txn-groups": groups, version: 2 }];
  }

  #take(body: Buffer): Reply {
    const group = split(body).map((bytes) => decodeMsgpack(bytes, SignedTransaction));
    if (this.mode === "forget") return [200, { txId: group[0]?.txn.txID() }];
    const problem = problemOf(() => this.ledger.try(group, { signatures: "all" }));
    if (problem !== undefined) return [400, { message: `TransactionPool.Remember: ${problem}` }];
    if (this.mode === "keep") this.#kept.push(group);
    else this.#apply(group);
    return [200, { txId: group[0]?.txn.txID() }];
  }

  #apply(group: SignedTransaction[]): void {
    problemOf(() => this.ledger.apply(group));
    for (const signed of group) {
      const id = signed.txn.txID();
      const round = this.ledger.roundOf(id);
      if (round !== undefined && !this.#landed.has(id)) this.history.push({ txn: signed.txn, round, atMs: Date.now() });
      this.#landed.set(id, signed);
    }
  }

  #pending(id: string): Reply {
    const round = this.ledger.roundOf(id);
    const waits = this.#kept.flat().find(({ txn }) => txn.txID() === id);
    const signed = waits ?? this.#landed.get(id);
    if (signed === undefined || (round === undefined && waits === undefined)) {
      return [404, { message: "could not find the transaction" }];
    }
    const confirmed = round === undefined ? {} : { "confirmed-round": round };
    return [200, { "pool-error": "", txn: rawOf(signed), ...confirmed }];
  }
}

/** A test may send a group that the ledger refuses. */
function problemOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof LedgerError) return error.message;
    throw error;
  }
}

/** As MessagePack. JSON clients do not read the bytes in it. */
function rawOf(signed: SignedTransaction): unknown {
  return msgpackRawDecode(encodeMsgpack(signed));
}

/** The envelopes of a group are concatenated. The next one begins where the re-encoded last one ends. */
function split(body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + lengthAt(body, at);
    parts.push(body.subarray(at, end));
    at = end;
  }
  return parts;
}

/** The length of a MessagePack value, for the kinds that transactions have. */
function lengthAt(body: Buffer, at: number): number {
  const kind = body[at] ?? 0;
  if (kind < 0x80 || kind === 0xc2 || kind === 0xc3) return 1;
  if (kind < 0x90) return 1 + entriesLength(body, at + 1, (kind & 15) * 2);
  if (kind >= 0xa0 && kind < 0xc0) return 1 + (kind & 31);
  if (kind >= 0xcc && kind <= 0xcf) return 1 + (1 << (kind - 0xcc));
  if (kind === 0xc4 || kind === 0xd9) return 2 + body.readUInt8(at + 1);
  if (kind === 0xc5) return 3 + body.readUInt16BE(at + 1);
  throw new LedgerError("not a transaction");
}

function entriesLength(body: Buffer, at: number, count: number): number {
  let length = 0;
  for (let nth = 0; nth < count; nth++) length += lengthAt(body, at + length);
  return length;
}

async function readAll(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks);
}
