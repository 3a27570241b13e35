/**
 * An abort signal that is made when it is asked for: to make one takes as long as to decide a request without a payment, and
 * few ask.
 *
 * @module
 */

/** A signal that nobody has asked for yet, and the way to abort it. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #aborted: { readonly reason: Error | undefined } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /**
   * Aborts it.
   *
   * @param reason - The first one counts. Default: Node's own `AbortError`.
   */
  abort(reason?: Error): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(this.#aborted.reason);
  }
}
