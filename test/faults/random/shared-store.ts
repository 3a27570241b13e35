/**
 * One store, used by several processes that may die: what a dead one asks the store for is never answered.
 *
 * @module
 */
import {
  type ClaimRequest,
  createMemoryStore,
  type MaybePromise,
  type PaymentRecord,
  type PaymentStore,
  type Transition,
} from "@farebox/core";

/** The store as it really is, and each process's view of it. */
export interface SharedStore {
  readonly base: PaymentStore;
  /** What is on record, as of the last change. */
  peek(identity: string): PaymentRecord | undefined;
  /** Whether the outcome of a settlement has ever been unknown. */
  wasUnknown(identity: string): boolean;
  /** Whether a response ever waited for another attempt to settle. */
  wasHeldBack(identity: string): boolean;
  /** Whether the process that owns a record is dead. */
  isOrphaned(record: PaymentRecord): boolean;
  /** One process's way to the store, until that is cut. */
  connect(): Connection;
}

export interface Connection {
  readonly store: PaymentStore;
  cut(): void;
}

/**
 * Creates an empty store.
 *
 * @param isMemory - It belongs to one process: that has it itself. Else a way to it takes a moment, and so does the way
 *   back.
 */
export function createSharedStore(now: () => number, isMemory: boolean): SharedStore {
  const records = new Map<string, PaymentRecord>();
  const unknown = new Set<string>();
  const heldBack = new Set<string>();
  const base = watched(createMemoryStore(now), ({ identity, record }) => {
    if (record?.state === "unknown") unknown.add(identity);
    if (record?.state === "unknown" || record?.state === "unsent") heldBack.add(identity);
    if (record === undefined) records.delete(identity);
    else records.set(identity, record);
    return records.keys();
  });
  const orphans = new Set<string>();
  return {
    base,
    peek: (identity) => records.get(identity),
    wasUnknown: (identity) => unknown.has(identity),
    wasHeldBack: (identity) => heldBack.has(identity),
    isOrphaned: ({ owner }) => orphans.has(owner),
    connect: () => (isMemory ? { store: base, cut() {} } : connectTo(base, orphans)),
  };
}

interface Seen {
  readonly identity: string;
  readonly record: PaymentRecord | undefined;
}

/** Shows what is on record after each change; what that yields is looked at with each claim, too. The store stays the object it is, so that it is known as a memory store. */
function watched(store: PaymentStore, see: (seen: Seen) => Iterable<string>): PaymentStore {
  const { claim, transition, release, find } = store;
  const refresh = async (identity: string) => see({ identity, record: await find(identity) });
  let seen: Iterable<string> = [];
  const note = async <T>(identity: string, change: MaybePromise<T>): Promise<T> => {
    const outcome = await change;
    seen = await refresh(identity);
    return outcome;
  };
  return Object.assign(store, {
    async claim(request: ClaimRequest) {
      const outcome = await note(request.identity, claim(request));
      // With each claim, records that are old enough are forgotten.
      for (const identity of [...seen]) await refresh(identity);
      return outcome;
    },
    transition: (change: Transition) => note(change.identity, transition(change)),
    release: (identity: string, owner: string) => note(identity, release(identity, owner)),
  });
}

function connectTo(base: PaymentStore, orphans: Set<string>): Connection {
  let isCut = false;
  const owners = new Set<string>();
  const travel = () => new Promise<void>((resolve) => void setImmediate(() => isCut || resolve()));
  const ask = async <T>(owner: string, question: () => MaybePromise<T>): Promise<T> => {
    owners.add(owner);
    await travel();
    const answer = await question();
    await travel();
    return answer;
  };
  const { ledger } = base;
  const store: PaymentStore = {
    claim: (request) => ask(request.owner, () => base.claim(request)),
    find: (identity) => ask("", () => base.find(identity)),
    transition: (change) => ask(change.newOwner ?? change.owner, () => base.transition(change)),
    release: (identity, owner) => ask(owner, () => base.release(identity, owner)),
    async *unfinished() {
      await travel();
      yield* base.unfinished();
    },
    ...(ledger && {
      ledger: {
        list: (query) => ask("", () => ledger.list(query)),
        find: (id) => ask("", () => ledger.find(id)),
        refund: (change) => ask("", () => ledger.refund(change)),
        erase: (payer) => ask("", () => ledger.erase(payer)),
        count: (added) => ask("", () => ledger.count(added)),
        counts: (days) => ask("", () => ledger.counts(days)),
        hold: (lease) => ask("", () => ledger.hold(lease)),
        sweep: (beforeMs) => ask("", () => ledger.sweep(beforeMs)),
      },
    }),
  };
  const cut = () => {
    isCut = true;
    for (const owner of owners) orphans.add(owner);
  };
  return { store, cut };
}
