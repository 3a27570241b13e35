/**
 * The ledger of a store: one entry for each settled payment, and counts of what was not sold.
 *
 * An entry is written with the transition that says `settled` or `owed`, so that a process which dies leaves both or neither.
 *
 * @see `docs/guides/ledger.md`
 * @module
 */

/** A value, or the promise of one. A store in this process can return its results without a promise. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** What `payments.ledger` asks of a store. Every method is atomic. */
export interface SharedLedger {
  /**
   * Returns the first entries that match, in the order in which they were recorded. That order is the same in all processes, and an entry
   * that is recorded later has a later position: who goes on from the last position misses none.
   */
  list(query: LedgerSearch): MaybePromise<readonly LedgerEntry[]>;
  /** The entry with that id, or `undefined`. */
  find(id: string): MaybePromise<LedgerEntry | undefined>;
  /** Replaces refunds and status of an entry that has `known` refunds so far. Otherwise returns `false` and changes nothing. */
  refund(change: RefundChange): MaybePromise<boolean>;
  /** Removes `payer` and `resource` from every entry of a payer. Returns from how many. */
  erase(payer: string): MaybePromise<number>;
  /** Adds to counts. Of any number of calls at once, none is lost. */
  count(added: readonly LedgerCount[]): MaybePromise<void>;
  /** The counts of days from `sinceDay` to `untilDay`, both included, by day, route, kind and reason. */
  counts(days: { readonly sinceDay: string; readonly untilDay: string }): MaybePromise<readonly LedgerCount[]>;
  /**
   * Takes or keeps the lease of a cursor, and moves the cursor. Returns where it stands; `undefined` if another owner has the lease, and
   * then nothing has changed.
   */
  hold(lease: CursorLease): MaybePromise<string | undefined>;
  /**
   * Deletes some entries that settled before a time, and the counts of days before it. Returns how many entries; 0 if there are no more.
   * No position is given again.
   */
  sweep(beforeMs: number): MaybePromise<number>;
}

/** A settled payment, as it is recorded. */
export interface NewLedgerEntry {
  /** 32 hexadecimal digits. Two entries never have the same one: the first stays. */
  readonly id: string;
  /** When its settlement was known, in Unix milliseconds. */
  readonly settledAtMs: number;
  /** The key of the route, e.g. `GET /weather/:city`; for a tool, its name. */
  readonly route: string;
  /** What was bought, by its URL. Absent once its payer is erased. */
  readonly resource?: string;
  /** The payer's address, EVM addresses in lower case; or its hash; absent once it is erased. */
  readonly payer?: string;
  /** The address that was paid. */
  readonly payee: string;
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:8453`. */
  readonly network: string;
  readonly asset: string;
  /** Decimals of the asset. Absent if nobody knows them. */
  readonly decimals?: number;
  /** What was paid, in atomic units, as digits. */
  readonly amount: string;
  /** What the payer had authorized, in the same form, if the scheme allows less. */
  readonly maximum?: string;
  /** What the facilitator keeps of it, in the same form, if `feeOf` says so. */
  readonly fee?: string;
  readonly transaction: string;
  /** The name of the facilitator. Absent if it is not known which one it was. */
  readonly facilitator?: string;
  /** How long the settlement took, in milliseconds. */
  readonly latencyMs: number;
  /** Which attempt settled it: 1 for the first. An attempt of a process that died may be missing. */
  readonly attempt: number;
}

/** A settled payment. */
export interface LedgerEntry extends NewLedgerEntry {
  /** Where it stands in the ledger: digits, to be compared as whole numbers. Pass it as `after` to go on. */
  readonly position: string;
  /** `refunded`: all of it was given back. */
  readonly status: "settled" | "refunded";
  /** What was given back, the first one first. */
  readonly refunds: readonly LedgerRefund[];
}

/** Money that was given back. */
export interface LedgerRefund {
  readonly transaction: string;
  /** Atomic units, as digits. */
  readonly amount: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Which entries. A field that is left out does not matter. */
export interface LedgerSearch {
  /** From this time on. */
  readonly sinceMs?: number;
  /** Before this time. */
  readonly untilMs?: number;
  readonly route?: string;
  /** As it is recorded. */
  readonly payer?: string;
  readonly network?: string;
  readonly status?: LedgerEntry["status"];
  /** Behind this position. Default: from the beginning. */
  readonly after?: string;
  /** How many at most. */
  readonly limit: number;
}

/** New refunds of an entry. */
export interface RefundChange {
  readonly id: string;
  /** How many refunds the entry must have. */
  readonly known: number;
  /** All refunds, those before included. */
  readonly refunds: readonly LedgerRefund[];
  readonly status: LedgerEntry["status"];
}

/** How often something was not sold on a day. */
export interface LedgerCount {
  /** In UTC: `2026-11-27`. */
  readonly day: string;
  readonly route: string;
  /** `refused`: the payment was no good, or the seller wanted none. `uncharged`: the handler ran, and nothing was charged. */
  readonly kind: "refused" | "uncharged";
  /** A reason of the protocol, or what refused it: `insufficient_funds`, `validate`, `client_gone`. */
  readonly reason: string;
  readonly count: number;
}

/** A lease of a named cursor. */
export interface CursorLease {
  readonly name: string;
  /** Who asks. */
  readonly owner: string;
  readonly nowMs: number;
  /** Until then nobody else gets it. `nowMs` gives it back. */
  readonly untilMs: number;
  /** Moves the cursor there. It never moves back. Default: it stays. */
  readonly position?: string;
  /** Where a cursor begins that is new: before the first entry, or behind the last one. */
  readonly from: "start" | "now";
}
