/** Payment stores with a fault in `unfinished`, each in one way. */
import {
  createMemoryStore,
  type PaymentRecord,
  type PaymentStore,
  RELEASABLE,
  TRANSITIONS,
  UNFINISHED,
} from "@farebox/core";
import { connectionTo } from "./faulty-stores.fixture.js";

type Now = () => number;

/** Replaces `unfinished`. `all` returns every record, in the order of the first claims. */
function walking(
  now: Now,
  walk: (all: () => Promise<readonly PaymentRecord[]>, store: PaymentStore) => AsyncIterable<PaymentRecord>,
): PaymentStore {
  const store = createMemoryStore(now);
  const identities = new Set<string>();
  const all = async () => {
    const records = await Promise.all([...identities].map((identity) => store.find(identity)));
    return records.filter((record) => record !== undefined);
  };
  return {
    ...connectionTo(store),
    async claim(request) {
      identities.add(request.identity);
      return store.claim(request);
    },
    unfinished: () => walk(all, store),
  };
}

const isUnfinished = ({ state }: PaymentRecord) => UNFINISHED.includes(state);

/** Yields the records that `fits` selects. */
function listing(now: Now, fits: (record: PaymentRecord) => boolean): PaymentStore {
  return walking(now, async function* (all) {
    yield* (await all()).filter(fits);
  });
}

export const listsNothing = (now: Now) => listing(now, () => false);
export const listsEverything = (now: Now) => listing(now, () => true);
export const listsSettling = (now: Now) => listing(now, ({ state }) => state === "settling");
export const listsUnknown = (now: Now) => listing(now, ({ state }) => state === "unknown");
/** Like a store that does not know the states of metered payments. */
export const listsNothingMetered = (now: Now) =>
  listing(now, ({ state }) => state === "settling" || state === "unknown");
/** Hides leased payments, although a process may find its own leases after a restart. */
export const listsWhatIsNotLeased = (now: Now) =>
  listing(now, (record) => isUnfinished(record) && (record.leaseUntilMs ?? 0) <= now());

export function listsColumns(now: Now): PaymentStore {
  return walking(now, async function* (all) {
    for (const { request: _, answer: __, ...columns } of await all()) if (isUnfinished(columns)) yield columns;
  });
}

/** Like a database with a default limit of a thousand rows. */
export function listsThousand(now: Now): PaymentStore {
  return walking(now, async function* (all) {
    yield* (await all()).filter(isUnfinished).slice(0, 1_000);
  });
}

/** Reads pages by offset: a payment that ends on an earlier page moves all others forward. */
export function listsByOffset(now: Now): PaymentStore {
  return walking(now, async function* (all) {
    const pageSize = 50;
    for (let offset = 0; ; offset += pageSize) {
      const page = (await all()).filter(isUnfinished).slice(offset, offset + pageSize);
      yield* page;
      if (page.length < pageSize) return;
    }
  });
}

/** Yields the first record that it has not yielded in this form; a rewritten record is a new row. */
export function listsWhatIsWrittenAnew(now: Now): PaymentStore {
  return walking(now, async function* (all) {
    const yielded = new Set<PaymentRecord>();
    for (;;) {
      const next = (await all()).find((record) => isUnfinished(record) && !yielded.has(record));
      if (next === undefined) return;
      yielded.add(next);
      yield next;
    }
  });
}

/** One cursor for all iterations; it continues where the last one stopped. */
export function sharesCursor(now: Now): PaymentStore {
  let open: AsyncIterator<PaymentRecord> | undefined;
  return walking(now, (_, store) => ({
    [Symbol.asyncIterator]() {
      open ??= store.unfinished()[Symbol.asyncIterator]();
      const cursor = open;
      return {
        async next() {
          const result = await cursor.next();
          if (result.done) open = undefined;
          return result;
        },
      };
    },
  }));
}

/** Blocks writes during an iteration. */
export function locksWhileWalked(now: Now): PaymentStore {
  let walkers = 0;
  const store = walking(now, async function* (all) {
    walkers++;
    try {
      yield* (await all()).filter(isUnfinished);
    } finally {
      walkers--;
    }
  });
  const claim: PaymentStore["claim"] = async (request) => {
    if (walkers > 0) throw new TypeError("database is locked");
    return store.claim(request);
  };
  return { ...store, claim };
}

/** Keeps a list of unfinished payments, and never removes ended ones. */
export function remembersWhatHasEnded(now: Now): PaymentStore {
  return keepingList(now, false);
}

/** Keeps a list of unfinished payments, and leaves those in it that are released. */
export function remembersWhatIsReleased(now: Now): PaymentStore {
  const store = createMemoryStore(now);
  const released = new Map<string, PaymentRecord>();
  return {
    ...connectionTo(store),
    async release(identity, owner) {
      const record = await store.find(identity);
      await store.release(identity, owner);
      if (record !== undefined && isUnfinished(record)) released.set(identity, record);
    },
    async *unfinished() {
      yield* store.unfinished();
      yield* released.values();
    },
  };
}

/** Keeps a list of unfinished payments, and never removes expired ones. */
export function remembersWhatIsForgotten(now: Now): PaymentStore {
  return keepingList(now, true);
}

function keepingList(now: Now, takesOut: boolean): PaymentStore {
  const store = createMemoryStore(now);
  const list = new Map<string, PaymentRecord>();
  return {
    ...connectionTo(store),
    async transition(change) {
      const taken = await store.transition(change);
      const record = await store.find(change.identity);
      if (record !== undefined && isUnfinished(record)) list.set(record.identity, record);
      else if (takesOut) list.delete(change.identity);
      return taken;
    },
    async *unfinished() {
      yield* list.values();
    },
  };
}

/** Forgets a payment only when its settlement has ended, as a durable store should. Correct. */
export function keepsUnfinished(now: () => number): PaymentStore {
  const records = new Map<string, PaymentRecord>();
  const isUnfinished = ({ state }: PaymentRecord) => UNFINISHED.includes(state);
  const forget = () => {
    for (const record of records.values()) {
      if (record.expiresAtMs + 10 * 60_000 <= now() && !isUnfinished(record)) records.delete(record.identity);
    }
  };
  return {
    find: (identity) => records.get(identity),
    claim(request) {
      forget();
      const record = records.get(request.identity);
      if (record !== undefined) return { kind: "taken", record };
      const { identifier } = request;
      const isTaken = identifier !== undefined && [...records.values()].some((one) => one.identifier === identifier);
      if (isTaken) return { kind: "identifier_taken" };
      records.set(request.identity, { ...request, state: "claimed" });
      return { kind: "claimed" };
    },
    transition({ identity, from, to, owner, newOwner = owner, ...fields }) {
      const record = records.get(identity);
      if (record?.state !== from || record.owner !== owner || !TRANSITIONS[from].includes(to)) return false;
      const { transaction } = fields;
      const others = [...records.values()].filter((one) => one !== record);
      if (transaction !== undefined && others.some((one) => one.transaction === transaction)) return false;
      const written = Object.entries(fields).filter(([, value]) => value !== undefined);
      const next = Object.assign({ ...record, state: to, owner: newOwner }, Object.fromEntries(written));
      for (const [name, value] of written) if (value === null) Reflect.deleteProperty(next, name);
      records.set(identity, next);
      return true;
    },
    release(identity, owner) {
      const record = records.get(identity);
      if (record?.owner === owner && RELEASABLE.includes(record.state)) records.delete(identity);
    },
    async *unfinished() {
      for (const { identity } of [...records.values()].filter(isUnfinished)) {
        const record = records.get(identity);
        if (record !== undefined && isUnfinished(record)) yield record;
      }
    },
  };
}
