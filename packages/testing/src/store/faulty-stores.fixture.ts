/** Payment stores that break the contract, each in one way. */
import { setImmediate } from "node:timers/promises";
import {
  type Claim,
  type ClaimRequest,
  createMemoryStore,
  type PaymentRecord,
  type PaymentState,
  type PaymentStore,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
} from "@farebox/core";

export function connectionTo(store: PaymentStore): PaymentStore {
  return {
    claim: (request) => store.claim(request),
    find: (identity) => store.find(identity),
    transition: (change) => store.transition(change),
    release: (identity, owner) => store.release(identity, owner),
    unfinished: () => store.unfinished(),
  };
}

export function broken(now: () => number, fault: Partial<PaymentStore>): PaymentStore {
  return { ...connectionTo(createMemoryStore(now)), ...fault };
}

export async function seesNothing(): Promise<Claim> {
  return { kind: "claimed" };
}

/** A plain map of records, for stores with their own rules. */
export function createRecords() {
  const records = new Map<string, PaymentRecord>();
  const put = (record: PaymentRecord, change: Partial<PaymentRecord> = {}) =>
    void records.set(record.identity, { ...record, ...change });
  return { records, put };
}

export function looksThenClaims(now: () => number): PaymentStore {
  const { records, put } = createRecords();
  return broken(now, {
    async claim(request) {
      const record = records.get(request.identity);
      await setImmediate();
      if (record !== undefined) return { kind: "taken", record };
      put({ ...request, state: "claimed" });
      return { kind: "claimed" };
    },
    find: async (identity) => records.get(identity),
  });
}

export function looksThenChanges(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async transition(change) {
      const record = await store.find(change.identity);
      await setImmediate();
      if (record?.state !== change.from || record.owner !== change.owner) return false;
      await store.transition(change);
      return true;
    },
  };
}

export function lastClaimWins(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async claim(request) {
      const record = await store.find(request.identity);
      if (record !== undefined) await store.release(request.identity, record.owner);
      return store.claim(request);
    },
  };
}

/** Replaces the owner of each call with the stored owner. */
export function ignoresOwner(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const transition = async (change: Transition) => {
    const owner = (await store.find(change.identity))?.owner ?? change.owner;
    return store.transition({ ...change, owner });
  };
  return { ...connectionTo(store), transition };
}

export function ignoresFrom(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const transition = async (change: Transition) => {
    const from = (await store.find(change.identity))?.state ?? change.from;
    return store.transition({ ...change, from: TRANSITIONS[from].includes(change.to) ? from : change.from });
  };
  return { ...connectionTo(store), transition };
}

export function acceptsAnyTransition(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const states = new Map<string, PaymentState>();
  return {
    ...reading(store, (record) => ({ ...record, state: states.get(record.identity) ?? record.state })),
    async transition({ identity, to }) {
      states.set(identity, to);
      return true;
    },
  };
}

export function writesBeforeItRefuses(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const answers = new Map<string, StoredAnswer>();
  return {
    ...reading(store, (record) => {
      const answer = record.answer ?? answers.get(record.identity);
      return { ...record, ...(answer && { answer }) };
    }),
    async transition(change) {
      if (change.answer) answers.set(change.identity, change.answer);
      return store.transition(change);
    },
  };
}

/** Changes every claim. */
export function claiming(now: () => number, other: (request: ClaimRequest) => ClaimRequest): PaymentStore {
  const store = createMemoryStore(now);
  return { ...connectionTo(store), claim: (request) => store.claim(other(request)) };
}

/** Changes every transition. */
export function changing(now: () => number, other: (change: Transition) => Transition): PaymentStore {
  const store = createMemoryStore(now);
  return { ...connectionTo(store), transition: (change) => store.transition(other(change)) };
}

export function ignoresNewOwner(now: () => number): PaymentStore {
  return changing(now, ({ newOwner: _, ...rest }) => rest);
}

export function forgetsWhatIsLeftOut(now: () => number): PaymentStore {
  return changing(now, (change) => ({ answer: null, facilitator: null, ...change }));
}

/** Skips a transition to the current state. */
export function skipsWhatIsDone(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async transition(change) {
      const record = await store.find(change.identity);
      const isDone = change.from === "settling" && record?.state === change.to && record.state === "settling";
      return isDone || store.transition(change);
    },
  };
}

/** Lets the current and the former owner change a settlement. */
export function letsFormerOwnerEnd(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const owners = new Map<string, Set<string>>();
  return {
    ...connectionTo(store),
    async transition(change) {
      const record = await store.find(change.identity);
      const former = owners.get(change.identity) ?? new Set();
      const isFormer = former.has(change.owner) && change.to !== "settling" && record !== undefined;
      const taken = await store.transition(isFormer ? { ...change, owner: record.owner } : change);
      if (taken) owners.set(change.identity, former.add(change.owner));
      return taken;
    },
  };
}

/** Takes an amount that is counted again for a transition that was made. */
export function countsOnce(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async transition(change) {
      const record = await store.find(change.identity);
      const isRepeated = record?.state === "metering" && record.owner === change.owner && change.to === "metering";
      return isRepeated || store.transition(change);
    },
  };
}

/** Releases claimed payments, but not those that are metered. */
export function keepsMetered(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const release = async (identity: string, owner: string) => {
    if ((await store.find(identity))?.state !== "metering") await store.release(identity, owner);
  };
  return { ...connectionTo(store), release };
}

/** Releases claimed payments, but not rejected ones. */
export function keepsRejected(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const release = async (identity: string, owner: string) => {
    if ((await store.find(identity))?.state !== "rejected") await store.release(identity, owner);
  };
  return { ...connectionTo(store), release };
}

export function anybodyReleases(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const release = async (identity: string) => {
    await store.release(identity, (await store.find(identity))?.owner ?? "");
  };
  return { ...connectionTo(store), release };
}

export function releasesAnything(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const released = new Set<string>();
  return {
    ...connectionTo(store),
    find: async (identity) => (released.has(identity) ? undefined : store.find(identity)),
    async release(identity, owner) {
      if ((await store.find(identity))?.owner === owner) released.add(identity);
    },
  };
}

export function looksThenReleases(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const released = new Set<string>();
  return {
    ...connectionTo(store),
    find: async (identity) => (released.has(identity) ? undefined : store.find(identity)),
    async release(identity, owner) {
      const record = await store.find(identity);
      await setImmediate();
      if (record?.owner === owner && ["claimed", "metering"].includes(record.state)) released.add(identity);
    },
  };
}

export function expiresWithFirstClaim(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const expiries = new Map<string, number>();
  return {
    ...connectionTo(store),
    async claim(request) {
      expiries.set(request.identity, expiries.get(request.identity) ?? request.expiresAtMs);
      return store.claim(request);
    },
    async find(identity) {
      return now() < (expiries.get(identity) ?? 0) + 10 * 60_000 ? store.find(identity) : undefined;
    },
  };
}

/** Stores payments under another identity. */
export function renaming(now: () => number, rename: (identity: string) => string): PaymentStore {
  const store = createMemoryStore(now);
  return {
    claim: (request) => store.claim({ ...request, identity: rename(request.identity) }),
    find: (identity) => store.find(rename(identity)),
    transition: (change) => store.transition({ ...change, identity: rename(change.identity) }),
    release: (identity, owner) => store.release(rename(identity), owner),
    unfinished: () => store.unfinished(),
  };
}

export function findsNull(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const find = async (identity: string) => ((await store.find(identity)) ?? null) as PaymentRecord | undefined;
  return { ...connectionTo(store), find };
}

/** Changes every record that is read. */
export function reading(store: PaymentStore, other: (record: PaymentRecord) => PaymentRecord): PaymentStore {
  return {
    ...connectionTo(store),
    async find(identity) {
      const record = await store.find(identity);
      return record && other(record);
    },
    async claim(request) {
      const claim = await store.claim(request);
      return claim.kind === "taken" ? { kind: "taken", record: other(claim.record) } : claim;
    },
  };
}
