/**
 * What is on the local Solana network: LiteSVM, which runs the real programs, and a memory of what it carried out.
 *
 * @module
 */
import type { Address, Transaction } from "@solana/kit";
import type { FailedTransactionMetadata, LiteSVM } from "litesvm";
import type { Libraries } from "./libraries.js";

/** A transaction that is in a block. */
export interface Landed {
  readonly signature: string;
  readonly slot: number;
  /** `null` where it did what it was to do. */
  readonly err: unknown;
  readonly accounts: readonly string[];
}

/** An account that is there. */
type Account = Extract<ReturnType<LiteSVM["getAccount"]>, { readonly exists: true }>;

/** A bank with a memory. */
export class Bank {
  readonly svm: LiteSVM;
  readonly #libraries: Libraries;
  readonly #landed: Landed[] = [];
  #slot = 1000;

  constructor(libraries: Libraries) {
    this.#libraries = libraries;
    this.svm = new libraries.litesvm.LiteSVM();
  }

  get slot(): number {
    return this.#slot;
  }

  /** Everything that is in a block, the newest first. */
  get landed(): readonly Landed[] {
    return this.#landed;
  }

  /** Blocks go on, and the last one's hash is good no more. */
  expireBlockhash(): void {
    this.#slot++;
    this.svm.expireBlockhash();
  }

  setAccount(where: string, program: string, data: Uint8Array): void {
    const space = BigInt(data.length);
    const rent = this.#libraries.kit.lamports(this.svm.minimumBalanceForRentExemption(space));
    const [address, programAddress] = [this.#address(where), this.#address(program)];
    this.svm.setAccount({ address, programAddress, data, executable: false, lamports: rent, space });
  }

  /** An account; `undefined` where there is none. */
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

  /** The first signature, by which a transaction goes. */
  nameOf({ signatures }: Transaction): string {
    const [first] = Object.values(signatures);
    return this.#libraries.kit.getBase58Decoder().decode(first ?? new Uint8Array(64));
  }

  /** What LiteSVM refuses before it begins, such as a bad signature or a transaction it has had, gets into no block. */
  carryOut(transaction: Transaction): void {
    const signature = this.nameOf(transaction);
    if (this.#landed.some((landed) => landed.signature === signature)) return;
    const outcome = this.#send(transaction);
    if (outcome === "refused") return;
    const err = outcome === undefined ? null : describe(outcome);
    this.#landed.unshift({ signature, slot: ++this.#slot, err, accounts: this.#accountsOf(transaction) });
  }

  /** What would go wrong, `null` where nothing would; without regard to signatures, as nodes do it when told so. */
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

  /** All that a message names by itself. */
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
