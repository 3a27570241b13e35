/**
 * The state of the local Solana network: LiteSVM, which runs the real programs, and a history of the executed transactions.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Address, Transaction } from "@solana/kit";
import type { FailedTransactionMetadata, LiteSVM } from "litesvm";
import { LocalChainError } from "../local-chain/rpc.js";

/** The packages that the network needs. They are loaded only when one is started. */
export interface Libraries {
  readonly litesvm: typeof import("litesvm");
  readonly kit: typeof import("@solana/kit");
}

/**
 * Loads the packages.
 *
 * @throws {@link LocalChainError} when one is not installed, or does not support this platform
 */
export async function loadLibraries(): Promise<Libraries> {
  try {
    const [litesvm, kit] = await Promise.all([import("litesvm"), import("@solana/kit")]);
    return { litesvm, kit };
  } catch (cause) {
    throw new LocalChainError("a local Solana network needs the packages litesvm and @solana/kit", { cause });
  }
}

/** The number of blocks for which a blockhash is valid. */
const BLOCKHASH_LIFE = 150;

const SECONDS_PER_BLOCK = 0.4;

/** A transaction in a block. */
export interface Landed {
  readonly signature: string;
  readonly slot: number;
  /** `null` for a successful transaction. */
  readonly err: unknown;
  readonly accounts: readonly string[];
  /** Of the token accounts among them, by their index. */
  readonly balances: { readonly before: readonly TokenBalance[]; readonly after: readonly TokenBalance[] };
}

/** What a token account holds, as nodes tell it. */
export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly uiTokenAmount: { readonly amount: string };
}

const TOKEN_PROGRAMS = ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"];

/** The length of a token account without extensions. A mint is shorter. */
const TOKEN_ACCOUNT_BYTES = 165;

/** An existing account. */
type Account = Extract<ReturnType<LiteSVM["getAccount"]>, { readonly exists: true }>;

/** A bank with a history. */
export class Bank {
  readonly svm: LiteSVM;
  readonly #libraries: Libraries;
  readonly #landed: Landed[] = [];
  #slot = 1000;
  #blockhashAge = 0;
  /** The part of a block for which time has passed. */
  #blocksDue = 0;

  constructor(libraries: Libraries) {
    this.#libraries = libraries;
    this.svm = new libraries.litesvm.LiteSVM();
  }

  get slot(): number {
    return this.#slot;
  }

  /** All transactions in blocks, newest first. */
  get landed(): readonly Landed[] {
    return this.#landed;
  }

  /** For how many more blocks transactions may have the last blockhash. */
  get blocksLeft(): number {
    return BLOCKHASH_LIFE - this.#blockhashAge;
  }

  /** Advances the chain, so that the last blockhash expires. */
  expireBlockhash(): void {
    this.#slot++;
    this.#blockhashAge = 0;
    this.svm.expireBlockhash();
  }

  /** Advances the chain by the blocks of some whole seconds, and its clock. The last blockhash expires if it gets too old. */
  passTime(seconds: number): void {
    const clock = this.svm.getClock();
    clock.unixTimestamp += BigInt(seconds);
    this.svm.setClock(clock);
    this.#blocksDue += seconds / SECONDS_PER_BLOCK;
    const blocks = Math.floor(this.#blocksDue);
    this.#blocksDue -= blocks;
    this.#slot += blocks;
    this.#blockhashAge += blocks;
    if (this.#blockhashAge > BLOCKHASH_LIFE) this.expireBlockhash();
  }

  /** The last 150 blockhashes as their account has them, the newest first. Only one of them is of a transaction. */
  recentBlockhashes(): Buffer {
    const toBytes = this.#libraries.kit.getBase58Encoder();
    const entries = Array.from({ length: BLOCKHASH_LIFE }, (_, age) => {
      const isLast = age === this.#blockhashAge;
      const hash = isLast
        ? Buffer.from(toBytes.encode(this.svm.latestBlockhash()))
        : createHash("sha256")
            .update(`block ${this.#slot - age}`)
            .digest();
      return Buffer.concat([hash, Buffer.alloc(8)]);
    });
    const count = Buffer.alloc(8);
    count.writeUInt32LE(entries.length);
    return Buffer.concat([count, ...entries]);
  }

  setAccount(where: string, program: string, data: Uint8Array): void {
    const space = BigInt(data.length);
    const rent = this.#libraries.kit.lamports(this.svm.minimumBalanceForRentExemption(space));
    const [address, programAddress] = [this.#address(where), this.#address(program)];
    this.svm.setAccount({ address, programAddress, data, executable: false, lamports: rent, space });
  }

  /** An account; `undefined` if it does not exist. */
  account(where: string): Account | undefined {
    const account = this.svm.getAccount(this.#address(where));
    return account.exists ? account : undefined;
  }

  airdrop(where: string, lamports: bigint): void {
    this.svm.airdrop(this.#address(where), this.#libraries.kit.lamports(lamports));
  }

  lamportsOf(where: string): bigint {
    return this.svm.getBalance(this.#address(where)) ?? 0n;
  }

  /** Reads a transaction in base64. */
  decode(wire: string): Transaction {
    return this.#libraries.kit.getTransactionDecoder().decode(Buffer.from(wire, "base64"));
  }

  /** The first signature, which is the transaction's id. */
  nameOf({ signatures }: Transaction): string {
    const [first] = Object.values(signatures);
    return this.#libraries.kit.getBase58Decoder().decode(first ?? new Uint8Array(64));
  }

  /** LiteSVM refuses some transactions at once, e.g. for a bad signature or a repetition. Those get into no block. */
  carryOut(transaction: Transaction): void {
    const signature = this.nameOf(transaction);
    if (this.#landed.some((landed) => landed.signature === signature)) return;
    const accounts = this.#accountsOf(transaction);
    const before = this.#tokenBalances(accounts);
    const outcome = this.#send(transaction);
    if (outcome === "refused") return;
    const err = outcome === undefined ? null : describe(outcome);
    const balances = { before, after: this.#tokenBalances(accounts) };
    this.#landed.unshift({ signature, slot: ++this.#slot, err, accounts, balances });
  }

  #tokenBalances(accounts: readonly string[]): readonly TokenBalance[] {
    const toText = this.#libraries.kit.getBase58Decoder();
    return accounts.flatMap((where, accountIndex) => {
      const account = this.account(where);
      if (account === undefined || !TOKEN_PROGRAMS.includes(account.programAddress)) return [];
      const data = Buffer.from(account.data);
      if (data.length < TOKEN_ACCOUNT_BYTES) return [];
      const [mint, owner] = [toText.decode(data.subarray(0, 32)), toText.decode(data.subarray(32, 64))];
      const amount = data.readBigUInt64LE(64).toString();
      return [{ accountIndex, mint, owner, programId: account.programAddress, uiTokenAmount: { amount } }];
    });
  }

  /** The error of a trial; `null` for success. Signatures are not verified, like in a node that is told so. */
  simulate(transaction: Transaction): unknown {
    this.svm.withSigverify(false);
    try {
      const outcome = this.svm.simulateTransaction(transaction);
      return this.#isFailed(outcome) ? describe(outcome) : null;
    } finally {
      this.svm.withSigverify(true);
    }
  }

  #send(transaction: Transaction): FailedTransactionMetadata | "refused" | undefined {
    try {
      const outcome = this.svm.sendTransaction(transaction);
      if (!this.#isFailed(outcome)) return undefined;
      return /InstructionError/.test(outcome.toString()) ? outcome : "refused";
    } catch {
      return "refused";
    }
  }

  #isFailed(outcome: object): outcome is FailedTransactionMetadata {
    return outcome instanceof this.#libraries.litesvm.FailedTransactionMetadata;
  }

  /** The accounts that a message names itself, without lookup tables. */
  #accountsOf({ messageBytes }: Transaction): readonly string[] {
    const { staticAccounts } = this.#libraries.kit.getCompiledTransactionMessageDecoder().decode(messageBytes);
    return staticAccounts;
  }

  #address(text: string): Address {
    return this.#libraries.kit.address(text);
  }
}

function describe(failed: FailedTransactionMetadata): unknown {
  return { local: failed.toString().slice(0, 200) };
}
