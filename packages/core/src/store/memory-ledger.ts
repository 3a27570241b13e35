/**
 * The ledger of one process. It is lost when the process ends, and it forgets the oldest entries when there are too many.
 *
 * @module
 */
import type {
  CursorLease,
  LedgerCount,
  LedgerEntry,
  LedgerSearch,
  NewLedgerEntry,
  RefundChange,
  SharedLedger,
} from "./shared-ledger.js";

/** How many entries are kept, unless the seller says otherwise. */
export const MAX_LEDGER_ENTRIES = 10_000;

/** Entries that were forgotten or swept and still have a place in the order, at most, before the order is built anew. */
const MOST_GONE = 1_000;

interface Cursor {
  owner: string;
  untilMs: number;
  position: bigint;
}

/** A sale whose entry is made when it is read. */
export interface KeptSale {
  readonly routeKey: string;
  /** Whether money has moved. */
  readonly isPaid: boolean;
  /** What the transition of the payment takes along. `undefined`: the ledger is not that of the store, or no money has moved. */
  readonly entry?: NewLedgerEntry | undefined;
  /** Never throws. */
  toEntry(): NewLedgerEntry;
}

/** Keeps entries in memory. Every method runs without interruption, which makes it atomic. */
export class MemoryLedger implements SharedLedger {
  readonly #most: number;
  /** By id, in the order of their positions. */
  readonly #entries = new Map<string, LedgerEntry>();
  /** Positions and ids in order. Ids without an entry are gone. */
  #order: { readonly position: bigint; readonly id: string }[] = [];
  /** How many of the order, from its begin, are known to be gone. */
  #gone = 0;
  #last = 0n;
  /** What was sold since somebody looked: a ring. */
  #kept: KeptSale[] = [];
  #oldest = 0;
  readonly #counts = new Map<string, LedgerCount>();
  readonly #cursors = new Map<string, Cursor>();

  constructor(most: number = MAX_LEDGER_ENTRIES) {
    this.#most = most;
  }

  get size(): number {
    this.#makeEntries();
    return this.#entries.size;
  }

  /** Adds an entry, unless there is one with its id. */
  add(entry: NewLedgerEntry): void {
    // First those that were sold before.
    this.#makeEntries();
    if (this.#entries.has(entry.id)) return;
    this.#last += 1n;
    const position = this.#last;
    this.#entries.set(
      entry.id,
      Object.freeze({ ...entry, position: position.toString(), status: "settled", refunds: Object.freeze([]) }),
    );
    this.#order.push({ position, id: entry.id });
    while (this.#entries.size > this.#most) this.#forgetOldest();
    this.#dropGone();
  }

  /** Adds the entry of a sale, unless there is one with its id, as soon as somebody looks. */
  keep(sale: KeptSale): void {
    if (this.#kept.length < this.#most) {
      this.#kept.push(sale);
    } else if (this.#most > 0) {
      this.#kept[this.#oldest] = sale;
      this.#oldest = (this.#oldest + 1) % this.#most;
    }
  }

  list(query: LedgerSearch): readonly LedgerEntry[] {
    this.#makeEntries();
    const found: LedgerEntry[] = [];
    const after = BigInt(query.after ?? "0");
    for (let at = this.#firstAfter(after); at < this.#order.length && found.length < query.limit; at++) {
      const entry = this.#entries.get(this.#order[at]?.id ?? "");
      if (entry !== undefined && matches(entry, query)) found.push(entry);
    }
    return found;
  }

  find(id: string): LedgerEntry | undefined {
    this.#makeEntries();
    return this.#entries.get(id);
  }

  refund({ id, known, refunds, status }: RefundChange): boolean {
    this.#makeEntries();
    const entry = this.#entries.get(id);
    if (entry?.refunds.length !== known) return false;
    this.#entries.set(id, Object.freeze({ ...entry, refunds: Object.freeze([...refunds]), status }));
    return true;
  }

  erase(payer: string): number {
    this.#makeEntries();
    let erased = 0;
    for (const [id, entry] of this.#entries) {
      if (entry.payer !== payer) continue;
      const { payer: _, resource: __, ...rest } = entry;
      this.#entries.set(id, Object.freeze(rest));
      erased += 1;
    }
    return erased;
  }

  count(added: readonly LedgerCount[]): void {
    for (const one of added) {
      const key = JSON.stringify([one.day, one.route, one.kind, one.reason]);
      const count = (this.#counts.get(key)?.count ?? 0) + one.count;
      this.#counts.set(key, Object.freeze({ ...one, count }));
    }
  }

  counts({ sinceDay, untilDay }: { readonly sinceDay: string; readonly untilDay: string }): readonly LedgerCount[] {
    return [...this.#counts.values()].filter(({ day }) => day >= sinceDay && day <= untilDay).sort(compareCounts);
  }

  hold({ name, owner, nowMs, untilMs, position, from }: CursorLease): string | undefined {
    this.#makeEntries();
    const begin = from === "now" ? this.#last : 0n;
    const cursor = this.#cursors.get(name) ?? { owner, untilMs, position: begin };
    if (cursor.owner !== owner && cursor.untilMs > nowMs) return undefined;
    this.#cursors.set(name, cursor);
    cursor.owner = owner;
    cursor.untilMs = untilMs;
    if (position !== undefined && BigInt(position) > cursor.position) cursor.position = BigInt(position);
    return cursor.position.toString();
  }

  sweep(beforeMs: number): number {
    this.#makeEntries();
    const before = this.#entries.size;
    for (const [id, { settledAtMs }] of this.#entries) if (settledAtMs < beforeMs) this.#entries.delete(id);
    const firstDay = dayOf(beforeMs);
    for (const [key, { day }] of this.#counts) if (day < firstDay) this.#counts.delete(key);
    this.#dropGone();
    return before - this.#entries.size;
  }

  #makeEntries(): void {
    if (this.#kept.length === 0) return;
    const [younger, older] = [this.#kept.slice(0, this.#oldest), this.#kept.slice(this.#oldest)];
    this.#kept = [];
    this.#oldest = 0;
    for (const sale of [...older, ...younger]) this.add(sale.toEntry());
  }

  #firstAfter(position: bigint): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#order[middle]?.position ?? 0n) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The order tells the oldest. A map would step over everything that was deleted from it. */
  #forgetOldest(): void {
    const oldest = this.#order[this.#gone]?.id;
    this.#gone += 1;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #dropGone(): void {
    if (this.#order.length - this.#entries.size <= MOST_GONE) return;
    this.#order = this.#order.filter(({ id }) => this.#entries.has(id));
    this.#gone = 0;
  }
}

/** The day of a time, in UTC: `2026-11-27`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function matches(entry: LedgerEntry, query: LedgerSearch): boolean {
  const { sinceMs, untilMs, route, payer, network, status } = query;
  if (sinceMs !== undefined && entry.settledAtMs < sinceMs) return false;
  if (untilMs !== undefined && entry.settledAtMs >= untilMs) return false;
  if (route !== undefined && entry.route !== route) return false;
  if (payer !== undefined && entry.payer !== payer) return false;
  if (network !== undefined && entry.network !== network) return false;
  return status === undefined || entry.status === status;
}

function compareCounts(one: LedgerCount, other: LedgerCount): number {
  for (const part of ["day", "route", "kind", "reason"] as const) {
    if (one[part] !== other[part]) return one[part] < other[part] ? -1 : 1;
  }
  return 0;
}
