/**
 * The records of one process, and what follows from them: whose identifiers are taken, which answers there is room for, and
 * what may be forgotten by now.
 *
 * @module
 */
import { createAnswerRoom } from "./answer-room.js";
import { HeldRecord } from "./held-record.js";
import type { ClaimRequest, Transition } from "./payment-store.js";
import { createRecordExpiries } from "./record-expiries.js";

/** Records by identity, each identifier once. Rules on who may write what are its caller's. */
export interface RecordTable {
  readonly size: number;
  get(identity: string): HeldRecord | undefined;
  /** Whether a record has it. */
  hasIdentifier(identifier: string): boolean;
  /** Adds a record of a payment that has none, with an identifier that no record has. */
  add(claim: ClaimRequest): void;
  /** Changes a record. */
  change(record: HeldRecord, change: Transition): void;
  remove(record: HeldRecord): void;
  /** Removes every record whose time has passed. */
  removeExpired(nowMs: number): void;
  values(): Iterable<HeldRecord>;
}

/** Creates an empty table. */
export function createRecordTable(maxAnswerBytes: number): RecordTable {
  const records = new Map<string, HeldRecord>();
  const identifiers = new Set<string>();
  const expiries = createRecordExpiries<HeldRecord>();
  const room = createAnswerRoom(maxAnswerBytes);

  const keepAnswer = ({ identity, answer }: HeldRecord) => {
    for (const crowdedOut of room.keep(identity, answer)) {
      records.get(crowdedOut)?.forgetAnswer();
    }
  };
  const forget = ({ identity, identifier, answer }: HeldRecord) => {
    records.delete(identity);
    if (identifier !== undefined) identifiers.delete(identifier);
    if (answer !== undefined) room.keep(identity, undefined);
  };
  return {
    get size() {
      return records.size;
    },
    get: (identity) => records.get(identity),
    hasIdentifier: (identifier) => identifiers.has(identifier),
    add(claim) {
      const record = new HeldRecord(claim);
      records.set(record.identity, record);
      if (record.identifier !== undefined) identifiers.add(record.identifier);
      expiries.add(record);
    },
    change(record, change) {
      const { identifier, answer } = record;
      record.apply(change);
      if (identifier !== undefined && record.identifier === undefined) identifiers.delete(identifier);
      // An answer is as old as when it was written, whatever becomes of its payment meanwhile.
      if (record.answer !== answer) keepAnswer(record);
    },
    remove(record) {
      forget(record);
      expiries.remove(record);
    },
    removeExpired(nowMs) {
      for (const record of expiries.passed(nowMs)) forget(record);
    },
    values: () => records.values(),
  };
}
