/**
 * The tools of the store checks: the opened store with its clock, and assertions that need no test runner.
 *
 * @module
 */
import { type MaybePromise, type PaymentRecord, type PaymentStore, StoreError } from "@farebox/core";

export { StoreError } from "@farebox/core";

/** A clock that only `advance` moves. Pass it to stores that accept a clock. */
export interface StoreClock {
  /** Unix milliseconds. */
  now(): number;
  advance(ms: number): void;
}

/** One empty store under test. */
export interface OpenedStore {
  readonly store: PaymentStore;
  /** Closes the store, and opens it again with its data. */
  reopen?(): Promise<PaymentStore>;
  /** Opens a second store on the same data while the first is open, like another process. */
  join?(): Promise<PaymentStore>;
  /** Closes all opened stores, and deletes the data. */
  close(): Promise<void>;
}

/** Properties that only some stores have. They are declared, so that no check is left out unnoticed. */
export interface StoreTraits {
  /** The data survives the store: checks `reopen`. Default `false`. */
  readonly durable?: boolean;
  /** Several processes may use the store: checks `join`, and concurrent calls use both stores. Default `false`. */
  readonly shared?: boolean;
  /** The store has its own clock: expiry is not checked. Default `false`. */
  readonly ownClock?: boolean;
  /** The store has `renew`. Default `false`. */
  readonly renew?: boolean;
  /** The store has `watch`. Default `false`. */
  readonly watch?: boolean;
  /** The store has `runs`. Default `false`. */
  readonly runs?: boolean;
  /** The store has `exposure`. Default `false`. */
  readonly exposure?: boolean;
  /** The store has `ledger`. Default `false`. */
  readonly ledger?: boolean;
  /** The store has `keep`. Default `false`. */
  readonly keep?: boolean;
  /** The opened stores keep responses of so many bytes, and drop the oldest delivered ones first. At least 1 MiB. Default: no such bound. */
  readonly maxAnswerBytes?: number;
}

/** The store and the clock of one check. */
export interface Stage {
  readonly clock: StoreClock;
  readonly store: PaymentStore;
  /** All opened stores on the same data; concurrent calls are spread over them. */
  readonly stores: readonly [PaymentStore, ...PaymentStore[]];
  reopen(): Promise<PaymentStore>;
}

/** One check of a store. */
export interface Check {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

/** Calls the opened stores `count` times concurrently. */
export function concurrently<T>(
  stage: Stage,
  count: number,
  call: (store: PaymentStore, at: number) => MaybePromise<T>,
): Promise<T[]> {
  const { stores } = stage;
  return Promise.all(Array.from({ length: count }, (_, at) => call(stores[at % stores.length] ?? stage.store, at)));
}

/** Characters that a message shows on each side of the first difference. */
const SHOWN = 60;

/**
 * Compares values by their content: a database row may have no prototype, and its bytes may be a `Buffer`.
 *
 * @throws {@link StoreError} when they differ
 */
export function demandEqual(received: unknown, expected: unknown, what: string): void {
  const [actual, wanted] = [textOf(received), textOf(expected)];
  if (actual === wanted) return;
  const from = Math.max(0, firstDifference(actual, wanted) - SHOWN);
  throw new StoreError(`${what}: expected ${excerpt(wanted, from)}, received ${excerpt(actual, from)}`);
}

/** Demands that the store returns this record. */
export async function demandRecord(store: PaymentStore, expected: PaymentRecord, when: string): Promise<void> {
  demandEqual(await store.find(expected.identity), expected, `find ${when}`);
}

/** Demands that the store has no record of a payment. */
export async function demandForgotten(store: PaymentStore, identity: string, when: string): Promise<void> {
  demandEqual(await store.find(identity), undefined, `find ${when}`);
}

/** Ignores fields that are `undefined`, and the order of fields. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, field) => comparable(field)) ?? String(value);
}

function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  // `JSON.stringify` has already called `toJSON` of a Buffer.
  if (isBufferJson(value)) return `bytes ${Buffer.from(value.data).toString("hex")}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    value.type === "Buffer" &&
    "data" in value &&
    Array.isArray(value.data)
  );
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function excerpt(text: string, from: number): string {
  const part = text.slice(from, from + 2 * SHOWN);
  return `${from > 0 ? "…" : ""}${part}${from + part.length < text.length ? "…" : ""}`;
}
