/** Stores with a fault in how they keep responses within their room. */
import type { PaymentRecord } from "@farebox/core";
import type { Open } from "./faulty-databases.fixture.js";
import { connectFully, createFullStore, type FullStore, MIB } from "./faulty-parts.fixture.js";
import { reading } from "./faulty-stores.fixture.js";

function openWith(room: number, fault: (store: FullStore) => Partial<FullStore> = () => ({})): Open {
  return async ({ now }) => {
    const database = createFullStore(now, room);
    const faulty = { ...connectFully(database), ...fault(database) };
    const connect = async () => ({ ...faulty });
    return { store: await connect(), reopen: connect, join: connect, close: async () => {} };
  };
}

export const keepsAll: Open = openWith(Number.POSITIVE_INFINITY);

export const keepsOneByteMore: Open = openWith(MIB + 1);

export const keepsDelivered: Open = openWith(MIB, (store) => ({
  transition: ({ delivers: _, ...change }) => store.transition(change),
}));

export const dropsRecords: Open = openWith(MIB, (store) => {
  const written = new Set<string>();
  return {
    transition(change) {
      if (change.answer !== undefined) written.add(change.identity);
      return store.transition(change);
    },
    find: async (identity) => {
      const record = await store.find(identity);
      return written.has(identity) && record?.answer === undefined ? undefined : record;
    },
  };
});

export const dropsReceipts: Open = openWith(MIB, (store) => {
  const hide = (record: PaymentRecord): PaymentRecord => {
    const { receipt: _, ...rest } = record;
    return record.answer === undefined ? rest : record;
  };
  const { find } = reading(store, hide);
  return { find };
});
