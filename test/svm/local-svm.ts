/**
 * A Solana network on this machine: LiteSVM, which runs the real programs, behind a real HTTP server that answers as a
 * node does. What happens to a transaction between the node and the chain can be decided by a test.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Address,
  address,
  getBase58Decoder,
  getTransactionDecoder,
  lamports,
  type Transaction,
} from "@solana/kit";
import { FailedTransactionMetadata, LiteSVM } from "litesvm";
import { NETWORK, type PublicKey, TOKEN, tokenAccount, USDC } from "../../packages/svm/src/transactions.fixture.js";

/** The hash of devnet's first block. */
const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;

/** What a node remembers of a transaction. */
interface Landed {
  readonly signature: string;
  readonly slot: number;
  readonly err: unknown;
  readonly accounts: readonly string[];
}

type Method = (params: readonly never[]) => unknown;

/** A local network. */
export interface LocalSvm {
  readonly rpcUrl: string;
  readonly svm: LiteSVM;
  /** Every question that was asked, by its method. */
  readonly asked: string[];
  /** What the node does with transactions. `lose`: carries them out, but its answer gets lost. */
  mode: "carry-out" | "keep" | "forget" | "lose";
  /** Gives a wallet tokens: makes its account. */
  fund(owner: PublicKey, amount: bigint, mint?: PublicKey, program?: PublicKey): void;
  createMint(mint: PublicKey, program?: PublicKey, extensions?: Uint8Array): void;
  /** Atomic units that a wallet has; `undefined` where it has no account. */
  balanceOf(owner: PublicKey, mint?: PublicKey, program?: PublicKey): bigint | undefined;
  lamportsOf(owner: PublicKey): bigint;
  blockhash(): string;
  /** Makes the blockhash run out. */
  expire(): void;
  /** Carries out what was kept. */
  land(): void;
  close(): Promise<void>;
}

/** Starts one: USDC exists, and whoever is to pay fees has 10 SOL. */
export async function startLocalSvm(feePayer: PublicKey): Promise<LocalSvm> {
  const network = new LocalNetwork();
  network.createMint(USDC);
  network.svm.airdrop(toAddress(feePayer), lamports(10_000_000_000n));
  await network.listen();
  return network;
}

class LocalNetwork implements LocalSvm {
  readonly svm: LiteSVM = new LiteSVM();
  readonly asked: string[] = [];
  mode: LocalSvm["mode"] = "carry-out";
  readonly #server: Server = createServer((req, res) => void this.#answer(req, res));
  readonly #landed: Landed[] = [];
  #kept: Transaction[] = [];
  #slot = 1000;

  get rpcUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  fund(owner: PublicKey, amount: bigint, mint = USDC, program = TOKEN): void {
    const data = Buffer.alloc(165);
    mint.toBuffer().copy(data, 0);
    owner.toBuffer().copy(data, 32);
    data.writeBigUInt64LE(amount, 64);
    data.writeUInt8(1, 108);
    this.#setAccount(tokenAccount(owner, mint, program), program, data);
  }

  createMint(mint: PublicKey, program = TOKEN, extensions: Uint8Array = Buffer.alloc(0)): void {
    const data = Buffer.alloc(82);
    data.writeBigUInt64LE(2n ** 63n, 36);
    data.writeUInt8(6, 44);
    data.writeUInt8(1, 45);
    const padded = Buffer.concat([data, Buffer.alloc(165 - 82), Buffer.of(1), extensions]);
    this.#setAccount(mint, program, extensions.length === 0 ? data : padded);
  }

  balanceOf(owner: PublicKey, mint = USDC, program = TOKEN): bigint | undefined {
    const account = this.svm.getAccount(toAddress(tokenAccount(owner, mint, program)));
    return account.exists ? Buffer.from(account.data).readBigUInt64LE(64) : undefined;
  }

  lamportsOf(owner: PublicKey): bigint {
    return this.svm.getBalance(toAddress(owner)) ?? 0n;
  }

  blockhash(): string {
    return this.svm.latestBlockhash();
  }

  expire(): void {
    this.#slot++;
    this.svm.expireBlockhash();
  }

  land(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const transaction of kept) this.#carryOut(transaction);
  }

  #setAccount(where: PublicKey, program: PublicKey, data: Uint8Array): void {
    const space = BigInt(data.length);
    const rent = lamports(this.svm.minimumBalanceForRentExemption(space));
    const programAddress = toAddress(program);
    this.svm.setAccount({ address: toAddress(where), programAddress, data, executable: false, lamports: rent, space });
  }

  /** What LiteSVM refuses before it begins, such as a bad signature, never gets into a block. */
  #carryOut(transaction: Transaction): void {
    try {
      const outcome = this.svm.sendTransaction(transaction);
      const signature = getBase58Decoder().decode(Object.values(transaction.signatures)[0] ?? new Uint8Array());
      if (this.#landed.some((landed) => landed.signature === signature)) return;
      const failed = outcome instanceof FailedTransactionMetadata;
      if (failed && !isOfInstruction(outcome)) return;
      const accounts = accountsOf(transaction);
      this.#landed.unshift({ signature, slot: ++this.#slot, err: failed ? describe(outcome) : null, accounts });
    } catch {
      return;
    }
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { id, method, params = [] } = JSON.parse(await readAll(req));
    this.asked.push(method);
    const answer = this.#methods[method];
    const result = answer === undefined ? undefined : answer(params);
    if (method === "sendTransaction" && this.mode === "lose") return void res.destroy();
    const said = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
    // kit asks in bigints, and takes numbers for answers.
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...said }, (_, value) =>
      typeof value === "bigint" ? Number(value) : value,
    );
    res.setHeader("content-type", "application/json").end(text);
  }

  #inContext(value: unknown): unknown {
    return { context: { slot: this.#slot, apiVersion: "3.0.0" }, value };
  }

  readonly #methods: Readonly<Record<string, Method>> = {
    getGenesisHash: () => GENESIS,
    getBlockTime: () => Number(this.svm.getClock().unixTimestamp),
    getLatestBlockhash: () => this.#inContext({ blockhash: this.blockhash(), lastValidBlockHeight: this.#slot + 150 }),
    isBlockhashValid: ([blockhash]: readonly string[]) => this.#inContext(blockhash === this.blockhash()),
    getBalance: ([where]: readonly string[]) => this.#inContext(this.svm.getBalance(address(where!)) ?? 0n),
    getAccountInfo: ([where]: readonly string[]) => this.#inContext(this.#account(where!)),
    getMultipleAccounts: ([all]: readonly string[][]) => this.#inContext(all!.map((where) => this.#account(where))),
    simulateTransaction: ([wire]: readonly string[]) => this.#inContext(this.#simulate(decode(wire!))),
    sendTransaction: ([wire]: readonly string[]) => this.#take(decode(wire!)),
    getSignatureStatuses: ([all]: readonly string[][]) => this.#inContext(all!.map((name) => this.#status(name))),
    getSignaturesForAddress: ([where]: readonly string[]) =>
      this.#landed
        .filter(({ accounts }) => accounts.includes(where!))
        .map(({ signature, slot, err }) => ({
          signature,
          slot,
          err,
          blockTime: null,
          confirmationStatus: "finalized",
        })),
  };

  #account(where: string): unknown {
    const account = this.svm.getAccount(address(where));
    if (!account.exists) return null;
    const data = [Buffer.from(account.data).toString("base64"), "base64"];
    const { executable, programAddress: owner, space } = account;
    return { data, executable, lamports: account.lamports, owner, rentEpoch: 0, space };
  }

  /** Without regard to signatures, as nodes do it when they are told so. */
  #simulate(transaction: Transaction): unknown {
    this.svm.withSigverify(false);
    try {
      const outcome = this.svm.simulateTransaction(transaction);
      return { err: outcome instanceof FailedTransactionMetadata ? describe(outcome) : null, logs: [] };
    } finally {
      this.svm.withSigverify(true);
    }
  }

  #take(transaction: Transaction): string {
    if (this.mode === "keep") this.#kept.push(transaction);
    else if (this.mode !== "forget") this.#carryOut(transaction);
    return getBase58Decoder().decode(Object.values(transaction.signatures)[0] ?? new Uint8Array(64));
  }

  #status(name: string): unknown {
    const landed = this.#landed.find(({ signature }) => signature === name);
    if (landed === undefined) return null;
    const { slot, err } = landed;
    return { slot, confirmations: null, err, confirmationStatus: "finalized", status: { Ok: null } };
  }
}

function toAddress(key: PublicKey): Address {
  return address(key.toBase58());
}

function decode(wire: string): Transaction {
  return getTransactionDecoder().decode(Buffer.from(wire, "base64"));
}

function describe(failed: FailedTransactionMetadata): unknown {
  return { local: failed.toString().slice(0, 200) };
}

/** Only what fails while it is carried out gets into a block. */
function isOfInstruction(failed: FailedTransactionMetadata): boolean {
  return /InstructionError/.test(failed.toString());
}

/** All 32 bytes that stand where accounts do. */
function accountsOf({ messageBytes }: Transaction): string[] {
  const at = messageBytes[0]! >= 0x80 ? 4 : 3;
  const count = messageBytes[at]!;
  return Array.from({ length: count }, (_, nth) =>
    getBase58Decoder().decode(messageBytes.slice(at + 1 + nth * 32, at + 1 + (nth + 1) * 32)),
  );
}

async function readAll(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
