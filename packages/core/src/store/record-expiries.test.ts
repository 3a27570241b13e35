import { describe, expect, test } from "vitest";
import { createRecordExpiries, type Expiring } from "./record-expiries.js";

const MINUTE = 60_000;

interface Named extends Expiring<Named> {
  readonly identity: string;
}

function expiring(identity: string, expiresAtMs = 5 * MINUTE): Named {
  return { identity, expiresAtMs, before: undefined, after: undefined };
}

/** A calendar that names what has passed. */
function createCalendar() {
  const expiries = createRecordExpiries<Named>();
  return { ...expiries, passed: (nowMs: number) => expiries.passed(nowMs).map(({ identity }) => identity) };
}

describe("the calendar", () => {
  test("names what expired ten minutes ago, once", () => {
    const expiries = createCalendar();
    expiries.add(expiring("a"));
    expect(expiries.passed(15 * MINUTE - 1)).toEqual([]);
    expect(expiries.passed(15 * MINUTE)).toEqual(["a"]);
    expect(expiries.passed(16 * MINUTE)).toEqual([]);
  });

  test("counts by the minute, never too early", () => {
    const expiries = createCalendar();
    expiries.add(expiring("a", 5 * MINUTE + 1));
    expect(expiries.passed(15 * MINUTE + 1)).toEqual([]);
    expect(expiries.passed(16 * MINUTE)).toEqual(["a"]);
  });

  test("names all that has passed since it was asked last", () => {
    const expiries = createCalendar();
    for (let at = 0; at < 1_000; at++) expiries.add(expiring(`${at}`, at * MINUTE));
    expect(expiries.passed(509 * MINUTE)).toEqual(Array.from({ length: 500 }, (_, at) => `${at}`));
    expect(expiries.passed(2_000 * MINUTE)).toHaveLength(500);
  });

  test("says nothing of what was removed, and goes on with what shares its minute", () => {
    const expiries = createCalendar();
    const all = ["a", "b", "c", "d", "e"].map((identity) => expiring(identity));
    for (const one of all) expiries.add(one);
    for (const one of [all[4], all[0], all[2]]) if (one !== undefined) expiries.remove(one);
    expiries.add(expiring("f"));
    expect(expiries.passed(15 * MINUTE)).toEqual(["b", "d", "f"]);
  });

  test("names what was past already when it was added, in the next minute", () => {
    const expiries = createCalendar();
    expiries.passed(60 * MINUTE);
    expiries.add(expiring("a", 0));
    expect(expiries.passed(60 * MINUTE + 1)).toEqual([]);
    expect(expiries.passed(61 * MINUTE)).toEqual(["a"]);
  });

  test("goes by the clock as it is, also when that is set back", () => {
    const expiries = createCalendar();
    expiries.passed(60 * MINUTE);
    expiries.add(expiring("a"));
    expect(expiries.passed(14 * MINUTE)).toEqual([]);
    expect(expiries.passed(15 * MINUTE)).toEqual(["a"]);
  });
});
