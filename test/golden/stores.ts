/**
 * The stores that golden sequences are played on. Each process has a way of its own to what they share, which its death cuts.
 *
 * @module
 */
import {
  type ClaimRequest,
  createMemoryStore,
  type MaybePromise,
  type PaymentStore,
  RELEASABLE,
  type Transition,
} from "@farebox/core";
import type { Kind } from "./plan.js";

/** The store of one sequence. */
export interface Shelf {
  /** The way of a new process to it. */
  connect(): Connection;
  /** What is on record, unrecorded. */
  readonly base: PaymentStore;
  /** Makes the call that has waited longest, to its end. Resolves with whether there was any. */
  serve(): Promise<boolean>;
  /** Calls the watchers of records that have changed. Returns whether there were any. */
  tell(): boolean;
  close(): Promise<void>;
}

export interface Connection {
  readonly store: PaymentStore;
  cut(): void;
}

/** Opens one store after the other. */
export interface Warehouse {
  open(now: () => number): Promise<Shelf>;
  close(): Promise<void>;
}

/** Starts the server of a kind of store, if it has one. */
export async function openWarehouse(kind: Kind): Promise<Warehouse> {
  if (kind !== "memory" && kind !== "processes") return (await import("./servers.js")).openServer(kind);
  const isAlone = kind === "memory";
  return {
    async open(now) {
      const base = createMemoryStore(now);
      if (!isAlone) return shelf({ base, connect: () => apart(base), close: async () => {} });
      const connection = { store: base, cut() {} };
      return { ...shelf({ base, connect: () => base, close: async () => {} }), connect: () => connection };
    },
    close: async () => {},
  };
}

export interface Shelving {
  readonly base: PaymentStore;
  readonly connect: () => PaymentStore;
  readonly close: () => Promise<void>;
}

/** Somebody who waits for a change of a record. */
interface Watcher {
  readonly identity: string;
  readonly onChange: () => void;
  isDue: boolean;
}

/**
 * A server tells watchers of a change at any time, and once or several times. Here they are called when nothing else is under way, so that
 * the order is always the same. That a store tells them at all is a matter of its own tests.
 */
export function shelf({ base, connect, close }: Shelving): Shelf {
  const watchers = new Set<Watcher>();
  const known = new Map<string, { readonly owner: string; readonly state: string }>();
  const queue = new Queue();
  const expect = (identity: string) => {
    for (const watcher of watchers) if (watcher.identity === identity) watcher.isDue = true;
  };
  return {
    base,
    close,
    serve: () => queue.serve(),
    tell() {
      const due = [...watchers].filter(({ isDue }) => isDue);
      for (const watcher of due) {
        watcher.isDue = false;
        watcher.onChange();
      }
      return due.length > 0;
    },
    connect: () => connectTo(connect(), { watchers, known, expect, queue }),
  };
}

interface Shared {
  readonly watchers: Set<Watcher>;
  readonly known: Map<string, { readonly owner: string; readonly state: string }>;
  readonly expect: (identity: string) => void;
  readonly queue: Queue;
}

/**
 * Calls of a store, in the order in which they were made. One is made when nothing else happens, and nothing else happens until it has
 * ended. So it does not matter how long a server takes.
 */
class Queue {
  readonly #waiting: (() => Promise<void>)[] = [];

  ask<T>(call: () => MaybePromise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(async () => {
        try {
          resolve(await call());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  async serve(): Promise<boolean> {
    const next = this.#waiting.shift();
    await next?.();
    return next !== undefined;
  }
}

/** One process's way to a store. What a dead process asks is never answered. */
function connectTo(store: PaymentStore, { watchers, known, expect, queue }: Shared): Connection {
  let isCut = false;
  const own = new Set<Watcher>();
  const ask = async <T>(question: () => MaybePromise<T>, seen: (outcome: T) => void = () => {}): Promise<T> => {
    if (isCut) return new Promise<T>(() => {});
    const outcome = await queue.ask(question);
    seen(outcome);
    return isCut ? new Promise<T>(() => {}) : outcome;
  };
  const { renew, watch, keep, ready, runs, exposure, ledger } = store;
  const view: PaymentStore = {
    claim: (request: ClaimRequest) =>
      ask(
        () => store.claim(request),
        ({ kind }) => kind === "claimed" && known.set(request.identity, { owner: request.owner, state: "claimed" }),
      ),
    find: (identity) => ask(() => store.find(identity)),
    transition: (change: Transition) =>
      ask(
        () => store.transition(change),
        (isDone) => {
          if (!isDone) return;
          known.set(change.identity, { owner: change.newOwner ?? change.owner, state: change.to });
          expect(change.identity);
        },
      ),
    release: (identity, owner) =>
      ask(
        () => store.release(identity, owner),
        () => {
          const record = known.get(identity);
          if (record?.owner !== owner || !RELEASABLE.some((state) => state === record.state)) return;
          known.delete(identity);
          expect(identity);
        },
      ),
    async *unfinished() {
      const records = store.unfinished()[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await ask(() => records.next());
        if (done) return;
        yield value;
      }
    },
    ...(renew && { renew: (owned, untilMs) => ask(() => Reflect.apply(renew, store, [owned, untilMs])) }),
    ...(keep && { keep: (name, value) => ask(() => Reflect.apply(keep, store, [name, value])) }),
    ...(ready && { ready: () => ask(() => Reflect.apply(ready, store, [])) }),
    ...(watch && {
      watch: (identity, onChange) =>
        ask(async () => {
          const watcher: Watcher = { identity, onChange, isDue: false };
          const stop: () => void = await Reflect.apply(watch, store, [identity, () => {}]);
          watchers.add(watcher);
          own.add(watcher);
          return () => {
            watchers.delete(watcher);
            stop();
          };
        }),
    }),
    ...(runs && {
      runs: { put: (run, nowMs) => ask(() => runs.put(run, nowMs)), remove: (run) => ask(() => runs.remove(run)) },
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
  const cut = () => {
    isCut = true;
    for (const watcher of own) watchers.delete(watcher);
  };
  return { store: view, cut };
}

/** A memory store that several processes share. It is not known as one. */
function apart(base: PaymentStore): PaymentStore {
  const { ledger } = base;
  return {
    claim: (request) => base.claim(request),
    find: (identity) => base.find(identity),
    transition: (change) => base.transition(change),
    release: (identity, owner) => base.release(identity, owner),
    unfinished: () => base.unfinished(),
    ...(ledger && { ledger }),
  };
}
