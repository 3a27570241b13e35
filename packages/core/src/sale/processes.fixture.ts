/**
 * Several processes with one store, which can die, stop and wake; and a small store that they share.
 *
 * @module
 */
import type { LogFields } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentRecord, PaymentStore, SharedRun } from "../store/payment-store.js";
import type { MaybePromise } from "../store/shared-ledger.js";
import { createFakeFacilitator, createShop, createTime, NETWORK, type ShopOptions } from "./shop.fixture.js";

export const IDENTITY = `${NETWORK}|n1`;

/** A store with all that several processes need, in one process. */
export function createSharedStore(now: () => number) {
  const memory = createMemoryStore(now);
  const leases = new Map<string, { readonly owner: string; readonly untilMs: number }>();
  const watching = new Map<string, Set<() => void>>();
  const runs = new Map<string, SharedRun>();
  const kept = new Map<string, string>();
  const withLease = (record: PaymentRecord): PaymentRecord => {
    const lease = leases.get(record.identity);
    const isRenewed = lease?.owner === record.owner && record.leaseUntilMs !== undefined;
    return isRenewed ? { ...record, leaseUntilMs: lease.untilMs } : record;
  };
  const tell = (identity: string) => {
    for (const onChange of watching.get(identity) ?? []) onChange();
  };
  const store = {
    async claim(request) {
      const claimed = await memory.claim(request);
      tell(request.identity);
      return claimed.kind === "taken" ? { kind: "taken", record: withLease(claimed.record) } : claimed;
    },
    async find(identity) {
      const record = await memory.find(identity);
      return record && withLease(record);
    },
    async transition(change) {
      const isDone = await memory.transition(change);
      if (isDone && change.leaseUntilMs !== undefined) leases.delete(change.identity);
      if (isDone) tell(change.identity);
      return isDone;
    },
    async release(identity, owner) {
      await memory.release(identity, owner);
      tell(identity);
    },
    async *unfinished() {
      for await (const record of memory.unfinished()) yield withLease(record);
    },
    async renew(owned, untilMs) {
      for (const { identity, owner } of owned) {
        const record = await memory.find(identity);
        if (record?.owner === owner) leases.set(identity, { owner, untilMs });
      }
    },
    watch(identity: string, onChange: () => void) {
      const listeners = watching.get(identity) ?? new Set();
      watching.set(identity, listeners.add(onChange));
      return () => void listeners.delete(onChange);
    },
    runs: {
      async put(run, nowMs) {
        runs.set(run.id, run);
        return [...runs.values()].filter(({ payer, untilMs }) => payer === run.payer && untilMs > nowMs);
      },
      async remove({ id }) {
        runs.delete(id);
      },
    },
    ledger: memory.ledger,
    async keep(name, value) {
      if (!kept.has(name)) kept.set(name, value);
      return kept.get(name) ?? value;
    },
  } satisfies PaymentStore;
  return { store: store as PaymentStore, runs, kept };
}

/** A process that dies says and hears nothing any more. One that stops does so later. */
function createConnection(base: PaymentStore, timer: StartTimer) {
  let state: "lives" | "stopped" | "dead" = "lives";
  let waiting: (() => void)[] = [];
  const pass = () => new Promise<void>((resolve) => (state === "lives" ? resolve() : waiting.push(resolve)));
  const ask = async <T>(question: () => MaybePromise<T>): Promise<T> => {
    await pass();
    const answer = await question();
    await pass();
    return answer;
  };
  const { renew, watch, keep, ready, runs, exposure, ledger } = base;
  const store: PaymentStore = {
    claim: (request) => ask(() => base.claim(request)),
    find: (identity) => ask(() => base.find(identity)),
    transition: (change) => ask(() => base.transition(change)),
    release: (identity, owner) => ask(() => base.release(identity, owner)),
    async *unfinished() {
      await pass();
      yield* base.unfinished();
    },
    ...(renew && { renew: (owned, untilMs) => ask(() => renew(owned, untilMs)) }),
    ...(watch && { watch: (identity, onChange) => ask(() => watch(identity, onChange)) }),
    ...(keep && { keep: (name, value) => ask(() => keep(name, value)) }),
    ...(ready && { ready: () => ask(() => ready()) }),
    ...(runs && {
      runs: {
        put: (run, nowMs) => ask(() => runs.put(run, nowMs)),
        remove: (run) => ask(() => runs.remove(run)),
      },
    }),
    ...(exposure && {
      exposure: {
        put: (entry, nowMs) => ask(() => exposure.put(entry, nowMs)),
        remove: (entry) => ask(() => exposure.remove(entry)),
      },
    }),
    ...(ledger && {
      ledger: {
        list: (query) => ask(() => ledger.list(query)),
        find: (id) => ask(() => ledger.find(id)),
        refund: (change) => ask(() => ledger.refund(change)),
        erase: (payer) => ask(() => ledger.erase(payer)),
        count: (added) => ask(() => ledger.count(added)),
        counts: (days) => ask(() => ledger.counts(days)),
        hold: (lease) => ask(() => ledger.hold(lease)),
        sweep: (beforeMs) => ask(() => ledger.sweep(beforeMs)),
      },
    }),
  };
  return {
    store,
    timer: ((act, delayMs) => timer(() => void pass().then(act), delayMs)) satisfies StartTimer,
    kill() {
      state = "dead";
    },
    stop() {
      state = "stopped";
    },
    wake() {
      state = "lives";
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    },
  };
}

export interface ProcessesOptions {
  /** Parts of the store. */
  readonly store?: Partial<PaymentStore> | undefined;
  /** Parts that the store does not have. */
  readonly without?: readonly (keyof PaymentStore)[];
}

/** Several processes with one clock, one facilitator and one store. */
export function createProcesses({ store: parts = {}, without = [] }: ProcessesOptions = {}) {
  const { clock, timer, passTime: jump } = createTime();
  const now = () => clock.ms;
  const shared = createSharedStore(now);
  const base = { ...shared.store, ...parts };
  for (const name of without) Reflect.deleteProperty(base, name);
  const facilitator = createFakeFacilitator();
  facilitator.supports = {
    kinds: [{ x402Version: 2, scheme: "exact", network: NETWORK }],
    extensions: [],
    signers: {},
  };
  return {
    clock,
    facilitator,
    runs: shared.runs,
    kept: shared.kept,
    store: base,
    record: async (identity = IDENTITY) => base.find(identity),
    /** Time passes in steps, and what is due happens in between. */
    async passTime(ms: number) {
      for (let passed = 0; passed < ms; passed += 250) await jump(Math.min(250, ms - passed));
    },
    open(options: ShopOptions = {}) {
      const { store, ...connection } = createConnection(base, timer);
      const lines: { readonly event: string; readonly fields: LogFields }[] = [];
      const shop = createShop({ facilitator, now, ...options, timer: connection.timer, store });
      return { ...shop, ...connection, lines };
    },
  };
}
