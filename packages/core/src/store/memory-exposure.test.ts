import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryExposure } from "./memory-exposure.js";
import { type ExposureEntry, type ExposureSums, MOST_DUE } from "./payment-store.js";

const SEED = Number(process.env["FAREBOX_SEED"]);

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
    { seed: SEED, numRuns: 150 },
  );
});

function sumsOf(entries: readonly ExposureEntry[], payer: string): ExposureSums {
  const own = entries.filter((entry) => entry.payer === payer);
  const sum = (some: readonly ExposureEntry[]) => some.reduce((micros, entry) => micros + BigInt(entry.micros), 0n);
  const due = own.filter(({ isDue }) => isDue).map((entry) => entry.identity);
  return { payer: `${sum(own)}`, total: `${sum(entries)}`, due };
}

describe("a call does about as much with 10,000 entries as with 100", () => {
  const [FEW, MANY, CALLS] = [100, 10_000, 400];

  /** How often the calls read a field of an entry. */
  function readsOf(count: number, open: Open): number {
    let reads = 0;
    const counted: Counted = (change) =>
      new Proxy(entryOf(change), {
        get(entry, name) {
          reads += 1;
          return Reflect.get(entry, name);
        },
      });
    const call = open(count, counted);
    reads = 0;
    for (let at = 0; at < CALLS; at++) call(at);
    return reads;
  }

  type Counted = (change: Partial<ExposureEntry>) => ExposureEntry;
  type Open = (count: number, counted: Counted) => (at: number) => void;

  test.each<[what: string, open: Open]>([
    [
      "when nothing has ended",
      (count, counted) => {
        const exposure = filled(count, (at) => counted({ ...named(at), untilMs: 1_000_000 }));
        return (at) => void exposure.put(counted({ identity: `p${at % count}`, untilMs: 1_000_000 + at }), 0);
      },
    ],
    [
      "when they are one payer's, and due",
      (count, counted) => {
        const exposure = filled(count, (at) => counted({ identity: `p${at}`, untilMs: 1_000_000, isDue: true }));
        return (at) => void exposure.put(counted({ identity: `p${at % count}`, untilMs: 1_000_000 }), 0);
      },
    ],
    [
      "while one ends before each call",
      (count, counted) => {
        const exposure = filled(count, (at) => counted({ ...named(at), untilMs: at + 1 }));
        return (at) => void exposure.put(counted({ identity: `new ${at}`, untilMs: count + at }), at);
      },
    ],
  ])("%s", (_, open) => {
    const few = readsOf(FEW, open);
    expect(few).toBeGreaterThan(CALLS);
    // A hundred times as many entries. A heap of them is twice as deep.
    expect(readsOf(MANY, open)).toBeLessThan(3 * few);
  });

  const named = (at: number) => ({ identity: `p${at}`, payer: `payer ${at}` });

  function filled(count: number, entry: (at: number) => ExposureEntry): MemoryExposure {
    const exposure = new MemoryExposure();
    for (let at = 0; at < count; at++) exposure.put(entry(at), 0);
    return exposure;
  }
});
