/**
 * Groups as a node takes them: each transaction in an envelope with its signature, in canonical MessagePack.
 *
 * @module
 */
import type { GroupMember } from "./chain.js";

const SIGNATURE = Buffer.from("\xa3sig\xc4\x40", "latin1");
const TRANSACTION = Buffer.from("\xa3txn", "latin1");

/** What a node is sent: the envelopes, one after the other. */
export function toWire(members: readonly GroupMember[]): Buffer {
  return Buffer.concat(members.map(toEnvelope));
}

/** The question what a group would do, in which signatures may be missing. */
export function toSimulateRequest(members: readonly GroupMember[]): Buffer {
  const head = Buffer.from("\x82\xb6allow-empty-signatures\xc3\xaatxn-groups\x91\x81\xa4txns", "latin1");
  // A list of 16 has a longer header than a shorter one.
  const list = members.length < 16 ? Buffer.of(0x90 | members.length) : Buffer.of(0xdc, 0, members.length);
  return Buffer.concat([head, list, toWire(members)]);
}

function toEnvelope({ bytes, signature }: GroupMember): Buffer {
  if (signature === undefined) return Buffer.concat([Buffer.of(0x81), TRANSACTION, bytes]);
  return Buffer.concat([Buffer.of(0x82), SIGNATURE, signature, TRANSACTION, bytes]);
}
