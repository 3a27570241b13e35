/**
 * What one check of a payment store works with, and what the person who runs the checks has to provide for it.
 *
 * @module
 */
import type { MaybePromise, PaymentStore } from "@farebox/core";

/** A clock that moves when it is told to. Stores that can be given a clock are given this one. */
export interface StoreClock {
  /** Unix milliseconds. */
  now(): number;
  advance(ms: number): void;
}

/** One store under test, with nothing in it. */
export interface OpenedStore {
  readonly store: PaymentStore;
  /** Closes the store and opens it again, with what was written into it. */
  reopen?(): Promise<PaymentStore>;
  /** Opens a second store on the same data while the first is open, the way another process would. */
  join?(): Promise<PaymentStore>;
  /** Closes whatever is open, and forgets the data. */
  close(): Promise<void>;
}

/** What is asked of a store beyond what is asked of all. Said beforehand, so that no check is left out unnoticed. */
export interface StoreTraits {
  /** What is written outlives the store: `reopen` is there, and checked. Default `false`. */
  readonly durable?: boolean;
  /** Several processes may use it at once: `join` is there, and those who contend use both. Default `false`. */
  readonly shared?: boolean;
  /** It goes by a clock that cannot be given to it; that it forgets in time is then not checked. Default `false`. */
  readonly ownClock?: boolean;
}

/** A store, as a check sees it. */
export interface Stage {
  readonly clock: StoreClock;
  readonly store: PaymentStore;
  /** The same payments, by every way to them: those who contend take turns with these. */
  readonly stores: readonly [PaymentStore, ...PaymentStore[]];
  reopen(): Promise<PaymentStore>;
}

/** One thing that is asked of a store. */
export interface Check {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

/** Asks `count` times at once, by every way there is to the store. */
export function atOnce<T>(
  stage: Stage,
  count: number,
  ask: (store: PaymentStore, at: number) => MaybePromise<T>,
): Promise<T[]> {
  const { stores } = stage;
  return Promise.all(Array.from({ length: count }, (_, at) => ask(stores[at % stores.length] ?? stage.store, at)));
}
