/**
 * A meter: what a handler charges bit by bit, added up exactly. A bit may be less than an atomic unit; none is lost, and what
 * comes of all of them is rounded once.
 *
 * @module
 */
import {
  type Authorized,
  PARTS_PER_UNIT,
  parseSettlementAmount,
  readExactly,
  roundHalfUp,
  type SettlementAmount,
} from "./settlement-amount.js";

/** What is charged of one payment, as it is counted. */
export interface Meter {
  /** Atomic units, rounded half up; `undefined`: nothing was said so far. */
  readonly amount: bigint | undefined;
  /** Whole atomic units that can still be added. */
  readonly remaining: bigint;
  /** Says the sum, whatever was counted before. What is refused changes nothing. */
  say(amount: unknown): SettlementAmount;
  /** Adds to the sum, without rounding. What is refused changes nothing. */
  add(amount: unknown): SettlementAmount;
}

/** Creates a meter that stands at nothing. */
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
        return { ok: false, expected: `at most what is left of what was authorized, ${remaining()} atomic units` };
      }
      parts = (parts ?? 0n) + read.parts;
      return { ok: true, amount: roundHalfUp(parts) };
    },
  };
}
