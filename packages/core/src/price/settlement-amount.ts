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
  /** Whether the seller wrote the price in dollars: only then an amount may be written in dollars, too. */
  readonly isInDollars: boolean;
}

/** Atomic units to take, or a description of valid amounts. `isTooMuch`: it is an amount, and there is not so much left. */
export type SettlementAmount =
  | { readonly ok: true; readonly amount: bigint }
  | { readonly ok: false; readonly expected: string; readonly isTooMuch?: boolean };

/** Whether an amount was counted. The sum is rounded when it is asked for: a handler may charge for thousands of tokens. */
export type CountedAmount =
  | Pick<Extract<SettlementAmount, { ok: true }>, "ok">
  | Extract<SettlementAmount, { ok: false }>;

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
 * - `"$0.0123"`: dollars, by the asset's decimals, rounded half up to an atomic unit. Only beside a price in dollars.
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
function readExactly(text: unknown, authorized: Authorized): ExactAmount {
  if (typeof text !== "string") return NO_FORM;
  return readAtomic(text) ?? readPercent(text, authorized.maximum) ?? readDollars(text, authorized) ?? NO_FORM;
}

const NO_FORM: ExactAmount = Object.freeze({ ok: false, expected: FORMS });

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

function readDollars(text: string, { decimals, isInDollars }: Authorized): ExactAmount | undefined {
  const { whole, fraction = "" } = DOLLARS.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  if (!isInDollars) return notInDollars("the price is not written in dollars");
  if (decimals === undefined) return notInDollars("the asset's decimals are not known");
  const parts = BigInt(whole + fraction) * 10n ** BigInt(MOST_DECIMALS + decimals - fraction.length);
  return { ok: true, parts, form: "dollars" };
}

function notInDollars(because: string): ExactAmount {
  return { ok: false, expected: `atomic units or a percentage, because ${because}` };
}

/** So many units of something, at a price for each: `{ tokens: 31, price: "$0.000002" }`. */
export interface MeteredUnits {
  /** How many: a whole number from 0. */
  readonly tokens: number | bigint;
  /** Of one of them, in the forms of {@link parseSettlementAmount}. */
  readonly price: string;
}

/** A sum at some time, before rounding. Sums of one meter can be compared. */
export type MeterSum = bigint;

/** Counts the amount of one payment. */
export interface Meter {
  /** Atomic units, rounded half up; `undefined` before the first call. */
  readonly amount: bigint | undefined;
  /** The sum now; zero before the first call. */
  readonly sum: MeterSum;
  /** Whole atomic units that can still be added. */
  readonly remaining: bigint;
  /** Sets the sum. A refused amount changes nothing. */
  say(amount: unknown): SettlementAmount;
  /** Adds an amount or {@link MeteredUnits} to the sum, without rounding. A refused amount changes nothing. */
  add(amount: unknown): CountedAmount;
  /** Sets an amount or {@link MeteredUnits} aside, if it is not more than what is left and not set aside. What is added uses it up. */
  reserve(amount: unknown): SettlementAmount;
}

/** Atomic units as a sum. */
export function sumOf(amount: bigint): MeterSum {
  return amount * PARTS_PER_UNIT;
}

/** A sum as atomic units, rounded half up. */
export function roundSum(sum: MeterSum): bigint {
  return roundHalfUp(sum);
}

const COUNTED: CountedAmount = Object.freeze({ ok: true });

/** Creates a meter without an amount. */
export function createMeter(authorized: Authorized): Meter {
  const most = authorized.maximum * PARTS_PER_UNIT;
  let parts: bigint | undefined;
  let reserved = 0n;
  // A handler charges the same text again and again.
  let last: { readonly text: string; readonly read: ExactAmount } | undefined;
  const left = () => most - (parts ?? 0n);
  const remaining = () => left() / PARTS_PER_UNIT;
  const readText = (text: unknown): ExactAmount => {
    if (typeof text !== "string") return readExactly(text, authorized);
    if (last?.text !== text) last = { text, read: readExactly(text, authorized) };
    return last.read;
  };
  const read = (amount: unknown) => (isUnits(amount) ? readUnits(amount, readText) : readText(amount));
  const tooMuch = (): Extract<SettlementAmount, { ok: false }> => {
    const expected = `at most what is left of what was authorized, ${remaining()} atomic units`;
    return { ok: false, expected, isTooMuch: true };
  };
  return {
    get amount() {
      return parts === undefined ? undefined : roundHalfUp(parts);
    },
    get sum() {
      return parts ?? 0n;
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
      const added = read(amount);
      if (!added.ok) return added;
      if (added.parts > left()) return tooMuch();
      parts = (parts ?? 0n) + added.parts;
      if (reserved > 0n) reserved = reserved > added.parts ? reserved - added.parts : 0n;
      return COUNTED;
    },
    reserve(amount) {
      const wanted = read(amount);
      if (!wanted.ok) return wanted;
      if (wanted.parts > left() - reserved) return tooMuch();
      reserved += wanted.parts;
      return { ok: true, amount: roundHalfUp((parts ?? 0n) + reserved) };
    },
  };
}

function isUnits(amount: unknown): amount is Partial<Record<keyof MeteredUnits, unknown>> {
  return typeof amount === "object" && amount !== null;
}

/** The price is multiplied exactly. */
function readUnits(
  { tokens, price }: Partial<Record<keyof MeteredUnits, unknown>>,
  readText: (text: unknown) => ExactAmount,
): ExactAmount {
  const isCount = typeof tokens === "bigint" || Number.isSafeInteger(tokens);
  const count = isCount ? BigInt(tokens as number | bigint) : -1n;
  if (count < 0n) return { ok: false, expected: "a whole number of tokens from 0, with the price of one" };
  const one = readText(price);
  return one.ok ? { ...one, parts: one.parts * count } : one;
}
