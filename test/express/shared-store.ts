/**
 * A store that renews leases, and says how the deliveries of its payments end.
 *
 * @module
 */
import { createMemoryStore, type PaymentRecord, type PaymentStore, type StartTimer } from "@farebox/core";

/** A response stays in the store for this long after its delivery. */
const READABLE_MS = 3_000;

export function createLeasingStore() {
  const memory = createMemoryStore();
  const seen: string[] = [];
  let tell: (record: PaymentRecord | undefined) => void = () => {};
  const ended = new Promise<PaymentRecord | undefined>((resolve) => {
    tell = resolve;
  });
  const store: PaymentStore = {
    claim: (request) => memory.claim(request),
    find: (identity) => memory.find(identity),
    async transition(change) {
      const isDone = await memory.transition(change);
      const record = await memory.find(change.identity);
      const has = [record?.leaseUntilMs === undefined ? "" : "lease", record?.answer === undefined ? "" : "response"];
      if (isDone) seen.push([change.to, ...has].filter((word) => word !== "").join(" "));
      if (change.from === "settled" && record?.leaseUntilMs === undefined) tell(record);
      return isDone;
    },
    release: (identity, owner) => memory.release(identity, owner),
    unfinished: () => memory.unfinished(),
    renew() {},
  };
  /** Delivered responses are forgotten at once, and no other time passes. */
  const timer: StartTimer = (act, delayMs) => {
    if (delayMs !== READABLE_MS) return () => {};
    const soon = setImmediate(act);
    return () => clearImmediate(soon);
  };
  return {
    options: { store, timer },
    /** The states of a record, and what it had. */
    seen,
    /** The record, once a delivery has ended. */
    ended,
  };
}
