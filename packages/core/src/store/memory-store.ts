/**
 * The payment store of one process. Its records are lost when the process ends; the chains still refuse to settle a payment twice.
 *
 * Records are frozen and replaced as a whole, so that a caller can keep the one it was given. Every method runs without interruption,
 * which makes it atomic.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, describeValue } from "../errors.js";
import { isJsonObject } from "../protocol/json.js";
import { MemoryExposure } from "./memory-exposure.js";
import { MAX_LEDGER_ENTRIES, MemoryLedger } from "./memory-ledger.js";
import {
  type Claim,
  type ClaimRequest,
  MAX_ANSWER_BYTES,
  type PaymentRecord,
  type PaymentStore,
  RELEASABLE,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "./payment-store.js";

/** Limits of a memory store. */
export interface MemoryStoreOptions {
  /** Room for the bodies and headers of all kept responses, in bytes. The oldest delivered ones are dropped first. Default 64 MiB. */
  readonly maxAnswerBytes?: number;
  /** How many entries of the ledger are kept. The oldest are dropped first. Default 10000. */
  readonly maxLedgerEntries?: number;
}

type MemoryStore = PaymentStore & Required<Pick<PaymentStore, "exposure" | "ledger">> & { readonly size: number };

/** Records stay this long after their expiry, because an unknown outcome may still be asked for. */
const GRACE_MS = 10 * 60 * 1000;

/** Records are forgotten by the minute, so that a claim need not look at each of them. */
const MINUTE_MS = 60 * 1000;

/**
 * Creates a store in memory. A record is forgotten ten minutes after its payment has expired, a released one at once.
 *
 * @param now - The clock, in Unix milliseconds. Default `Date.now`.
 * @throws {@link ConfigError} when `now` is no function, or an option is unknown or invalid
 */
export function createMemoryStore(now: () => number = Date.now, options: MemoryStoreOptions = {}): MemoryStore {
  check(now, options);
  const { maxAnswerBytes = MAX_ANSWER_BYTES, maxLedgerEntries = MAX_LEDGER_ENTRIES } = options;
  const ledger = new MemoryLedger(maxLedgerEntries);
  const records = new Map<string, PaymentRecord>();
  const identifiers = new Set<string>();
  /** Transactions that have paid, and the identity of what each has paid. */
  const transactions = new Map<string, string>();
  /** Identities by the minute in which their records are forgotten. */
  const expiries = new Map<number, Set<string>>();
  let lastMinute = 0;
  /** The size of each kept response by identity, the oldest response first: those that a client got, and the others. */
  const deliveredSizes = new Map<string, number>();
  const owedSizes = new Map<string, number>();
  let responseBytes = 0;

  const store: MemoryStore = {
    exposure: new MemoryExposure(),
    ledger,
    get size() {
      return records.size;
    },
    claim(request: ClaimRequest): Claim {
      removeExpired();
      const record = records.get(request.identity);
      if (record !== undefined) return { kind: "taken", record };
      const { identifier } = request;
      if (identifier !== undefined && identifiers.has(identifier)) return { kind: "identifier_taken" };
      add({ ...request, state: "claimed" });
      return { kind: "claimed" };
    },
    find(identity: string): PaymentRecord | undefined {
      return records.get(identity);
    },
    transition(change: Transition): boolean {
      const record = records.get(change.identity);
      if (record === undefined || !isAllowed(record, change)) return false;
      if (change.transaction !== undefined) {
        if ((transactions.get(change.transaction) ?? record.identity) !== record.identity) return false;
        transactions.set(change.transaction, record.identity);
      }
      const changed = changeRecord(record, change);
      records.set(changed.identity, changed);
      if (record.identifier !== undefined && changed.identifier === undefined) identifiers.delete(record.identifier);
      // A response is as old as its writing; later transitions of the payment do not make it younger.
      if (change.answer !== undefined) keepResponse(changed);
      if (change.delivers === true) deliver(changed);
      if (change.entry !== undefined) ledger.add(change.entry);
      return true;
    },
    release(identity: string, owner: string): void {
      const record = records.get(identity);
      if (record?.owner !== owner || !RELEASABLE.includes(record.state)) return;
      remove(record);
    },
    async *unfinished(): AsyncIterable<PaymentRecord> {
      // Listed first: a payment that is released and claimed again during the walk would appear twice, or without end.
      const identities = [...records.values()].filter(isUnfinished).map(({ identity }) => identity);
      for (const identity of identities) {
        const record = records.get(identity);
        if (record !== undefined && isUnfinished(record)) yield record;
      }
    },
  };
  memoryStores.add(store);
  return store;

  function add(record: PaymentRecord): void {
    records.set(record.identity, Object.freeze(record));
    if (record.identifier !== undefined) identifiers.add(record.identifier);
    const minute = expiryMinute(record);
    const expiring = expiries.get(minute);
    if (expiring === undefined) expiries.set(minute, new Set([record.identity]));
    else expiring.add(record.identity);
  }

  /** Removes every trace of a record: payments that are refused must not fill the memory. */
  function remove(record: PaymentRecord): void {
    records.delete(record.identity);
    if (record.identifier !== undefined) identifiers.delete(record.identifier);
    if (record.transaction !== undefined) transactions.delete(record.transaction);
    dropResponse(record.identity);
    const minute = expiryMinute(record);
    const expiring = expiries.get(minute);
    expiring?.delete(record.identity);
    if (expiring?.size === 0) expiries.delete(minute);
  }

  function removeExpired(): void {
    const minute = Math.floor(now() / MINUTE_MS);
    if (minute === lastMinute) return;
    lastMinute = minute;
    for (const [due, identities] of expiries) {
      if (due > minute) continue;
      for (const identity of identities) {
        const record = records.get(identity);
        if (record !== undefined) remove(record);
      }
    }
  }

  /** Counts the response that a record has now, and drops the oldest responses until the rest fit. */
  function keepResponse({ identity, answer }: PaymentRecord): void {
    dropResponse(identity);
    if (answer === undefined) return;
    const size = sizeOfAnswer(answer);
    if (size > maxAnswerBytes) {
      forgetAnswer(identity);
      return;
    }
    owedSizes.set(identity, size);
    responseBytes += size;
    for (const sizes of [deliveredSizes, owedSizes]) {
      for (const oldest of sizes.keys()) {
        if (responseBytes <= maxAnswerBytes) return;
        dropResponse(oldest);
        forgetAnswer(oldest);
      }
    }
  }

  function deliver({ identity }: PaymentRecord): void {
    const size = owedSizes.get(identity);
    if (size === undefined) return;
    owedSizes.delete(identity);
    deliveredSizes.set(identity, size);
  }

  function dropResponse(identity: string): void {
    for (const sizes of [deliveredSizes, owedSizes]) {
      responseBytes -= sizes.get(identity) ?? 0;
      sizes.delete(identity);
    }
  }

  function forgetAnswer(identity: string): void {
    const record = records.get(identity);
    if (record === undefined) return;
    const { answer: _, ...rest } = record;
    records.set(identity, Object.freeze(rest));
  }
}

const memoryStores = new WeakSet<PaymentStore>();

/** Whether a store was created by `createMemoryStore`, so that other processes cannot see its records. */
export function isMemoryStore(store: PaymentStore): boolean {
  return memoryStores.has(store);
}

/** The options, and what each counts. */
const UNITS: Readonly<Record<string, string>> = { maxAnswerBytes: "bytes", maxLedgerEntries: "entries" };

/** For callers without types. A store that throws later answers every payment with 503. */
function check(now: unknown, options: unknown): void {
  const issues: ConfigIssue[] = [];
  const add = (path: string, expected: string, received: unknown) => {
    issues.push({ path, expected, received: describeValue(received) });
  };
  if (typeof now !== "function") {
    add("now", "a function that returns Unix milliseconds, as in createMemoryStore(Date.now, { maxAnswerBytes })", now);
  }
  if (!isJsonObject(options)) add("options", "an object such as { maxAnswerBytes: 1000000 }", options);
  else {
    for (const [name, value] of Object.entries(options)) {
      const unit = UNITS[name];
      if (unit === undefined) add(name, `no such option; there are ${Object.keys(UNITS).join(" and ")}`, value);
      // `value < 0` would let NaN pass.
      else if (value !== undefined && !(typeof value === "number" && value >= 0)) {
        add(name, `a number of ${unit}, from 0`, value);
      }
    }
  }
  if (issues.length > 0) throw new ConfigError(issues);
}

function isUnfinished({ state }: PaymentRecord): boolean {
  return UNFINISHED.includes(state);
}

function isAllowed(record: PaymentRecord, { from, to, owner }: Transition): boolean {
  return record.state === from && record.owner === owner && TRANSITIONS[from].includes(to);
}

/** The record after a change. A field that is `undefined` in the change stays as it is; `null` removes it. */
function changeRecord(record: PaymentRecord, change: Transition): PaymentRecord {
  const {
    facilitator = record.facilitator ?? null,
    identifier = record.identifier ?? null,
    request = record.request ?? null,
    leaseUntilMs = record.leaseUntilMs ?? null,
    answer = record.answer ?? null,
    mark = record.mark ?? null,
    receipt = record.receipt ?? null,
    transaction = record.transaction,
  } = change;
  return Object.freeze({
    identity: record.identity,
    binding: record.binding,
    state: change.to,
    owner: change.newOwner ?? record.owner,
    expiresAtMs: record.expiresAtMs,
    mode: record.mode,
    route: record.route,
    method: record.method,
    target: record.target,
    hasBody: record.hasBody,
    ...(facilitator !== null && { facilitator }),
    ...(identifier !== null && { identifier }),
    ...(request !== null && { request }),
    ...(leaseUntilMs !== null && { leaseUntilMs }),
    // A settlement is short, and most responses are dropped at its end: a body is copied only when it is kept for longer.
    ...(answer !== null && { answer: change.to === "settling" ? answer : withOwnBody(answer) }),
    ...(mark !== null && { mark }),
    ...(receipt !== null && { receipt }),
    ...(transaction !== undefined && { transaction }),
  });
}

/** A short body may be a view into a larger buffer, and would keep all of that buffer in memory. */
function withOwnBody(answer: StoredAnswer): StoredAnswer {
  const { body } = answer;
  if (body.byteLength === body.buffer.byteLength) return answer;
  const own = new Uint8Array(body);
  return { ...answer, body: Buffer.isBuffer(body) ? Buffer.from(own.buffer) : own };
}

/** The size of a kept response: the bytes of its headers and body. */
export function sizeOfAnswer({ headers, body }: StoredAnswer): number {
  const headerSizes = headers.map(([name, value]) => name.length + String(value).length);
  return headerSizes.reduce((sum, size) => sum + size, body.byteLength);
}

/** The minute at whose start a record may be forgotten. */
function expiryMinute({ expiresAtMs }: PaymentRecord): number {
  return Math.ceil((expiresAtMs + GRACE_MS) / MINUTE_MS);
}
