/**
 * ExtensionResponses: what a facilitator says has become of a declaration.
 *
 * @see the brief §6, "Events"
 * @module
 */
import { isJsonObject } from "./json.js";

/** `success`: it was listed. `processing`: it will be, or not. */
export type ExtensionStatus = "success" | "processing" | "rejected";

/** What has become of one declaration. */
export interface ExtensionOutcome {
  readonly status: ExtensionStatus;
  /** Why it was rejected: at most 200 printable ASCII characters, a facilitator's own words. */
  readonly rejectedReason?: string;
}

/** Outcomes by extension, e.g. `{ bazaar: { status: "success" } }`. */
export type ExtensionResponses = Readonly<Record<string, ExtensionOutcome>>;

const MAX_REASON = 200;

/** A facilitator that knows more extensions than this is not listened to further. */
const MAX_EXTENSIONS = 16;

const KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** Reads outcomes, known fields only; `undefined` when there is none. Total. */
export function readExtensionResponses(value: unknown): ExtensionResponses | undefined {
  if (!isJsonObject(value)) return undefined;
  const outcomes = Object.entries(value).flatMap(([key, outcome]): [string, ExtensionOutcome][] => {
    const read = KEY.test(key) ? readOutcome(outcome) : undefined;
    return read === undefined ? [] : [[key, read]];
  });
  return outcomes.length === 0 ? undefined : Object.freeze(Object.fromEntries(outcomes.slice(0, MAX_EXTENSIONS)));
}

function readOutcome(value: unknown): ExtensionOutcome | undefined {
  if (!isJsonObject(value)) return undefined;
  const { status, rejectedReason, reason } = value;
  if (status !== "success" && status !== "processing" && status !== "rejected") return undefined;
  const said = rejectedReason ?? reason;
  if (status !== "rejected" || typeof said !== "string") return Object.freeze({ status });
  return Object.freeze({ status, rejectedReason: toPrintable(said) });
}

function toPrintable(text: string): string {
  return text
    .slice(0, 4 * MAX_REASON)
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, MAX_REASON);
}
