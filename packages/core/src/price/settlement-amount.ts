/**
 * Settlement amounts: how much of the authorized maximum a handler takes.
 *
 * @module
 */

/** The authorized maximum. */
export interface Authorized {
  /** Atomic units. */
  readonly maximum: bigint;
  /** Decimals of the asset, 0 to 36; `undefined` if only its address is known. */
  readonly decimals: number | undefined;
}

/** Atomic units to take, or a description of valid amounts. `isTooMuch`: it is an amount, and there is not so much left. */
export type SettlementAmount =
  | { readonly ok: true; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string; readonly isTooMuch?: boolean };

const ATOMIC = /^(?:0|[1-9]\d{0,77})$/;
const PERCENT = /^(?<whole>0|[1-9]\d{0,2})(?:\.(?<fraction>\d{1,2}))?%$/;
const DOLLARS = /^\$(?<whole>0|[1-9]\d{0,77})(?:\.(?<fraction>\d{1,78}))?$/;

/** The longest fraction that {@link DOLLARS} accepts. */
const MOST_DECIMALS = 78;

const FORMS = 'atomic units ("10000"), a percentage with at most two decimals ("12.34%") or dollars ("$0.0123")';

/** A hundredth of a percent. */
const PARTS_OF_WHOLE = 10_000n;

/** Fine enough to hold every form without rounding. */
const PARTS_PER_UNIT: bigint = 10n ** BigInt(MOST_DECIMALS);

/** An amount before rounding, or a description of valid amounts. */
export type ExactAmount =
  | { readonly ok: true; readonly parts: bigint; readonly form: "atomic" | "percent" | "dollars" }
  | { readonly ok: false; readonly expected: string };

/**
 * Reads the amount to take. Three forms:
 *
 * - `"10000"`: atomic units.
 * - `"12.34%"`: a percentage of the maximum, with at most two decimals, rounded down to an atomic unit.
 * - `"$0.0123"`: dollars, by the asset's decimals, rounded half up to an atomic unit.
 *
 * `"0"`, `"0%"` and `"$0"` take nothing. An amount above the maximum is refused, never reduced.
 */
export function parseSettlementAmount(text: unknown, authorized: Authorized): SettlementAmount {
  const read = readExactly(text, authorized);
  if (!read.ok) return read;
  const { maximum } = authorized;
  const amount = read.form === "percent" ? read.parts / PARTS_PER_UNIT : roundHalfUp(read.parts);
  if (amount > maximum) return { ok: false, expected: `at most what was authorized, ${maximum} atomic units` };
  return { ok: true, amount };
}

/** Reads the same forms without rounding and without a maximum, in parts of an atomic unit ({@link PARTS_PER_UNIT}). */
function readExactly(text: unknown, { maximum, decimals }: Authorized): ExactAmount {
  if (typeof text !== "string") return { ok: false, expected: FORMS };
  return (
    readAtomic(text) ?? readPercent(text, maximum) ?? readDollars(text, decimals) ?? { ok: false, expected: FORMS }
  );
}

/** Rounds parts to whole atomic units. */
function roundHalfUp(parts: bigint): bigint {
  return (2n * parts + PARTS_PER_UNIT) / (2n * PARTS_PER_UNIT);
}

function readAtomic(text: string): ExactAmount | undefined {
  return ATOMIC.test(text) ? { ok: true, parts: BigInt(text) * PARTS_PER_UNIT, form: "atomic" } : undefined;
}

function readPercent(text: string, maximum: bigint): ExactAmount | undefined {
  const { whole, fraction = "" } = PERCENT.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  const hundredths = BigInt(whole + fraction.padEnd(2, "0"));
  return { ok: true, parts: (maximum * hundredths * PARTS_PER_UNIT) / PARTS_OF_WHOLE, form: "percent" };
}

function readDollars(text: string, decimals: number | undefined): ExactAmount | undefined {
  const { whole, fraction = "" } = DOLLARS.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  if (decimals === undefined) {
    return { ok: false, expected: "atomic units or a percentage, because the asset's decimals are not known" };
  }
  const parts = BigInt(whole + fraction) * 10n ** BigInt(MOST_DECIMALS + decimals - fraction.length);
  return { ok: true, parts, form: "dollars" };
}

/** Counts the amount of one payment. */
export interface Meter {
  /** Atomic units, rounded half up; `undefined` before the first call. */
  readonly amount: bigint | undefined;
  /** Whole atomic units that can still be added. */
  readonly remaining: bigint;
  /** Sets the sum. A refused amount changes nothing. */
  say(amount: unknown): SettlementAmount;
  /** Adds to the sum, without rounding. A refused amount changes nothing. */
  add(amount: unknown): SettlementAmount;
}

/** Creates a meter without an amount. */
export function createMeter(authorized: Authorized): Meter {
  const most = authorized.maximum * PARTS_PER_UNIT;
  let parts: bigint | undefined;
  const left = () => most - (parts ?? 0n);
  const remaining = () => left() / PARTS_PER_UNIT;
  return {
    get amount() {
      return parts === undefined ? undefined : roundHalfUp(parts);
    },
    get remaining() {
      return remaining();
    },
    say(amount) {
      const parsed = parseSettlementAmount(amount, authorized);
      if (parsed.ok) parts = parsed.amount * PARTS_PER_UNIT;
      return parsed;
    },
    add(amount) {
      const read = readExactly(amount, authorized);
      if (!read.ok) return read;
      if (read.parts > left()) {
        const expected = `at most what is left of what was authorized, ${remaining()} atomic units`;
        return { ok: false, expected, isTooMuch: true };
      }
      parts = (parts ?? 0n) + read.parts;
      return { ok: true, amount: roundHalfUp(parts) };
    },
  };
}
