/**
 * Why a payment is not accepted. A payment comes from a stranger, so this is a value and never an exception.
 *
 * @module
 */
import type { Reason } from "@farebox/core";

/** The protocol's word for it, and prose for the log. */
export interface Refusal {
  readonly ok: false;
  readonly reason: Reason;
  readonly message: string;
}

/** What reading a part of a request yields. */
export type Reading<T> = { readonly ok: true; readonly value: T } | Refusal;

/** Makes a {@link Refusal}. `message` must not quote the request: transactions do not belong in a log. */
export function refuse(reason: Reason, message: string): Refusal {
  return { ok: false, reason, message };
}

/** Makes the other outcome of a {@link Reading}. */
export function accept<T>(value: T): Reading<T> {
  return { ok: true, value };
}
