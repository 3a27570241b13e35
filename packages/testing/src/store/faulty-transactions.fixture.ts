/** Payment stores with a fault in what they know of transactions, each in one way. */
import { setImmediate } from "node:timers/promises";
import { createMemoryStore, type PaymentStore, type Transition } from "@farebox/core";
import { changing, connectionTo, reading } from "./faulty-stores.fixture.js";

type Now = () => number;

/** Replaces `transition`. */
function transitioning(now: Now, how: (store: PaymentStore) => PaymentStore["transition"]): PaymentStore {
  const store = createMemoryStore(now);
  return { ...connectionTo(store), transition: how(store) };
}

export function ignoresTransactions(now: Now): PaymentStore {
  return changing(now, ({ transaction: _, ...rest }) => rest);
}

export function hidesTransactions(now: Now): PaymentStore {
  return reading(createMemoryStore(now), ({ transaction: _, ...rest }) => rest);
}

/** Reads before it writes. */
export function looksThenPays(now: Now): PaymentStore {
  const shown = new Map<string, string>();
  const store = createMemoryStore(now);
  return {
    ...reading(store, (record) => {
      const transaction = shown.get(record.identity);
      return { ...record, ...(transaction !== undefined && { transaction }) };
    }),
    async transition({ transaction, ...change }) {
      const isPaid = [...shown].some(([identity, other]) => other === transaction && identity !== change.identity);
      await setImmediate();
      if (transaction !== undefined && isPaid) return false;
      const taken = await store.transition(change);
      if (taken && transaction !== undefined) shown.set(change.identity, transaction);
      return taken;
    },
  };
}

/** Takes the transaction of a transition that it refuses. */
export function paysBeforeItRefuses(now: Now): PaymentStore {
  const taken = new Map<string, string>();
  return transitioning(now, (store) => async (change) => {
    const { transaction, identity } = change;
    if (transaction !== undefined) {
      if ((taken.get(transaction) ?? identity) !== identity) return false;
      taken.set(transaction, identity);
    }
    return store.transition(change);
  });
}

/** Writes the rest of a transition by a transaction that has paid. */
export function settlesAnyway(now: Now): PaymentStore {
  return transitioning(now, (store) => async (change) => {
    if (await store.transition(change)) return true;
    const { transaction: _, ...rest } = change;
    if (change.transaction !== undefined) await store.transition(rest);
    return false;
  });
}

/** Stores ids in a column that ignores case. */
export function transactionsInLowerCase(now: Now): PaymentStore {
  const lower = (change: Transition): Transition => {
    const { transaction } = change;
    return { ...change, ...(transaction !== undefined && { transaction: transaction.toLowerCase() }) };
  };
  return changing(now, lower);
}
