/** Stores whose `ledger` has a fault, each in one way. */
import { setImmediate } from "node:timers/promises";
import type {
  LedgerCount,
  LedgerEntry,
  LedgerRefund,
  LedgerSearch,
  NewLedgerEntry,
  PaymentStore,
  SharedLedger,
} from "@farebox/core";
import { createMemoryStore } from "@farebox/core";
import { type FullStore, openFull, openFullWith } from "./faulty-parts.fixture.js";
import { BOUND } from "./sample-payments.js";

/** A store whose ledger differs in some methods. */
const openWith = (fault: (ledger: SharedLedger, store: FullStore) => Partial<SharedLedger>) =>
  openFullWith((store) => ({ ledger: { ...bound(store.ledger), ...fault(bound(store.ledger), store) } }));

/** The methods of a ledger, which may be of a class. */
function bound(ledger: SharedLedger): SharedLedger {
  return {
    list: (query) => ledger.list(query),
    find: (id) => ledger.find(id),
    refund: (change) => ledger.refund(change),
    erase: (payer) => ledger.erase(payer),
    count: (added) => ledger.count(added),
    counts: (days) => ledger.counts(days),
    hold: (lease) => ledger.hold(lease),
    sweep: (beforeMs) => ledger.sweep(beforeMs),
  };
}

/** Changes every entry that is read. */
const openReading = (other: (entry: LedgerEntry) => LedgerEntry) =>
  openWith((ledger) => ({
    list: async (query) => (await ledger.list(query)).map(other),
    async find(id) {
      const entry = await ledger.find(id);
      return entry && other(entry);
    },
  }));

/** Changes every transition with an entry. */
const openRecording = (transition: (store: FullStore) => PaymentStore["transition"]) =>
  openFullWith((store) => ({ transition: transition(store) }));

/** A ledger of its own, and what adds an entry to it. */
function createOwn() {
  const { claim, transition, ledger } = createMemoryStore(() => 0);
  let last = 0;
  const add = (entry: NewLedgerEntry) => {
    const step = { identity: `p${last++}`, owner: "run" } as const;
    claim({ ...BOUND, ...step, expiresAtMs: 1 });
    transition({ ...step, from: "claimed", to: "settling" });
    transition({ ...step, from: "settling", to: "settled", entry });
  };
  return { ledger: bound(ledger), add };
}

/** Each process has its own. */
export const ledgerOfProcess = openFull((store) => {
  const { ledger, add } = createOwn();
  return {
    ledger,
    async transition(change) {
      const isDone = await store.transition(change);
      if (isDone && change.entry !== undefined) add(change.entry);
      return isDone;
    },
  };
});

export const entriesWithoutFee = openReading(({ fee: _, ...rest }) => rest);

export const entriesWithNull = openReading((entry) => ({ ...entry, payer: entry.payer ?? (null as never) }));

export const amountsAreNumbers = openReading((entry) => ({ ...entry, amount: String(Number(entry.amount)) }));

export const textsAreCut = openReading((entry) => ({ ...entry, transaction: entry.transaction.slice(0, 255) }));

export const textsAreNormalised = openReading((entry) => ({ ...entry, payee: entry.payee.normalize() }));

/** The reason of the first regular expression that did not see a line separator. */
export const refundsOfOneLine = openReading((entry) => ({
  ...entry,
  refunds: entry.refunds.filter(({ transaction }) => /^.*$/.test(transaction)),
}));

export const writesEntryFirst = openFullWith(() => {
  const { ledger, add } = createOwn();
  const { transition } = createMemoryStore(() => 0);
  return {
    ledger,
    transition(change) {
      if (change.entry !== undefined) add(change.entry);
      return transition(change);
    },
  };
});

export const lastEntryStays = openRecording((store) => {
  const seen = new Map<string, NewLedgerEntry>();
  const find = store.ledger.find.bind(store.ledger);
  Object.assign(store.ledger, {
    async find(id: string) {
      const entry = await find(id);
      return entry && { ...entry, ...seen.get(id) };
    },
  });
  const list = store.ledger.list.bind(store.ledger);
  Object.assign(store.ledger, {
    list: async (query: LedgerSearch) => (await list(query)).map((entry) => ({ ...entry, ...seen.get(entry.id) })),
  });
  return async (change) => {
    const isDone = await store.transition(change);
    if (isDone && change.entry !== undefined) seen.set(change.entry.id, change.entry);
    return isDone;
  };
});

export const refusesEntryThatIsThere = openRecording((store) => async (change) => {
  if (change.entry !== undefined && (await store.ledger.find(change.entry.id)) !== undefined) return false;
  return store.transition(change);
});

export const listsByTime = openWith((ledger) => ({
  async list({ after = "0", limit, ...search }) {
    const all = [...(await ledger.list({ ...search, limit: 10_000 }))];
    const sorted = all.sort((one, other) => one.settledAtMs - other.settledAtMs);
    return sorted.filter(({ position }) => BigInt(position) > BigInt(after)).slice(0, limit);
  },
}));

export const pagesBeginWithTheLast = openWith((ledger) => ({
  list: ({ after = "1", ...search }) => ledger.list({ ...search, after: String(BigInt(after) - 1n) }),
}));

export const limitsBeforeItSearches = openWith((ledger) => ({
  async list({ after, limit, ...search }) {
    const page = await ledger.list({ limit, ...(after !== undefined && { after }) });
    const wanted = new Set((await ledger.list({ ...search, limit: 10_000 })).map(({ id }) => id));
    return page.filter(({ id }) => wanted.has(id));
  },
}));

const ignoring = (field: keyof LedgerSearch) =>
  openWith((ledger) => ({ list: ({ [field]: _, ...search }) => ledger.list(search as LedgerSearch) }));

export const ignoresStatus = ignoring("status");
export const ignoresNetwork = ignoring("network");
export const ignoresUntil = ignoring("untilMs");

export const searchesByPattern = openWith((ledger) => ({
  async list({ route, ...search }) {
    const all = await ledger.list(search);
    const pattern = route && new RegExp(`^${route.replaceAll("_", ".")}$`);
    return pattern ? all.filter((entry) => pattern.test(entry.route)) : all;
  },
}));

/** Numbers are taken before entries are written, and some writes take longer. */
export const numbersBeforeItWrites = openFullWith(() => {
  const entries: LedgerEntry[] = [];
  let last = 0;
  const { ledger } = createOwn();
  const { claim, transition, find } = createMemoryStore(() => 0);
  return {
    claim,
    find: async (identity) => find(identity),
    async transition(change) {
      const isDone = await transition(change);
      if (isDone && change.entry !== undefined) {
        const position = ++last;
        for (let turn = 0; turn < (position % 3) * 3; turn++) await setImmediate();
        entries.push({ ...change.entry, position: String(position), status: "settled", refunds: [] });
      }
      return isDone;
    },
    ledger: {
      ...ledger,
      list: ({ after = "0", limit }) =>
        entries
          .filter(({ position }) => Number(position) > Number(after))
          .sort((one, other) => Number(one.position) - Number(other.position))
          .slice(0, limit),
    },
  };
});

export const lastRefundWins = openWith((ledger) => ({
  async refund(change) {
    const known = (await ledger.find(change.id))?.refunds.length;
    return known !== undefined && ledger.refund({ ...change, known });
  },
}));

export const looksThenRefunds = openWith((ledger) => {
  const all = new Map<string, { refunds: readonly LedgerRefund[]; status: LedgerEntry["status"] }>();
  const other = (entry: LedgerEntry) => ({ ...entry, ...all.get(entry.id) });
  return {
    async refund({ id, known, refunds, status }) {
      const count = all.get(id)?.refunds.length ?? 0;
      await setImmediate();
      if (count !== known || (await ledger.find(id)) === undefined) return false;
      all.set(id, { refunds, status });
      return true;
    },
    async find(id) {
      const entry = await ledger.find(id);
      return entry && other(entry);
    },
    list: async (query) => (await ledger.list(query)).map(other),
  };
});

export const erasesNothing = openWith(() => ({ erase: () => 0 }));

export const erasesPayerOnly = openWith((ledger) => {
  const resources = new Map<string, string | undefined>();
  return {
    async erase(payer) {
      for (const { id, resource } of await ledger.list({ payer, limit: 1_000 })) resources.set(id, resource);
      return ledger.erase(payer);
    },
    async find(id) {
      const entry = await ledger.find(id);
      const resource = entry?.resource ?? resources.get(id);
      return entry && { ...entry, ...(resource !== undefined && { resource }) };
    },
  };
});

export const erasesInLowerCase = openWith((ledger) => ({
  async erase(payer) {
    let erased = 0;
    const all = await ledger.list({ limit: 1_000 });
    const same = all.filter((entry) => entry.payer?.toLowerCase() === payer.toLowerCase());
    for (const spelled of new Set(same.map((entry) => entry.payer))) erased += await ledger.erase(spelled ?? "");
    return erased;
  },
}));

const addingCounts = (merge: (added: LedgerCount, all: readonly LedgerCount[]) => LedgerCount | undefined) =>
  openWith(() => {
    let all: readonly LedgerCount[] = [];
    const isSame = (one: LedgerCount, other: LedgerCount) =>
      (["day", "route", "kind", "reason"] as const).every((part) => one[part] === other[part]);
    return {
      count(added) {
        for (const one of added) {
          const merged = merge(one, all);
          if (merged !== undefined) all = [...all.filter((each) => !isSame(each, merged)), merged];
        }
      },
      counts: ({ sinceDay, untilDay }) =>
        all
          .filter(({ day }) => day >= sinceDay && day <= untilDay)
          .toSorted((one, other) => (JSON.stringify(keyOf(one)) < JSON.stringify(keyOf(other)) ? -1 : 1)),
    };
  });

const keyOf = ({ day, route, kind, reason }: LedgerCount) => [day, route, kind, reason];

export const lastCountStays = addingCounts((added) => added);

export const countsIn32Bits = openWith((ledger) => ({
  counts: async (days) => (await ledger.counts(days)).map((one) => ({ ...one, count: one.count | 0 })),
}));

export const looksThenCounts = openWith((ledger) => {
  const all = new Map<string, LedgerCount>();
  return {
    async count(added) {
      for (const one of added) {
        const key = JSON.stringify(keyOf(one));
        const before = all.get(key)?.count ?? 0;
        await setImmediate();
        all.set(key, { ...one, count: before + one.count });
      }
    },
    counts: async (days) => {
      await ledger.counts(days);
      return [...all].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
    },
  };
});

export const leasesNeverEnd = openWith((ledger) => ({ hold: (lease) => ledger.hold({ ...lease, nowMs: 0 }) }));

export const leasesForAnybody = openWith((ledger) => ({ hold: (lease) => ledger.hold({ ...lease, owner: "any" }) }));

export const looksThenHolds = openWith((ledger) => {
  const owners = new Map<string, { owner: string; untilMs: number }>();
  return {
    async hold(lease) {
      const held = owners.get(lease.name);
      await setImmediate();
      if (held !== undefined && held.owner !== lease.owner && held.untilMs > lease.nowMs) return undefined;
      owners.set(lease.name, lease);
      return ledger.hold({ ...lease, owner: "any" });
    },
  };
});

export const cursorsMoveBack = openWith((ledger) => {
  const positions = new Map<string, string>();
  return {
    async hold(lease) {
      const held = await ledger.hold(lease);
      if (held !== undefined && lease.position !== undefined) positions.set(lease.name, lease.position);
      return held && (positions.get(lease.name) ?? held);
    },
  };
});

export const positionsAreTexts = openWith((ledger) => {
  const positions = new Map<string, string>();
  return {
    async hold(lease) {
      const held = await ledger.hold(lease);
      if (held === undefined) return undefined;
      const [before, wanted] = [positions.get(lease.name) ?? held, lease.position ?? "0"];
      positions.set(lease.name, [before, wanted].sort().at(-1) ?? before);
      return positions.get(lease.name);
    },
  };
});

export const anybodyMoves = openWith((ledger) => {
  const moved = new Map<string, string>();
  return {
    async hold(lease) {
      const last = moved.get(lease.name) ?? "0";
      if (BigInt(lease.position ?? "0") > BigInt(last)) moved.set(lease.name, lease.position ?? last);
      return (await ledger.hold(lease)) && (moved.get(lease.name) ?? "0");
    },
  };
});

export const alwaysFromTheStart = openWith((ledger) => ({ hold: (lease) => ledger.hold({ ...lease, from: "start" }) }));

export const sweepsNothing = openWith(() => ({ sweep: () => 0 }));

export const sweepsEntriesOnly = openWith((ledger) => {
  let kept: readonly LedgerCount[] = [];
  return {
    async sweep(beforeMs) {
      if (kept.length === 0) kept = await ledger.counts({ sinceDay: "1970-01-01", untilDay: "9999-12-31" });
      return ledger.sweep(beforeMs);
    },
    counts: async (days) => (kept.length > 0 ? kept : ledger.counts(days)),
  };
});

/** As where the next position is the highest one that is there, and one more. */
export const positionsBeginAgain = openWith((ledger) => {
  let empty = "0";
  return {
    async sweep(beforeMs) {
      const highest = (await ledger.list({ limit: 10_000 })).at(-1)?.position ?? empty;
      const swept = await ledger.sweep(beforeMs);
      if ((await ledger.list({ limit: 1 })).length === 0) empty = highest;
      return swept;
    },
    list: async (query) =>
      (await ledger.list(query))
        .map((entry) => ({ ...entry, position: String(BigInt(entry.position) - BigInt(empty)) }))
        .filter(({ position }) => BigInt(position) > BigInt(query.after ?? "0")),
  };
});

export const forgottenWithTheirPayment = openFullWith((store) => {
  const identities = new Map<string, string>();
  return {
    async transition(change) {
      if (change.entry !== undefined) identities.set(change.entry.id, change.identity);
      return store.transition(change);
    },
    ledger: {
      ...bound(store.ledger),
      async find(id) {
        const record = await store.find(identities.get(id) ?? "");
        return record && store.ledger.find(id);
      },
    },
  };
});

export const cursorsOfConnection = openFull((store) => {
  const { ledger } = createOwn();
  return { ledger: { ...bound(store.ledger), hold: ledger.hold } };
});
