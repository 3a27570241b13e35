/**
 * The exposure of one process: what metered streams may still cost the seller.
 *
 * The sums are kept, not computed, and a heap says which entries have ended. So a call takes as long with many entries as with few.
 *
 * @module
 */
import { type ExposureEntry, type ExposureSums, MOST_DUE, type SharedExposure } from "./payment-store.js";

/** The entries of one payer. */
interface Payer {
  micros: bigint;
  count: number;
  /** The payments that the payer owes. */
  readonly due: Set<string>;
}

/** Entries that were replaced or removed and still lie in the heap, at least, before it is built anew. */
const LEAST_STALE = 100;

/** Counts exposure in memory. Every method runs without interruption, which makes it atomic. */
export class MemoryExposure implements SharedExposure {
  readonly #entries = new Map<string, ExposureEntry>();
  readonly #payers = new Map<string, Payer>();
  #total = 0n;
  /** Each entry ends no earlier than its parent, which is at half its place. One that `#entries` does not have is stale. */
  #heap: ExposureEntry[] = [];

  put(entry: ExposureEntry, nowMs: number): ExposureSums {
    this.#removeEnded(nowMs);
    this.remove(entry);
    if (entry.untilMs > nowMs) this.#add(entry);
    const payer = this.#payers.get(entry.payer);
    return {
      payer: (payer?.micros ?? 0n).toString(),
      total: this.#total.toString(),
      due: first(payer?.due ?? [], MOST_DUE),
    };
  }

  remove({ identity }: Pick<ExposureEntry, "identity">): void {
    const entry = this.#entries.get(identity);
    if (entry === undefined) return;
    this.#entries.delete(identity);
    this.#total -= BigInt(entry.micros);
    this.#leavePayer(entry);
    this.#dropStale();
  }

  #add(entry: ExposureEntry): void {
    const { identity, micros, isDue } = entry;
    this.#entries.set(identity, entry);
    this.#total += BigInt(micros);
    const payer = this.#payers.get(entry.payer) ?? { micros: 0n, count: 0, due: new Set<string>() };
    this.#payers.set(entry.payer, payer);
    payer.micros += BigInt(micros);
    payer.count += 1;
    if (isDue) payer.due.add(identity);
    this.#push(entry);
  }

  #leavePayer({ identity, payer: name, micros }: ExposureEntry): void {
    const payer = this.#payers.get(name);
    if (payer === undefined) return;
    payer.micros -= BigInt(micros);
    payer.count -= 1;
    payer.due.delete(identity);
    if (payer.count === 0) this.#payers.delete(name);
  }

  #removeEnded(nowMs: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.untilMs <= nowMs; next = this.#heap[0]) {
      this.#pop();
      if (this.#entries.get(next.identity) === next) this.remove(next);
    }
  }

  /** Payments that come and go before they would have ended must not fill the memory. */
  #dropStale(): void {
    if (this.#heap.length <= 2 * this.#entries.size + LEAST_STALE) return;
    // A sorted list is a heap.
    this.#heap = [...this.#entries.values()].sort((one, other) => one.untilMs - other.untilMs);
  }

  #push(entry: ExposureEntry): void {
    const heap = this.#heap;
    let at = heap.length;
    for (; at > 0; ) {
      const parent = heap[(at - 1) >> 1];
      if (parent === undefined || parent.untilMs <= entry.untilMs) break;
      heap[at] = parent;
      at = (at - 1) >> 1;
    }
    heap[at] = entry;
  }

  /** Removes the first entry of the heap. */
  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const child = right !== undefined && left !== undefined && right.untilMs < left.untilMs ? right : left;
      if (child === undefined || child.untilMs >= last.untilMs) break;
      heap[at] = child;
      at = child === left ? 2 * at + 1 : 2 * at + 2;
    }
    heap[at] = last;
  }
}

function first<T>(values: Iterable<T>, count: number): readonly T[] {
  const some: T[] = [];
  for (const value of values) {
    if (some.length === count) break;
    some.push(value);
  }
  return some;
}
