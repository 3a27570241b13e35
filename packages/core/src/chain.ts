/**
 * Things in a row that know their neighbours: the first of them is at hand, and each can leave without being looked for.
 *
 * @module
 */

/** Where a thing stands in its chain. The chain writes it, and nobody else. */
export interface Link<T> {
  before: T | undefined;
  after: T | undefined;
}

/** Things in the order in which they were added. A thing is in one chain at most. */
export class Chain<T extends Link<T>> {
  first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Puts a thing that is in no chain behind the others. */
  add(one: T): void {
    one.before = this.#last;
    if (this.#last === undefined) this.first = one;
    else this.#last.after = one;
    this.#last = one;
    this.#size++;
  }

  /** Takes out a thing that is in this chain. */
  remove(one: T): void {
    const { before, after } = one;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // Else what is gone would keep alive what came after it, until a full garbage collection.
    one.before = undefined;
    one.after = undefined;
    this.#size--;
  }

  /** From the first to the last. Nothing may be added or removed meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    for (let one = this.first; one !== undefined; one = one.after) yield one;
  }
}
