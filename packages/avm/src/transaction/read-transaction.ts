/**
 * Reads the transactions of a payment group, signed or not: payments of Algos and transfers of an asset. Transactions with
 * other fields are refused.
 *
 * @see Algorand specification, "Transactions" and "Transaction Groups"; x402 v2, scheme `exact` on Algorand, "Encoding"
 * @module
 */
import { SIGNATURE_BYTES } from "@farebox/core/scheme";
import { ADDRESS_BYTES, encodeBase32, HASH_BYTES, isZeroAddress, sha512_256 } from "../address.js";
import { decodeMap, type Entry, type Fields, mapHeader, type Value } from "./encoding.js";

/** A transaction, with addresses as bytes. A missing field is zero, or `undefined`. */
export interface Transaction {
  readonly type: "pay" | "axfer";
  readonly sender: Buffer;
  /** MicroAlgos. */
  readonly fee: bigint;
  /** The first and the last valid round. */
  readonly firstValid: bigint;
  readonly lastValid: bigint;
  readonly genesisHash: Buffer;
  readonly group: Buffer | undefined;
  /** Of Algos in a `pay`, of the asset in an `axfer`. */
  readonly amount: bigint;
  readonly receiver: Buffer | undefined;
  readonly asset: bigint;
  /** Fields that give away more than the amount, or take it from another account: `close`, `aclose`, `asnd`, `rekey`. */
  readonly dangers: readonly string[];
  /** The transaction's id on chain, in base32. */
  readonly id: string;
  /** The hash without the group. The group's hash is made of these. */
  readonly idInGroup: Buffer;
  /** The bytes that are signed, without the prefix. */
  readonly bytes: Buffer;
  readonly signing: Signing;
}

/** How a transaction is signed. `other`: a multisig, a program, or a key that is not the sender's. */
export type Signing =
  | { readonly kind: "none" }
  | { readonly kind: "single"; readonly signature: Buffer }
  | { readonly kind: "other" };

/** Precedes the bytes of a transaction when they are hashed or signed. */
export const SIGNED_PREFIX = "TX";

/** A note has at most 1024 bytes, and everything else 400. */
const MAX_TEXT_LENGTH = 2400;
const MAX_NOTE_BYTES = 1024;
const LEASE_BYTES = 32;

const DANGERS = ["aclose", "asnd", "close", "rekey"];
const EVERYWHERE = ["fee", "fv", "gen", "gh", "grp", "lv", "lx", "note", "rekey", "snd", "type"];
const KEYS: Readonly<Record<Transaction["type"], ReadonlySet<string>>> = {
  pay: new Set([...EVERYWHERE, "amt", "close", "rcv"]),
  axfer: new Set([...EVERYWHERE, "aamt", "aclose", "arcv", "asnd", "xaid"]),
};

/** Reads a transaction from base64: in its envelope, or bare if it is unsigned. `undefined` when it is not one. Total. */
export function readTransaction(text: unknown): Transaction | undefined {
  const bytes = decodeBase64(text);
  const fields = bytes === undefined ? undefined : decodeMap(bytes);
  if (bytes === undefined || fields === undefined) return undefined;
  const envelope = fields.get("txn");
  if (envelope === undefined) return readFields(fields, { bytes, signing: { kind: "none" } });
  const signing = readSigning(fields);
  if (!(envelope.value instanceof Map) || signing === undefined) return undefined;
  // The key "txn" takes 4 bytes, with its length.
  return readFields(envelope.value, { bytes: envelope.bytes.subarray(4), signing });
}

/** The key "sig" and the header of the bytes that follow, and the key "txn". */
const SIGNATURE_KEY = Buffer.from("\xa3sig\xc4\x40", "latin1");
const TRANSACTION_KEY = Buffer.from("\xa3txn", "latin1");

/** Writes a transaction to base64: in its envelope if its sender's key has signed it, otherwise bare. */
export function writeTransaction({ bytes, signing }: Transaction): string {
  if (signing.kind !== "single") return bytes.toString("base64");
  return Buffer.concat([mapHeader(2), SIGNATURE_KEY, signing.signature, TRANSACTION_KEY, bytes]).toString("base64");
}

function decodeBase64(text: unknown): Buffer | undefined {
  if (typeof text !== "string" || text.length > MAX_TEXT_LENGTH) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

function readSigning(envelope: Fields): Signing | undefined {
  const keys = [...envelope.keys()].filter((key) => key !== "txn");
  if (keys.length === 0) return { kind: "none" };
  const signature = readBytes(envelope.get("sig"), SIGNATURE_BYTES);
  return keys.length === 1 && signature !== undefined ? { kind: "single", signature } : { kind: "other" };
}

function readFields(
  fields: Fields,
  { bytes, signing }: { readonly bytes: Buffer; readonly signing: Signing },
): Transaction | undefined {
  const type = fields.get("type")?.value;
  if (type !== "pay" && type !== "axfer") return undefined;
  if (![...fields.keys()].every((key) => KEYS[type].has(key)) || !isWellFormed(fields)) return undefined;
  const number = (key: string) => readNumber(fields.get(key)?.value);
  const sender = readBytes(fields.get("snd"), ADDRESS_BYTES);
  const genesisHash = readBytes(fields.get("gh"), HASH_BYTES);
  if (sender === undefined || genesisHash === undefined) return undefined;
  return {
    ...{ type, sender, genesisHash, bytes, signing },
    fee: number("fee"),
    firstValid: number("fv"),
    lastValid: number("lv"),
    group: readBytes(fields.get("grp"), HASH_BYTES),
    amount: number(type === "pay" ? "amt" : "aamt"),
    receiver: readBytes(fields.get(type === "pay" ? "rcv" : "arcv"), ADDRESS_BYTES),
    asset: number("xaid"),
    dangers: DANGERS.filter((key) => fields.has(key)),
    id: encodeBase32(sha512_256(SIGNED_PREFIX, bytes)),
    idInGroup: sha512_256(SIGNED_PREFIX, withoutGroup(fields)),
  };
}

/** The form of each field. */
const FORMS: Readonly<Record<string, (value: Value) => boolean>> = {
  ...of(["aamt", "amt", "fee", "fv", "lv", "xaid"], (value) => typeof value === "bigint"),
  ...of(["aclose", "arcv", "asnd", "close", "rcv", "rekey", "snd"], isFilled(ADDRESS_BYTES)),
  ...of(["gh", "grp"], isFilled(HASH_BYTES)),
  lx: isFilled(LEASE_BYTES),
  ...of(["gen", "type"], (value) => typeof value === "string"),
  note: (value) => Buffer.isBuffer(value) && value.length <= MAX_NOTE_BYTES,
};

function isWellFormed(fields: Fields): boolean {
  return [...fields].every(([key, { value }]) => FORMS[key]?.(value) === true);
}

function of<T>(keys: readonly string[], form: T): Record<string, T> {
  return Object.fromEntries(keys.map((key) => [key, form]));
}

/** Zeros alone would have been omitted. */
function isFilled(length: number): (value: Value) => boolean {
  return (value) => Buffer.isBuffer(value) && value.length === length && !isZeroAddress(value);
}

function readNumber(value: Value | undefined): bigint {
  return typeof value === "bigint" ? value : 0n;
}

function readBytes(entry: Entry | undefined, length: number): Buffer | undefined {
  const value = entry?.value;
  return Buffer.isBuffer(value) && value.length === length ? value : undefined;
}

function withoutGroup(fields: Fields): Buffer {
  const kept = [...fields].filter(([key]) => key !== "grp").map(([, { bytes }]) => bytes);
  return Buffer.concat([mapHeader(kept.length), ...kept]);
}

/** The most that a group can have. */
export const MAX_GROUP_SIZE = 16;

const GROUP_PREFIX = "TG";
const LIST_KEY = Buffer.from("\xa6txlist", "latin1");
/** Precedes each hash in the list: 32 bytes follow. */
const MEMBER_HEADER = Buffer.of(0xc4, 32);

/** Whether transactions are one group, in this order: each contains the hash of all. A single transaction need not. */
export function isGroup(transactions: readonly Transaction[]): boolean {
  const [only] = transactions;
  if (transactions.length === 1 && only?.group === undefined) return true;
  const id = groupId(transactions);
  return transactions.every(({ group }) => group?.equals(id) === true);
}

function groupId(transactions: readonly Transaction[]): Buffer {
  const members = transactions.flatMap(({ idInGroup }) => [MEMBER_HEADER, idInGroup]);
  return sha512_256(GROUP_PREFIX, mapHeader(1), LIST_KEY, listHeader(transactions.length), ...members);
}

/** A list of 16 has a longer header than a shorter one. */
function listHeader(length: number): Buffer {
  return length < 16 ? Buffer.of(0x90 | length) : Buffer.of(0xdc, 0, length);
}
