/**
 * The payment store of one process. Its records are lost when the process ends; the chains still refuse to settle a payment twice.
 *
 * A record is changed in place. A caller gets a frozen copy, which it can keep. Every method runs without interruption, which makes it
 * atomic.
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

/** A record as this store has it. */
type Stored = { -readonly [Field in keyof Required<PaymentRecord>]: PaymentRecord[Field] } & {
  /** The minute at whose start it may be forgotten. */
  readonly lastMinute: number;
  /** The size of the response that it keeps. */
  answerBytes: number;
  /** What callers got of it since its last change. */
  copy: PaymentRecord | undefined;
};

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
  const records = new Map<string, Stored>();
  const identifiers = new Set<string>();
  /** Transactions that have paid, and the identity of what each has paid. */
  const transactions = new Map<string, string>();
  /** Records by the minute in which they are forgotten. */
  const expiries = new Map<number, Set<Stored>>();
  let minute = 0;
  /** Records that keep a response, the oldest response first: those whose response a client got, and the others. */
  const delivered = new Set<Stored>();
  const owed = new Set<Stored>();
  let responseBytes = 0;

  const store: MemoryStore = {
    exposure: new MemoryExposure(),
    ledger,
    get size() {
      return records.size;
    },
    claim(request: ClaimRequest): Claim {
      const currentMinute = Math.floor(now() / MINUTE_MS);
      if (currentMinute !== minute) removeExpired(currentMinute);
      const { identity, identifier, expiresAtMs } = request;
      const known = records.get(identity);
      if (known !== undefined) return { kind: "taken", record: copyOf(known) };
      if (identifier !== undefined) {
        if (identifiers.has(identifier)) return { kind: "identifier_taken" };
        identifiers.add(identifier);
      }
      const stored: Stored = {
        identity,
        binding: request.binding,
        state: "claimed",
        owner: request.owner,
        expiresAtMs,
        mode: request.mode,
        route: request.route,
        method: request.method,
        target: request.target,
        hasBody: request.hasBody,
        facilitator: undefined,
        identifier,
        request: undefined,
        leaseUntilMs: request.leaseUntilMs,
        answer: undefined,
        mark: undefined,
        receipt: undefined,
        transaction: undefined,
        lastMinute: Math.ceil((expiresAtMs + GRACE_MS) / MINUTE_MS),
        answerBytes: 0,
        copy: undefined,
      };
      records.set(identity, stored);
      const expiring = expiries.get(stored.lastMinute);
      if (expiring === undefined) expiries.set(stored.lastMinute, new Set([stored]));
      else expiring.add(stored);
      return { kind: "claimed" };
    },
    find(identity: string): PaymentRecord | undefined {
      const stored = records.get(identity);
      return stored && copyOf(stored);
    },
    transition(change: Transition): boolean {
      const { identity, from, to, answer, transaction } = change;
      const stored = records.get(identity);
      if (stored === undefined || stored.state !== from || stored.owner !== change.owner) return false;
      if (!TRANSITIONS[from].includes(to)) return false;
      if (transaction !== undefined) {
        if ((transactions.get(transaction) ?? identity) !== identity) return false;
        transactions.set(transaction, identity);
      }
      if (change.identifier === null && stored.identifier !== undefined) identifiers.delete(stored.identifier);
      changeRecord(stored, change);
      if (answer !== undefined) keepAnswer(stored, answer ?? undefined);
      // A settlement is short, and most responses are dropped at its end: a body is copied only when it is kept for longer.
      if (to !== "settling" && stored.answer !== undefined) stored.answer = withOwnBody(stored.answer);
      if (change.delivers === true && owed.delete(stored)) delivered.add(stored);
      if (change.entry !== undefined) ledger.add(change.entry);
      return true;
    },
    release(identity: string, owner: string): void {
      const stored = records.get(identity);
      if (stored?.owner !== owner || !RELEASABLE.includes(stored.state)) return;
      remove(stored);
    },
    async *unfinished(): AsyncIterable<PaymentRecord> {
      // Listed first: a payment that is released and claimed again during the walk would appear twice, or without end.
      const identities = [...records.values()].flatMap(({ state, identity }) =>
        UNFINISHED.includes(state) ? [identity] : [],
      );
      for (const identity of identities) {
        const stored = records.get(identity);
        if (stored !== undefined && UNFINISHED.includes(stored.state)) yield copyOf(stored);
      }
    },
  };
  memoryStores.add(store);
  return store;

  /** Removes every trace of a record: payments that are refused must not fill the memory. */
  function remove(stored: Stored): void {
    records.delete(stored.identity);
    if (stored.identifier !== undefined) identifiers.delete(stored.identifier);
    if (stored.transaction !== undefined) transactions.delete(stored.transaction);
    keepAnswer(stored, undefined);
    const expiring = expiries.get(stored.lastMinute);
    expiring?.delete(stored);
    if (expiring?.size === 0) expiries.delete(stored.lastMinute);
  }

  function removeExpired(currentMinute: number): void {
    minute = currentMinute;
    for (const [due, expired] of expiries) if (due <= currentMinute) for (const stored of expired) remove(stored);
  }

  /** Replaces the response that a record keeps. One that is written again is the youngest. */
  function keepAnswer(stored: Stored, answer: StoredAnswer | undefined): void {
    delivered.delete(stored);
    owed.delete(stored);
    responseBytes -= stored.answerBytes;
    const bytes = answer === undefined ? 0 : sizeOfAnswer(answer);
    stored.answer = bytes > maxAnswerBytes ? undefined : answer;
    stored.answerBytes = bytes > maxAnswerBytes ? 0 : bytes;
    stored.copy = undefined;
    if (stored.answer === undefined) return;
    owed.add(stored);
    responseBytes += bytes;
    if (responseBytes > maxAnswerBytes) makeRoom();
  }

  /** Drops the oldest responses until the rest fit. */
  function makeRoom(): void {
    for (const keeping of [delivered, owed]) {
      for (const oldest of keeping) {
        if (responseBytes <= maxAnswerBytes) return;
        keepAnswer(oldest, undefined);
      }
    }
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

/** Changes a record. A field that is `undefined` in the change stays as it is; `null` removes it. */
function changeRecord(stored: Stored, change: Transition): void {
  stored.copy = undefined;
  stored.state = change.to;
  if (change.newOwner !== undefined) stored.owner = change.newOwner;
  if (change.facilitator !== undefined) stored.facilitator = change.facilitator ?? undefined;
  if (change.identifier === null) stored.identifier = undefined;
  if (change.request !== undefined) stored.request = change.request ?? undefined;
  if (change.leaseUntilMs !== undefined) stored.leaseUntilMs = change.leaseUntilMs ?? undefined;
  if (change.mark !== undefined) stored.mark = change.mark ?? undefined;
  if (change.receipt !== undefined) stored.receipt = change.receipt;
  if (change.transaction !== undefined) stored.transaction = change.transaction;
}

/** A record for a caller: it stays as it is, and has no field without a value. */
function copyOf(stored: Stored): PaymentRecord {
  if (stored.copy !== undefined) return stored.copy;
  const { facilitator, identifier, request, leaseUntilMs, answer, mark, receipt, transaction } = stored;
  stored.copy = Object.freeze({
    identity: stored.identity,
    binding: stored.binding,
    state: stored.state,
    owner: stored.owner,
    expiresAtMs: stored.expiresAtMs,
    mode: stored.mode,
    route: stored.route,
    method: stored.method,
    target: stored.target,
    hasBody: stored.hasBody,
    ...(facilitator !== undefined && { facilitator }),
    ...(identifier !== undefined && { identifier }),
    ...(request !== undefined && { request }),
    ...(leaseUntilMs !== undefined && { leaseUntilMs }),
    ...(answer !== undefined && { answer }),
    ...(mark !== undefined && { mark }),
    ...(receipt !== undefined && { receipt }),
    ...(transaction !== undefined && { transaction }),
  });
  return stored.copy;
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
  let bytes = body.byteLength;
  for (const [name, value] of headers) bytes += name.length + String(value).length;
  return bytes;
}
