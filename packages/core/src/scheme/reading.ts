/**
 * What reading a part of a request yields. A payment comes from a stranger, so a refusal is a value and never an exception.
 *
 * @module
 */
import type { Reason } from "../protocol/reasons.js";

/** Why a payment is not accepted: the protocol's word for it, and prose for the log. */
export interface Refusal {
  readonly ok: false;
  readonly reason: Reason;
  readonly message: string;
}

/** What was read, or why it is not accepted. */
export type Reading<T> = { readonly ok: true; readonly value: T } | Refusal;

/** Makes a {@link Refusal}. `message` must not quote the request: signatures and transactions do not belong in a log. */
export function refuse(reason: Reason, message: string): Refusal {
  return { ok: false, reason, message };
}

/** Makes the other outcome of a {@link Reading}. */
export function accept<T>(value: T): Reading<T> {
  return { ok: true, value };
}
