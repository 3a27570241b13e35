/**
 * Writes to the store that no client waits for. A seller that stops its process waits for them: a response that was delivered,
 * but whose record does not say so, could be fetched again.
 *
 * @module
 */

/** The writes that are under way. */
export class PendingWrites {
  readonly #writes = new Set<Promise<unknown>>();

  /** Adds a write. It must not reject. */
  add(write: Promise<unknown>): void {
    this.#writes.add(write);
    void write.then(() => this.#writes.delete(write));
  }

  /** Resolves when no write is under way. Never rejects. */
  async finished(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }
}
