/**
 * What the columns of both stores hold of an entry's change.
 *
 * @module
 */
import { digestOf, type EntryChange } from "./store.js";

/** Columns by name. */
export type Columns = Readonly<Record<string, (change: EntryChange) => unknown>>;

/** The columns that every change writes. */
export const ALWAYS: Columns = {
  service: ({ service }) => service,
  updated: ({ updatedMs }) => updatedMs,
  claims: ({ checks }) => checks?.claims ?? "[]",
  due: ({ checks }) => checks?.dueMs ?? null,
  leased: ({ checks }) => checks?.leasedMs ?? 0,
};

/** The columns that are written when an indexed part has changed. Each store writes texts and facets in its own way. */
export const INDEXED: Columns = {
  ...ALWAYS,
  digest: digestOf,
  terms: ({ terms }) => terms.join(" "),
  vector: ({ vector }) => Buffer.from(vector),
  price: ({ price }) => price,
};

/** The columns of a stored entry. */
export const STORED = "id, service, updated, price";
