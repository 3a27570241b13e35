/**
 * Settlement amounts: how much of what the payer has authorized is taken, as a handler says it.
 *
 * @see the brief §4.4 "Settlement override for the `upto` scheme"
 * @module
 */

/** What was authorized, and in which asset. */
export interface Authorized {
  /** Atomic units: the most that can be taken. */
  readonly maximum: bigint;
  /** Decimals of the asset, 0 to 36; `undefined` for an asset that is known by its address alone. */
  readonly decimals: number | undefined;
}

/** Atomic units to take, or what would be right. */
export type SettlementAmount =
  | { readonly ok: true; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string };

const ATOMIC = /^(?:0|[1-9]\d{0,77})$/;
const PERCENT = /^(?<whole>0|[1-9]\d{0,2})(?:\.(?<fraction>\d{1,2}))?%$/;
const DOLLARS = /^\$(?<whole>0|[1-9]\d{0,77})(?:\.(?<fraction>\d{1,78}))?$/;

const FORMS = 'atomic units ("10000"), a percentage with at most two decimals ("12.34%") or dollars ("$0.0123")';

/** A hundredth of a percent. */
const PARTS_OF_WHOLE = 10_000n;

/**
 * Reads how much is to be taken. Three forms:
 *
 * - `"10000"`: atomic units;
 * - `"12.34%"`: so much of the authorized maximum, at most two decimals, rounded down to an atomic unit;
 * - `"$0.0123"`: dollars by the asset's decimals, rounded half up to an atomic unit.
 *
 * `"0"`, `"0%"` and `"$0"` take nothing. More than the maximum is refused, never cut down to it.
 */
export function parseSettlementAmount(text: unknown, { maximum, decimals }: Authorized): SettlementAmount {
  if (typeof text !== "string") return { ok: false, expected: FORMS };
  const read = readAtomic(text) ?? readPercent(text, maximum) ?? readDollars(text, decimals);
  if (read === undefined) return { ok: false, expected: FORMS };
  if (typeof read === "string") return { ok: false, expected: read };
  if (read > maximum) return { ok: false, expected: `at most what was authorized, ${maximum} atomic units` };
  return { ok: true, amount: read };
}

function readAtomic(text: string): bigint | undefined {
  return ATOMIC.test(text) ? BigInt(text) : undefined;
}

function readPercent(text: string, maximum: bigint): bigint | undefined {
  const { whole, fraction = "" } = PERCENT.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  return (maximum * BigInt(whole + fraction.padEnd(2, "0"))) / PARTS_OF_WHOLE;
}

/** Yields a text where dollars mean nothing. */
function readDollars(text: string, decimals: number | undefined): bigint | string | undefined {
  const { whole, fraction = "" } = DOLLARS.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  if (decimals === undefined) return "atomic units or a percentage, because the asset's decimals are not known";
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return isHalfOrMore(fraction.slice(decimals)) ? kept + 1n : kept;
}

/** Of digits behind a decimal point. */
function isHalfOrMore(digits: string): boolean {
  return digits.charAt(0) >= "5" && digits.charAt(0) <= "9";
}
