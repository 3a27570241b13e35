/**
 * Who waits for a change of a record in this process.
 *
 * @module
 */

/** A notification may be lost: in a moment without a connection, or by a proxy that drops it. So a watcher also looks by itself. */
const BACKSTOP_MS = 1_000;

/** Functions to call, by record. */
export class Watchers {
  readonly #byName = new Map<string, Set<() => void>>();

  /** Adds a watcher. The returned function removes it. `onLast` is called when the name has none left. */
  add(name: string, onChange: () => void, onLast: () => void): () => void {
    // Each call has a function of its own: the same one may be passed twice.
    const call = () => onChange();
    const watchers = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, watchers.add(call));
    const backstop = setInterval(call, BACKSTOP_MS);
    backstop.unref();
    return () => {
      clearInterval(backstop);
      if (!watchers.delete(call) || watchers.size > 0) return;
      this.#byName.delete(name);
      onLast();
    };
  }

  get size(): number {
    return this.#byName.size;
  }

  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** Calls the watchers of one record. */
  notify(name: string): void {
    for (const call of this.#byName.get(name) ?? []) call();
  }

  /** Calls all watchers, after a time in which notifications may have been lost. */
  notifyAll(): void {
    for (const name of [...this.#byName.keys()]) this.notify(name);
  }
}
