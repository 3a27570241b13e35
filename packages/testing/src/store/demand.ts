/**
 * Assertions, free of any test runner.
 *
 * @module
 */
import type { PaymentRecord, PaymentStore } from "@farebox/core";
import { StoreError } from "./store-error.js";

/** How much of a value is shown to each side of the first difference. */
const SHOWN = 60;

/**
 * Compares values by what they hold: a row of a database has no prototype, and its bytes are a `Buffer`.
 *
 * @throws {@link StoreError} when they differ
 */
export function demandEqual(received: unknown, expected: unknown, what: string): void {
  const [is, should] = [textOf(received), textOf(expected)];
  if (is === should) return;
  const from = Math.max(0, firstDifference(is, should) - SHOWN);
  throw new StoreError(`${what}: expected ${excerpt(should, from)}, received ${excerpt(is, from)}`);
}

/** Demands that the store has this record. */
export async function demandRecord(store: PaymentStore, expected: PaymentRecord, when: string): Promise<void> {
  demandEqual(await store.find(expected.identity), expected, `find ${when}`);
}

/** Demands that the store knows nothing of a payment. */
export async function demandForgotten(store: PaymentStore, identity: string, when: string): Promise<void> {
  demandEqual(await store.find(identity), undefined, `find ${when}`);
}

/** A field that is `undefined` counts as absent, and the order of fields does not count. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, field) => comparable(field)) ?? String(value);
}

function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  // What `JSON.stringify` has made of a Buffer before it comes here.
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
