/**
 * Groups: transactions that are carried out together or not at all. Each carries the hash of them all.
 *
 * @see Algorand specification, "Transaction Groups"
 * @module
 */
import { sha512_256 } from "../hash.js";
import { mapHeader } from "./decode-map.js";
import type { Transaction } from "./read-transaction.js";

/** The most that a group can have. */
export const MAX_GROUP_SIZE = 16;

const PREFIX = "TG";
const KEY = Buffer.from("\xa6txlist", "latin1");
/** Bytes of 32, in a list. */
const MEMBER = Buffer.of(0xc4, 32);

/** Whether some transactions are one group, in this order. One alone need not say so. */
export function isGroup(transactions: readonly Transaction[]): boolean {
  const [only] = transactions;
  if (transactions.length === 1 && only?.group === undefined) return true;
  const id = groupId(transactions);
  return transactions.every(({ group }) => group?.equals(id) === true);
}

function groupId(transactions: readonly Transaction[]): Buffer {
  const members = transactions.flatMap(({ idInGroup }) => [MEMBER, idInGroup]);
  return sha512_256(PREFIX, mapHeader(1), KEY, listHeader(transactions.length), ...members);
}

/** A list of 16 has a longer header than a shorter one. */
function listHeader(length: number): Buffer {
  return length < 16 ? Buffer.of(0x90 | length) : Buffer.of(0xdc, 0, length);
}
