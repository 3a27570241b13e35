/**
 * The records of one process, and what follows from them: whose identifiers are taken, which answers there is room for, and
 * what may be forgotten by now.
 *
 * @module
 */
import { createAnswerRoom } from "./answer-room.js";
import type { PaymentRecord } from "./payment-record.js";
import { createRecordExpiries } from "./record-expiries.js";

/** Records by identity, each identifier once. Rules on who may write what are its caller's. */
export interface RecordTable {
  readonly size: number;
  get(identity: string): PaymentRecord | undefined;
  /** Whether a record has it. */
  hasIdentifier(identifier: string): boolean;
  /** Adds a record of a payment that has none, with an identifier that no record has. */
  add(record: PaymentRecord): void;
  /** Writes a record in place of the one that its payment has, `before`; its identifier can only go. */
  replace(before: PaymentRecord, record: PaymentRecord): void;
  remove(record: PaymentRecord): void;
  /** Removes every record whose time has passed. */
  removeExpired(nowMs: number): void;
  values(): Iterable<PaymentRecord>;
}

/** Creates an empty table. */
export function createRecordTable(maxAnswerBytes: number): RecordTable {
  const records = new Map<string, PaymentRecord>();
  const identifiers = new Set<string>();
  const expiries = createRecordExpiries();
  const room = createAnswerRoom(maxAnswerBytes);

  const keepAnswer = ({ identity, answer }: PaymentRecord) => {
    for (const crowdedOut of room.keep(identity, answer)) {
      const other = records.get(crowdedOut);
      if (other !== undefined) records.set(crowdedOut, Object.freeze(withoutAnswer(other)));
    }
  };
  const forget = ({ identity, identifier }: PaymentRecord) => {
    records.delete(identity);
    if (identifier !== undefined) identifiers.delete(identifier);
    room.keep(identity, undefined);
  };
  return {
    get size() {
      return records.size;
    },
    get: (identity) => records.get(identity),
    hasIdentifier: (identifier) => identifiers.has(identifier),
    add(record) {
      records.set(record.identity, Object.freeze(record));
      if (record.identifier !== undefined) identifiers.add(record.identifier);
      expiries.add(record);
      keepAnswer(record);
    },
    replace(before, record) {
      records.set(record.identity, Object.freeze(record));
      if (before.identifier !== undefined && record.identifier === undefined) identifiers.delete(before.identifier);
      // An answer is as old as when it was written, whatever becomes of its payment meanwhile.
      if (record.answer !== before.answer) keepAnswer(record);
    },
    remove(record) {
      forget(record);
      expiries.remove(record);
    },
    removeExpired(nowMs) {
      for (const identity of expiries.passed(nowMs)) {
        const record = records.get(identity);
        if (record !== undefined) forget(record);
      }
    },
    values: () => records.values(),
  };
}

function withoutAnswer({ answer: _, ...rest }: PaymentRecord): PaymentRecord {
  return rest;
}
