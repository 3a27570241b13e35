import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryExposure } from "./memory-exposure.js";
import { type ExposureEntry, type ExposureSums, MOST_DUE } from "./payment-store.js";

const SEED = Number(process.env["FAREBOX_SEED"] ?? Date.now() % 2 ** 31);

function entryOf(change: Partial<ExposureEntry> = {}): ExposureEntry {
  return { identity: "p", payer: "a", micros: "5", untilMs: 1_000, isDue: false, ...change };
}

describe("put", () => {
  test("returns what the payer's entries and all entries come to", () => {
    const exposure = new MemoryExposure();
    expect(exposure.put(entryOf(), 0)).toEqual({ payer: "5", total: "5", due: [] });
    expect(exposure.put(entryOf({ identity: "q", micros: "7" }), 0)).toEqual({ payer: "12", total: "12", due: [] });
    const other = entryOf({ identity: "r", payer: "b", micros: "999999999999999" });
    expect(exposure.put(other, 0)).toEqual({ payer: "999999999999999", total: "1000000000000011", due: [] });
  });

  test("replaces the entry of a payment, even if the payer is written in another way", () => {
    const exposure = new MemoryExposure();
    exposure.put(entryOf({ isDue: true }), 0);
    expect(exposure.put(entryOf({ micros: "6" }), 0)).toEqual({ payer: "6", total: "6", due: [] });
    expect(exposure.put(entryOf({ payer: "A" }), 0)).toEqual({ payer: "5", total: "5", due: [] });
    expect(exposure.put(entryOf({ identity: "q", micros: "0" }), 0)).toEqual({ payer: "0", total: "5", due: [] });
  });

  test("leaves out entries that end now or have ended, also the one that is put", () => {
    const exposure = new MemoryExposure();
    exposure.put(entryOf(), 0);
    exposure.put(entryOf({ identity: "q", payer: "b", untilMs: 2_000 }), 0);
    const none = entryOf({ identity: "r", micros: "0", untilMs: 9_000 });
    expect(exposure.put(none, 999)).toMatchObject({ payer: "5", total: "10" });
    expect(exposure.put(none, 1_000)).toMatchObject({ payer: "0", total: "5" });
    expect(exposure.put(entryOf({ identity: "q", payer: "b", untilMs: 1_000 }), 1_000)).toMatchObject({ total: "0" });
    // They are removed, and not only left out.
    expect(exposure.put(none, 0)).toMatchObject({ payer: "0", total: "0" });
  });

  test("follows an end that was moved, in either direction", () => {
    const exposure = new MemoryExposure();
    const none = entryOf({ identity: "q", micros: "0", untilMs: 9_000 });
    exposure.put(entryOf(), 0);
    exposure.put(entryOf({ untilMs: 3_000 }), 0);
    expect(exposure.put(none, 2_999)).toMatchObject({ total: "5" });
    exposure.put(entryOf({ untilMs: 2_000 }), 0);
    expect(exposure.put(none, 2_000)).toMatchObject({ total: "0" });
  });

  test(`names at most ${MOST_DUE} payments that the payer owes`, () => {
    const exposure = new MemoryExposure();
    exposure.put(entryOf({ identity: "of another", payer: "b", isDue: true }), 0);
    for (let at = 0; at < 20; at++) exposure.put(entryOf({ identity: `p${at}`, isDue: true }), 0);
    const { due } = exposure.put(entryOf(), 0);
    expect(due).toEqual(Array.from({ length: MOST_DUE }, (_, at) => `p${at}`));
    for (let at = 0; at < 19; at++) exposure.remove(entryOf({ identity: `p${at}` }));
    expect(exposure.put(entryOf(), 0).due).toEqual(["p19"]);
    expect(exposure.put(entryOf(), 1_000).due).toEqual([]);
  });
});

test("remove changes the sums once, and for that payment alone", () => {
  const exposure = new MemoryExposure();
  exposure.put(entryOf(), 0);
  exposure.put(entryOf({ identity: "q", micros: "7" }), 0);
  for (let at = 0; at < 2; at++) exposure.remove({ identity: "p" });
  exposure.remove({ identity: "r" });
  expect(exposure.put(entryOf({ identity: "r", micros: "1" }), 0)).toEqual({ payer: "8", total: "8", due: [] });
});

const identity = fc.constantFrom("p", "q", "r", "s", "__proto__");
const payer = fc.constantFrom("a", "b", "constructor");
const put = fc.record({
  identity,
  payer,
  micros: fc.oneof(fc.nat(9), fc.bigInt(0n, 10n ** 15n - 1n)).map(String),
  untilMs: fc.nat(60),
  isDue: fc.boolean(),
});
const step = fc.record({
  waitMs: fc.integer({ min: -2, max: 6 }),
  entry: put,
  isRemoved: fc.nat(5).map((n) => n === 0),
});

test(`the sums are those of a list of entries, for any sequence of calls (FAREBOX_SEED=${SEED} repeats this)`, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const exposure = new MemoryExposure();
      let [nowMs, entries] = [0, new Map<string, ExposureEntry>()];
      for (const { waitMs, entry, isRemoved } of steps) {
        nowMs += waitMs;
        if (isRemoved) {
          entries.delete(entry.identity);
          exposure.remove(entry);
          continue;
        }
        entries.delete(entry.identity);
        entries.set(entry.identity, entry);
        entries = new Map([...entries].filter(([, { untilMs }]) => untilMs > nowMs));
        expect(exposure.put(entry, nowMs)).toEqual(sumsOf([...entries.values()], entry.payer));
      }
    }),
    { seed: SEED, numRuns: 500 },
  );
});

function sumsOf(entries: readonly ExposureEntry[], payer: string): ExposureSums {
  const own = entries.filter((entry) => entry.payer === payer);
  const sum = (some: readonly ExposureEntry[]) => some.reduce((micros, entry) => micros + BigInt(entry.micros), 0n);
  const due = own.filter(({ isDue }) => isDue).map((entry) => entry.identity);
  return { payer: `${sum(own)}`, total: `${sum(entries)}`, due };
}

describe("a call takes about as long with 50,000 entries as with 500", () => {
  const [FEW, MANY, CALLS] = [500, 50_000, 2_000];

  /** The shortest time of some tries, since the machine may be busy. */
  function timeOf(open: () => { call(at: number): void }): number {
    const times = Array.from({ length: 5 }, () => {
      const { call } = open();
      const start = performance.now();
      for (let at = 0; at < CALLS; at++) call(at);
      return performance.now() - start;
    });
    return Math.min(...times);
  }

  test.each<[what: string, open: (count: number) => { call(at: number): void }]>([
    [
      "when nothing has ended",
      (count) => {
        const exposure = filled(count, () => 1_000_000);
        return { call: (at) => void exposure.put(entryOf({ identity: `p${at % count}`, untilMs: 1_000_000 + at }), 0) };
      },
    ],
    [
      "when they are one payer's, and due",
      (count) => {
        const exposure = filled(count, () => 1_000_000, { payer: "a", isDue: true });
        return { call: (at) => void exposure.put(entryOf({ identity: `p${at % count}`, untilMs: 1_000_000 }), 0) };
      },
    ],
    [
      "while one ends before each call",
      (count) => {
        const exposure = filled(count, (at) => at + 1);
        return { call: (at) => void exposure.put(entryOf({ identity: `new ${at}`, untilMs: count + at }), at) };
      },
    ],
  ])("%s", (_, open) => {
    const few = timeOf(() => open(FEW));
    // A hundred times as many entries.
    expect(timeOf(() => open(MANY))).toBeLessThan(20 * few + 5);
  });

  function filled(count: number, untilMs: (at: number) => number, change: Partial<ExposureEntry> = {}): MemoryExposure {
    const exposure = new MemoryExposure();
    for (let at = 0; at < count; at++) {
      exposure.put(entryOf({ identity: `p${at}`, payer: `payer ${at}`, untilMs: untilMs(at), ...change }), 0);
    }
    return exposure;
  }
});
