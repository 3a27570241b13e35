/** Stores whose `exposure` has a fault, each in one way. */
import { setImmediate } from "node:timers/promises";
import { type ExposureEntry, MOST_DUE, type SharedExposure } from "@farebox/core";
import { openFull, openFullWith } from "./faulty-parts.fixture.js";

/** Decides for an exposure what a right one does always. */
interface Rules {
  /** What tells entries apart. */
  readonly key: (entry: Pick<ExposureEntry, "identity" | "payer">) => string;
  /** Which entries a removal takes out. */
  readonly isRemoved: (entry: ExposureEntry, removed: Pick<ExposureEntry, "identity" | "payer">) => boolean;
  /** Whether an ended entry is forgotten when another one is put. */
  readonly forgets: (ended: ExposureEntry, put: ExposureEntry) => boolean;
  /** Whether an entry counts. */
  readonly counts: (entry: ExposureEntry, nowMs: number) => boolean;
  /** Whose entries are a payer's. */
  readonly payer: (entry: ExposureEntry) => string;
  /** Which payments are named. */
  readonly due: (own: readonly ExposureEntry[], all: readonly ExposureEntry[]) => readonly ExposureEntry[];
  readonly add: (micros: readonly string[]) => string;
}

const RIGHT: Rules = {
  key: ({ identity }) => identity,
  isRemoved: (entry, removed) => entry.identity === removed.identity,
  forgets: () => true,
  counts: ({ untilMs }, nowMs) => untilMs > nowMs,
  payer: ({ payer }) => payer,
  due: (own) => own.filter(({ isDue }) => isDue).slice(0, MOST_DUE),
  add: (micros) => String(micros.reduce((sum, each) => sum + BigInt(each), 0n)),
};

/** A list of entries that is searched each time. */
export function createExposure(rules: Partial<Rules> = {}): SharedExposure {
  const { key, isRemoved, forgets, counts, payer, due, add } = { ...RIGHT, ...rules };
  const entries = new Map<string, ExposureEntry>();
  return {
    put(entry, nowMs) {
      for (const [name, other] of entries) {
        if (other.untilMs <= nowMs && forgets(other, entry)) entries.delete(name);
      }
      entries.delete(key(entry));
      if (counts(entry, nowMs)) entries.set(key(entry), entry);
      const all = [...entries.values()].filter((each) => counts(each, nowMs));
      const own = all.filter((each) => payer(each) === payer(entry));
      return {
        payer: add(own.map(({ micros }) => micros)),
        total: add(all.map(({ micros }) => micros)),
        due: due(own, all).map(({ identity }) => identity),
      };
    },
    remove(removed) {
      for (const [name, entry] of entries) if (isRemoved(entry, removed)) entries.delete(name);
    },
  };
}

const openWith = (rules: Partial<Rules>) => openFullWith(() => ({ exposure: createExposure(rules) }));

export const exposureOfProcess = openFull(() => ({ exposure: createExposure() }));

export const exposureByPayer = openWith({ key: ({ identity, payer }) => JSON.stringify([payer, identity]) });

export const exposureStays = openWith({ isRemoved: () => false });

export const exposureOfPayerIsRemoved = openWith({ isRemoved: (entry, removed) => entry.payer === removed.payer });

export const endedExposureIsHidden = openWith({ forgets: () => false });

/** As where each payer has a list of its own, which is cleaned when the payer comes again. */
export const endedExposureOfOthersStays = openWith({
  forgets: (ended, put) => ended.payer === put.payer,
  counts: () => true,
});

export const exposureInSeconds = openWith({
  counts: ({ untilMs }, nowMs) => Math.ceil(untilMs / 1_000) > Math.floor(nowMs / 1_000),
});

export const exposureIsFloat = openWith({ add: (micros) => String(micros.reduce((sum, each) => sum + +each, 0)) });

export const dueOfEveryone = openWith({ due: (_, all) => all.filter(({ isDue }) => isDue).slice(0, MOST_DUE) });

export const dueWithoutEnd = openWith({ due: (own) => own.filter(({ isDue }) => isDue) });

export const everythingIsDue = openWith({ due: (own) => own.slice(0, MOST_DUE) });

export const exposureInLowerCase = openWith({ payer: ({ payer }) => payer.normalize().toLowerCase() });

/** The end that a payment had first stays. */
export const firstEndStays = openFullWith(() => {
  const exposure = createExposure();
  const ends = new Map<string, number>();
  return {
    exposure: {
      put(entry, nowMs) {
        const first = ends.get(entry.identity);
        const untilMs = first !== undefined && first > nowMs ? first : entry.untilMs;
        ends.set(entry.identity, untilMs);
        return exposure.put({ ...entry, untilMs }, nowMs);
      },
      remove(entry) {
        ends.delete(entry.identity);
        return exposure.remove(entry);
      },
    },
  };
});

/** Two calls at once see each other. */
export const exposesThenLooks = openFullWith(() => {
  const exposure = createExposure();
  return {
    exposure: {
      ...exposure,
      async put(entry, nowMs) {
        await exposure.put(entry, nowMs);
        await setImmediate();
        return exposure.put(entry, nowMs);
      },
    },
  };
});

/** Two calls at once miss each other. */
export const looksThenExposes = openFullWith(() => {
  const exposure = createExposure();
  return {
    exposure: {
      ...exposure,
      async put(entry, nowMs) {
        exposure.remove(entry);
        const before = exposure.put({ ...entry, micros: "0" }, nowMs);
        await setImmediate();
        await exposure.put(entry, nowMs);
        const { payer, total, due } = await before;
        const added = (sum: string) => String(BigInt(sum) + BigInt(entry.micros));
        return { payer: added(payer), total: added(total), due };
      },
    },
  };
});

/** Keeps sums, and reads the entry that is replaced too early: what another call has put meanwhile stays in the sums. */
export const looksThenSums = openFullWith(() => {
  const exposure = createExposure();
  const entries = new Map<string, bigint>();
  let drift = 0n;
  return {
    exposure: {
      async put(entry, nowMs) {
        const before = entries.get(entry.identity) ?? 0n;
        await setImmediate();
        drift += (entries.get(entry.identity) ?? 0n) - before;
        entries.set(entry.identity, BigInt(entry.micros));
        const sums = await exposure.put(entry, nowMs);
        return { ...sums, total: String(BigInt(sums.total) + drift) };
      },
      remove(entry) {
        entries.delete(entry.identity);
        return exposure.remove(entry);
      },
    },
  };
});
