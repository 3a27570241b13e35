/** Stores with `renew`, `watch`, `runs`, `exposure` and `keep`, all but one of them with a fault. */
import { setImmediate } from "node:timers/promises";
import {
  createMemoryStore,
  type Owned,
  type PaymentRecord,
  type PaymentStore,
  type SharedRun,
  type SharedRuns,
  UNLEASED,
} from "@farebox/core";
import type { Open } from "./faulty-databases.fixture.js";
import { connectionTo, reading } from "./faulty-stores.fixture.js";

/** A store that has everything. */
export type FullStore = Required<Omit<PaymentStore, "ready" | "close">>;

/** The room of the stores for kept responses. */
export const MIB: number = 1024 * 1024;

/** A memory store with everything. */
export function createFullStore(now: () => number, maxAnswerBytes: number = MIB): FullStore {
  const memory = createMemoryStore(now, { maxAnswerBytes });
  const { exposure, ledger } = memory;
  if (exposure === undefined || ledger === undefined) throw new TypeError("a memory store has everything");
  const leases = new Map<string, number>();
  const watchers = new Map<string, Set<() => void>>();
  const leased = (record: PaymentRecord) => {
    const leaseUntilMs = leases.get(record.identity);
    return leaseUntilMs === undefined ? record : { ...record, leaseUntilMs };
  };
  const tell = (identity: string) => watchers.get(identity)?.forEach((onChange) => void onChange());
  return {
    ...reading(memory, leased),
    async *unfinished() {
      for await (const record of memory.unfinished()) yield leased(record);
    },
    async transition(change) {
      const taken = await memory.transition(change);
      if (taken && change.leaseUntilMs !== undefined) leases.delete(change.identity);
      if (taken) tell(change.identity);
      return taken;
    },
    async release(identity, owner) {
      await memory.release(identity, owner);
      if ((await memory.find(identity)) === undefined) leases.delete(identity);
      tell(identity);
    },
    async renew(owned, leaseUntilMs) {
      for (const { identity, owner } of owned) {
        const record = await memory.find(identity);
        if (record?.owner === owner && !UNLEASED.includes(record.state)) leases.set(identity, leaseUntilMs);
      }
    },
    watch(identity, onChange) {
      const call = () => onChange();
      watchers.set(identity, (watchers.get(identity) ?? new Set()).add(call));
      return () => void watchers.get(identity)?.delete(call);
    },
    runs: createRuns(),
    exposure,
    ledger,
    keep: createKeep(),
  };
}

function createRuns(options: { readonly removes?: boolean; readonly forgets?: boolean } = {}): SharedRuns {
  const { removes = true, forgets = true } = options;
  const all = new Map<string, SharedRun>();
  return {
    put(run, nowMs) {
      all.set(JSON.stringify([run.payer, run.id]), run);
      const ended = [...all].filter(([, { untilMs }]) => untilMs <= nowMs);
      if (forgets) for (const [key] of ended) all.delete(key);
      return [...all.values()].filter(({ payer, untilMs }) => payer === run.payer && untilMs > nowMs);
    },
    remove({ id, payer }) {
      if (removes) all.delete(JSON.stringify([payer, id]));
    },
  };
}

function createKeep(): FullStore["keep"] {
  const values = new Map<string, string>();
  return (name, value) => {
    if (!values.has(name)) values.set(name, value);
    return values.get(name) ?? value;
  };
}

export function connectFully(store: FullStore): FullStore {
  const { renew, watch, runs, exposure, ledger, keep } = store;
  return { ...connectionTo(store), renew, watch, runs, exposure, ledger, keep };
}

/** Opens a database whose connections have a fault; each connection has its own copy of it. */
export function openFull(fault: (store: FullStore, now: () => number) => Partial<FullStore> = () => ({})): Open {
  return async ({ now }) => {
    const database = createFullStore(now);
    const connect = async () => ({ ...connectFully(database), ...fault(database, now) });
    return { store: await connect(), reopen: connect, join: connect, close: async () => {} };
  };
}

/** Like `openFull`, with one fault for all connections. */
export function openFullWith(fault: (store: FullStore) => Partial<FullStore>): Open {
  return async ({ now }) => {
    const database = createFullStore(now);
    const faulty = { ...connectFully(database), ...fault(database) };
    const connect = async () => ({ ...faulty });
    return { store: await connect(), reopen: connect, join: connect, close: async () => {} };
  };
}

export const renewsEveryState = openFullWith((store) => {
  const leases = new Map<string, number>();
  return {
    ...reading(store, (record) => ({
      ...record,
      leaseUntilMs: leases.get(record.identity) ?? record.leaseUntilMs ?? 0,
    })),
    renew: (owned, until) => owned.forEach(({ identity }) => void leases.set(identity, until)),
  };
});

/** Like a store that does not know the states of metered payments. */
export const renewsDue = openFullWith((store) => {
  const leases = new Map<string, number>();
  return {
    ...reading(store, (record) => {
      const leaseUntilMs = leases.get(record.identity);
      return leaseUntilMs === undefined || record.state !== "due" ? record : { ...record, leaseUntilMs };
    }),
    renew(owned, until) {
      for (const { identity } of owned) leases.set(identity, until);
      return store.renew(owned, until);
    },
  };
});

export const renewsForAnybody = openFullWith((store) => ({
  async renew(owned, until) {
    const found = await Promise.all(owned.map(({ identity }) => store.find(identity)));
    await store.renew(
      found.flatMap((record): readonly Owned[] => (record === undefined ? [] : [record])),
      until,
    );
  },
}));

export const renewsThousand = openFullWith((store) => ({
  renew: (owned, until) => store.renew(owned.slice(0, 1_000), until),
}));

export const renewsAtLeastOne = openFullWith((store) => ({
  async renew(owned, until) {
    if (owned.length === 0) throw new TypeError("syntax error at or near )");
    await store.renew(owned, until);
  },
}));

/** Each connection tells of its own changes. */
export const tellsOwnChanges = openFull((database) => {
  const watchers = new Map<string, () => void>();
  return {
    async transition(change) {
      const taken = await database.transition(change);
      watchers.get(change.identity)?.();
      return taken;
    },
    watch(identity, onChange) {
      watchers.set(identity, onChange);
      return () => void watchers.delete(identity);
    },
  };
});

export const tellsNoReleases = openFullWith((store) => {
  let releasing = 0;
  return {
    async release(identity, owner) {
      releasing += 1;
      await store.release(identity, owner);
      releasing -= 1;
    },
    watch: (identity, onChange) => store.watch(identity, () => void (releasing === 0 && onChange())),
  };
});

export const tellsLastWatcher = openFullWith((store) => {
  const last = new Map<string, () => void>();
  return {
    watch(identity, onChange) {
      last.set(identity, onChange);
      return store.watch(identity, () => void (last.get(identity) === onChange && onChange()));
    },
  };
});

export const tellsWhoHasLeft = openFullWith((store) => ({
  async watch(identity, onChange) {
    await store.watch(identity, onChange);
    return () => {};
  },
}));

export const watchesLater = openFullWith((store) => ({
  watch(identity, onChange) {
    const stop = setImmediate()
      .then(setImmediate)
      .then(() => store.watch(identity, onChange));
    return () => void stop.then((call) => call());
  },
}));

export const runsOfEveryone = openFullWith(({ runs }) => ({
  runs: {
    put: async (run, nowMs) => {
      const found = await runs.put({ ...run, payer: "all" }, nowMs);
      return found.map((each) => ({ ...each, payer: run.payer }));
    },
    remove: ({ id }) => runs.remove({ id, payer: "all" }),
  },
}));

export const runsOfProcess = openFull(() => ({ runs: createRuns() }));

export const runsStay = openFullWith(() => ({ runs: createRuns({ removes: false }) }));

export const endedRunsAreHidden = openFullWith(() => ({ runs: createRuns({ forgets: false }) }));

export const looksThenRuns = openFullWith(({ runs }) => ({
  runs: {
    ...runs,
    async put(run, nowMs) {
      await runs.put(run, nowMs);
      await setImmediate();
      return runs.put(run, nowMs);
    },
  },
}));

export const runsByTrimmedPayer = openFullWith(({ runs }) => ({
  runs: {
    ...runs,
    put: async (run, nowMs) => {
      const found = await runs.put({ ...run, payer: run.payer.normalize() }, nowMs);
      return found.map((each) => ({ ...each, asset: each.asset.trim() }));
    },
  },
}));

export const keepsLast = openFullWith(() => ({ keep: (_, value) => value }));

export const looksThenKeeps = openFullWith(() => {
  const values = new Map<string, string>();
  return {
    async keep(name, value) {
      const found = values.get(name);
      await setImmediate();
      if (found !== undefined) return found;
      values.set(name, value);
      return value;
    },
  };
});

export const keepsInLowerCase = openFullWith(({ keep }) => ({
  keep: (name, value) => keep(name.toLowerCase(), value),
}));

export const keepsInConnection = openFull(() => ({ keep: createKeep() }));
