/**
 * Reads Solana transactions in their wire form: signatures, and the message that was signed.
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

/** A transaction whose parts fit together as the runtime demands. Their meaning is not checked. */
export interface Transaction {
  /** One for each signer, in order; zeros for a missing signature. */
  readonly signatures: readonly Buffer[];
  /** The bytes that are signed. */
  readonly message: Buffer;
  /** All accounts that must sign; the first pays the fee. */
  readonly signers: readonly Buffer[];
  /** The hash of a recent block. The transaction is valid for some 150 blocks after that one. */
  readonly blockhash: Buffer;
  readonly instructions: readonly Instruction[];
}

/** The size of one network packet, and the maximum of a transaction. */
export const MAX_TRANSACTION_BYTES = 1232;

const MAX_BASE64_LENGTH = 4 * Math.ceil(MAX_TRANSACTION_BYTES / 3);

/** If its highest bit is set, the first byte of a message is a version. Otherwise the message is a legacy one. */
const VERSION_0 = 0x80;

/**
 * Reads a transaction in base64, with a legacy or a version 0 message; `undefined` when it is not one. Total.
 *
 * A transaction with address lookup tables is refused, because only the chain knows their accounts. A payment has few enough
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

/** Accepts only canonical base64: with its padding, and without other characters. */
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

/** The runtime demands that the first signer is writable, and that no account is listed twice. */
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
