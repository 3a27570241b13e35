/**
 * What survives a reload: a signed payment until its outcome is known, and the HTML that was paid for.
 *
 * @module
 */
import type { OptionData } from "../src/page-data.js";

/** A signed payment that was sent, or is about to be. */
export interface Pending {
  /** The value of `PAYMENT-SIGNATURE`. */
  readonly payment: string;
  readonly method: string;
  readonly body: string | null;
  readonly option: OptionData;
  readonly payer: string;
  /** By which the client proves to be the payer. It comes with the first response. */
  readonly token: string | null;
}

/** HTML that was paid for, for the viewer. */
export interface View {
  readonly html: string;
  /** The policy that came with it. */
  readonly policy: string | null;
  /** What the receipt says. */
  readonly label: string;
  readonly close: string;
  readonly link: { readonly text: string; readonly url: string } | null;
}

const HERE = location.href.split("#")[0] ?? location.href;
const PENDING = `farebox:pending ${HERE}`;
const VIEW = `farebox:view ${HERE}`;

/** The payment whose outcome is not known. */
export function readPending(): Pending | undefined {
  return read(PENDING) as Pending | undefined;
}

/** Keeps a payment. */
export function keepPending(pending: Pending): void {
  write(PENDING, pending);
}

/** Its outcome is known. */
export function dropPending(): void {
  remove(PENDING);
}

/** The HTML that was paid for on this page. */
export function readView(): View | undefined {
  return read(VIEW) as View | undefined;
}

/** Keeps HTML. @returns whether there was room */
export function keepView(view: View): boolean {
  return write(VIEW, view);
}

/** There is none any more. */
export function dropView(): void {
  remove(VIEW);
}

function read(key: string): unknown {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function write(key: string, value: unknown): boolean {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    // Full, or forbidden by the person.
    return false;
  }
}

function remove(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // Forbidden by the person.
  }
}
