import { describe, expect, test } from "vitest";
import { createRecordExpiries } from "./record-expiries.js";

const MINUTE = 60_000;

function expiring(identity: string, expiresAtMs = 5 * MINUTE) {
  return { identity, expiresAtMs };
}

describe("the calendar", () => {
  test("names what expired ten minutes ago, once", () => {
    const expiries = createRecordExpiries();
    expiries.add(expiring("a"));
    expect(expiries.passed(15 * MINUTE - 1)).toEqual([]);
    expect(expiries.passed(15 * MINUTE)).toEqual(["a"]);
    expect(expiries.passed(16 * MINUTE)).toEqual([]);
  });

  test("counts by the minute, never too early", () => {
    const expiries = createRecordExpiries();
    expiries.add(expiring("a", 5 * MINUTE + 1));
    expect(expiries.passed(15 * MINUTE + 1)).toEqual([]);
    expect(expiries.passed(16 * MINUTE)).toEqual(["a"]);
  });

  test("names all that has passed since it was asked last", () => {
    const expiries = createRecordExpiries();
    for (let at = 0; at < 1_000; at++) expiries.add(expiring(`${at}`, at * MINUTE));
    expect(expiries.passed(509 * MINUTE)).toEqual(Array.from({ length: 500 }, (_, at) => `${at}`));
    expect(expiries.passed(2_000 * MINUTE)).toHaveLength(500);
  });

  test("says nothing of what was removed, and goes on with what shares its minute", () => {
    const expiries = createRecordExpiries();
    for (const identity of ["a", "b"]) expiries.add(expiring(identity));
    expiries.remove(expiring("a"));
    expiries.remove(expiring("never there"));
    expiries.remove(expiring("b", 90 * MINUTE));
    expect(expiries.passed(15 * MINUTE)).toEqual(["b"]);
  });

  test("names what was past already when it was added, in the next minute", () => {
    const expiries = createRecordExpiries();
    expiries.passed(60 * MINUTE);
    expiries.add(expiring("a", 0));
    expect(expiries.passed(60 * MINUTE + 1)).toEqual([]);
    expect(expiries.passed(61 * MINUTE)).toEqual(["a"]);
  });

  test("goes by the clock as it is, also when that is set back", () => {
    const expiries = createRecordExpiries();
    expiries.passed(60 * MINUTE);
    expiries.add(expiring("a"));
    expect(expiries.passed(14 * MINUTE)).toEqual([]);
    expect(expiries.passed(15 * MINUTE)).toEqual(["a"]);
  });
});
