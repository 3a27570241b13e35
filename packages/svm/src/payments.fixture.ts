/**
 * Builds payments with `@solana/web3.js`, which no seller's code here uses. So the tests read what another library wrote.
 *
 * @module
 */
import type { PaymentRequirements } from "@farebox/core";
import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";

export {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  VersionedTransaction,
};

export const NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";

export const USDC: PublicKey = new PublicKey("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU");
export const TOKEN: PublicKey = new PublicKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
export const TOKEN_2022: PublicKey = new PublicKey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
export const ASSOCIATED_TOKEN: PublicKey = new PublicKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
export const MEMO: PublicKey = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
export const LIGHTHOUSE: PublicKey = new PublicKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");

/** A key pair by number, the same in each run. */
export function keypair(seed: number): Keypair {
  return Keypair.fromSeed(Buffer.alloc(32, seed));
}

export const PAYER: Keypair = keypair(1);
export const FEE_PAYER: Keypair = keypair(2);
export const PAY_TO: PublicKey = keypair(3).publicKey;
export const STRANGER: Keypair = keypair(4);

/** Derived by the library. */
export function tokenAccount(owner: PublicKey, mint: PublicKey = USDC, program: PublicKey = TOKEN): PublicKey {
  const seeds = [owner.toBuffer(), program.toBuffer(), mint.toBuffer()];
  return PublicKey.findProgramAddressSync(seeds, ASSOCIATED_TOKEN)[0];
}

/** The terms, with the given changes. */
export function requirements(change: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return {
    scheme: "exact",
    network: NETWORK,
    amount: "1000",
    asset: USDC.toBase58(),
    payTo: PAY_TO.toBase58(),
    maxTimeoutSeconds: 300,
    extra: { feePayer: FEE_PAYER.publicKey.toBase58() },
    ...change,
  };
}

/** The fields of a transfer. */
export interface TransferParts {
  readonly program: PublicKey;
  readonly kind: number;
  readonly source: PublicKey;
  readonly mint: PublicKey;
  readonly destination: PublicKey;
  readonly authority: PublicKey;
  readonly amount: bigint;
  readonly decimals: number;
}

/** A `TransferChecked`. */
export function transfer(change: Partial<TransferParts> = {}): TransactionInstruction {
  const { program = TOKEN, mint = USDC, authority = PAYER.publicKey } = change;
  const { source = tokenAccount(authority, mint, program), destination = tokenAccount(PAY_TO, mint, program) } = change;
  const data = Buffer.alloc(10);
  data.writeUInt8(change.kind ?? 12, 0);
  data.writeBigUInt64LE(change.amount ?? 1000n, 1);
  data.writeUInt8(change.decimals ?? 6, 9);
  return instruction(program, data, [
    { pubkey: source, isWritable: true, isSigner: false },
    { pubkey: mint, isWritable: false, isSigner: false },
    { pubkey: destination, isWritable: true, isSigner: false },
    { pubkey: authority, isWritable: false, isSigner: true },
  ]);
}

/** Any instruction. */
export function instruction(
  programId: PublicKey,
  data: Uint8Array | string | readonly number[],
  keys: TransactionInstruction["keys"] = [],
): TransactionInstruction {
  return new TransactionInstruction({
    programId,
    keys,
    data: typeof data === "string" ? Buffer.from(data) : Buffer.from([...data]),
  });
}

export function memo(text: string | Uint8Array, keys: TransactionInstruction["keys"] = []): TransactionInstruction {
  return instruction(MEMO, text, keys);
}

export const LIMIT: TransactionInstruction = ComputeBudgetProgram.setComputeUnitLimit({ units: 20_000 });
export const PRICE: TransactionInstruction = ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 });

/** The instructions of an ordinary payment. */
export function ordinary(change: Partial<TransferParts> = {}): TransactionInstruction[] {
  return [LIMIT, PRICE, transfer(change), memo("a nonce")];
}

/** The parts of a transaction. */
export interface Plan {
  readonly instructions: readonly TransactionInstruction[];
  readonly feePayer: PublicKey;
  /** In base58. */
  readonly blockhash: string;
  readonly signers: readonly Keypair[];
  readonly version: "legacy" | 0;
  readonly tables: AddressLookupTableAccount[];
}

/** Builds an ordinary payment with the given changes, signed by the payer alone. */
export function transaction(change: Partial<Plan> = {}): VersionedTransaction {
  const { instructions = ordinary(), feePayer = FEE_PAYER.publicKey, version = 0, signers = [PAYER], tables } = change;
  const recentBlockhash = change.blockhash ?? keypair(9).publicKey.toBase58();
  const message = new TransactionMessage({ payerKey: feePayer, recentBlockhash, instructions: [...instructions] });
  const compiled = version === 0 ? message.compileToV0Message(tables) : message.compileToLegacyMessage();
  const built = new VersionedTransaction(compiled);
  if (signers.length > 0) built.sign([...signers]);
  return built;
}

/** The payload of a payment, in base64. */
export function payload(change: Partial<Plan> = {}): { readonly transaction: string } {
  return { transaction: encode(transaction(change)) };
}

export function encode(built: VersionedTransaction): string {
  return Buffer.from(built.serialize()).toString("base64");
}
