/** Stores that are reopened and joined like a database, some of them with a fault. */
import { setImmediate } from "node:timers/promises";
import { type Claim, createMemoryStore, type PaymentRecord, type PaymentStore } from "@farebox/core";
import { broken, connectionTo, createRecords, seesNothing } from "./faulty-stores.fixture.js";
import type { OpenedStore, StoreClock } from "./stage.js";

export type Open = (clock: StoreClock) => Promise<OpenedStore>;

export const openMemory: Open = async ({ now }) => ({ store: createMemoryStore(now), close: async () => {} });

/** A memory store that is reopened and joined like a database. */
export const openDatabase: Open = async ({ now }) => {
  const database = createMemoryStore(now);
  const connect = async () => connectionTo(database);
  return { store: await connect(), reopen: connect, join: connect, close: async () => {} };
};

export async function reopensEmpty(clock: StoreClock): Promise<OpenedStore> {
  return { ...(await openDatabase(clock)), reopen: async () => createMemoryStore(clock.now) };
}

export async function reopensForGood(clock: StoreClock): Promise<OpenedStore> {
  const opened = await openDatabase(clock);
  return { ...opened, reopen: async () => ({ ...connectionTo(opened.store), claim: seesNothing }) };
}

export async function joinsAnother(clock: StoreClock): Promise<OpenedStore> {
  return { ...(await openDatabase(clock)), join: async () => createMemoryStore(clock.now) };
}

/** Loses its last write: a release, or a removed response. */
export async function reopensEarlier({ now }: StoreClock): Promise<OpenedStore> {
  const [store, disk] = [createMemoryStore(now), createMemoryStore(now)];
  const written: PaymentStore = {
    ...connectionTo(store),
    claim: async (request) => {
      await disk.claim(request);
      return store.claim(request);
    },
    transition: async (change) => {
      await disk.transition(change);
      return store.transition(change);
    },
  };
  const join = async () => written;
  return { store: written, reopen: async () => disk, join, close: async () => {} };
}

/** The calls of one connection take turns; those of two connections do not. */
export async function lockPerProcess({ now }: StoreClock): Promise<OpenedStore> {
  const { records, put } = createRecords();
  const connect = (): PaymentStore => {
    let turn: Promise<unknown> = Promise.resolve();
    const claim = async (request: Parameters<PaymentStore["claim"]>[0]): Promise<Claim> => {
      const record = records.get(request.identity);
      await setImmediate();
      if (record !== undefined) return { kind: "taken", record };
      put({ ...request, state: "claimed" });
      return { kind: "claimed" };
    };
    return broken(now, {
      claim(request) {
        const mine = turn.then(() => claim(request));
        turn = mine;
        return mine;
      },
      find: async (identity) => records.get(identity),
    });
  };
  return { store: connect(), join: async () => connect(), reopen: async () => connect(), close: async () => {} };
}

/** Each process lists only its own unfinished settlements. */
export async function listsItsOwn({ now }: StoreClock): Promise<OpenedStore> {
  const database = createMemoryStore(now);
  const connect = async (): Promise<PaymentStore> => {
    const mine = new Set<string>();
    return {
      ...connectionTo(database),
      async transition(change) {
        mine.add(change.identity);
        return database.transition(change);
      },
      async *unfinished() {
        for await (const record of database.unfinished()) if (mine.has(record.identity)) yield record;
      },
    };
  };
  const { join, reopen } = { join: connect, reopen: async () => connectionTo(database) };
  return { store: await connect(), join, reopen, close: async () => {} };
}

/** Keeps the list of unfinished payments in memory, and the records in the database. */
export async function reopensWithoutList(clock: StoreClock): Promise<OpenedStore> {
  const opened = await openDatabase(clock);
  return { ...opened, reopen: async () => ({ ...connectionTo(opened.store), unfinished: noRecords }) };
}

/** Keeps the identifiers in memory, and the records in the database. */
export async function reopensWithoutIdentifiers(clock: StoreClock): Promise<OpenedStore> {
  const opened = await openDatabase(clock);
  const { store } = opened;
  const claim: PaymentStore["claim"] = async ({ identifier: _, ...rest }) => store.claim(rest);
  return { ...opened, reopen: async () => ({ ...connectionTo(store), claim }) };
}

async function* noRecords(): AsyncIterable<PaymentRecord> {}
