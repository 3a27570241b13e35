/**
 * Solana transactions in their wire form: signatures, and the message that they are over.
 *
 * @see Solana documentation, "Transaction structure"; SIMD-0083 and the versioned transactions proposal for version 0
 * @module
 */
import { SIGNATURE_BYTES } from "@farebox/core/scheme";
import { ADDRESS_BYTES } from "../address.js";
import { ByteReader, UNREADABLE } from "./encoding.js";

/** A call of a program, with its accounts and its data. */
export interface Instruction {
  readonly program: Buffer;
  readonly accounts: readonly Buffer[];
  readonly data: Buffer;
}

/** A transaction whose parts fit together as the runtime demands before it looks at what is in them. */
export interface Transaction {
  /** One for each signer, in their order; zeros where a signature is missing. */
  readonly signatures: readonly Buffer[];
  /** The bytes that are signed. */
  readonly message: Buffer;
  /** All who have to sign; the first pays the fee. */
  readonly signers: readonly Buffer[];
  /** A recent block's, in base58 32 to 44 characters. The transaction is good for some 150 blocks after that one. */
  readonly blockhash: Buffer;
  readonly instructions: readonly Instruction[];
}

/** One packet of the network, and so the most that a transaction can have. */
export const MAX_TRANSACTION_BYTES = 1232;

const MAX_BASE64_LENGTH = 4 * Math.ceil(MAX_TRANSACTION_BYTES / 3);

/** With a set highest bit the first byte of a message is a version, else a legacy message begins. */
const VERSION_0 = 0x80;

/**
 * Reads a transaction in base64, of a legacy or a version 0 message; `undefined` when it is not one. Total.
 *
 * A transaction that looks up accounts in a table is not read, because only the chain knows them. A payment has few enough
 * accounts to name them all.
 */
export function readTransaction(text: unknown): Transaction | undefined {
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length > MAX_TRANSACTION_BYTES) return undefined;
  try {
    return readParts(new ByteReader(bytes));
  } catch (error) {
    if (error === UNREADABLE) return undefined;
    throw error;
  }
}

/** Each payment has one form: base64 with its padding, and no other character. */
function decodeBase64(text: unknown): Buffer | undefined {
  if (typeof text !== "string" || text.length > MAX_BASE64_LENGTH) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

function readParts(reader: ByteReader): Transaction {
  const signatures = reader.list(() => reader.bytes(SIGNATURE_BYTES));
  const message = reader.rest;
  const isLegacy = reader.peek() < VERSION_0;
  if (!isLegacy && reader.byte() !== VERSION_0) throw UNREADABLE;
  const header = readHeader(reader);
  const accounts = reader.list(() => reader.bytes(ADDRESS_BYTES));
  const blockhash = reader.bytes(ADDRESS_BYTES);
  const calls = reader.list(() => readCall(reader));
  const lookups = isLegacy ? 0 : reader.length();
  if (lookups > 0 || reader.left > 0) throw UNREADABLE;
  checkAccounts(accounts, header);
  if (signatures.length !== header.signers) throw UNREADABLE;
  const signers = accounts.slice(0, header.signers);
  return { signatures, message, signers, blockhash, instructions: calls.map((call) => resolve(call, accounts)) };
}

interface Header {
  readonly signers: number;
  readonly readonlySigners: number;
  readonly readonlyOthers: number;
}

function readHeader(reader: ByteReader): Header {
  return { signers: reader.byte(), readonlySigners: reader.byte(), readonlyOthers: reader.byte() };
}

/** The runtime demands that the first signer can be charged, and that no account comes twice. */
function checkAccounts(accounts: readonly Buffer[], { signers, readonlySigners, readonlyOthers }: Header): void {
  const areDistinct = new Set(accounts.map((account) => account.toString("latin1"))).size === accounts.length;
  const fits = readonlySigners < signers && signers + readonlyOthers <= accounts.length;
  if (!areDistinct || !fits) throw UNREADABLE;
}

interface Call {
  readonly program: number;
  readonly accounts: readonly number[];
  readonly data: Buffer;
}

function readCall(reader: ByteReader): Call {
  const program = reader.byte();
  const accounts = reader.list(() => reader.byte());
  return { program, accounts, data: reader.bytes(reader.length()) };
}

function resolve({ program, accounts, data }: Call, all: readonly Buffer[]): Instruction {
  // The fee payer cannot be a program.
  if (program === 0) throw UNREADABLE;
  return { program: accountAt(program, all), accounts: accounts.map((at) => accountAt(at, all)), data };
}

function accountAt(index: number, accounts: readonly Buffer[]): Buffer {
  const account = accounts[index];
  if (account === undefined) throw UNREADABLE;
  return account;
}
