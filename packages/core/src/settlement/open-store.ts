/**
 * Opens the store before its first use: asks whether it can be used, what may lose records, and for the secret that all
 * processes share.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { type Findings, secretDiffersFinding, storeFinding } from "../events/findings.js";
import type { PaymentStore } from "../store/payment-store.js";

/** What opening a store needs. */
export interface OpenStoreDeps {
  readonly store: PaymentStore;
  /** `undefined`: the seller set none. */
  readonly quoteSecret: Uint8Array | undefined;
  readonly findings: Pick<Findings, "add">;
  readonly now: () => number;
}

/** The name of the secret in a store. */
const SECRET = "quote-secret";

/** A secret that is replaced on purpose differs from the one before only until the day is over. */
const DIGEST = "quote-secret-digest";

/** A store that is opened once. */
export class OpenStore {
  readonly #deps: OpenStoreDeps;
  #secret: Uint8Array;
  #isOpen: boolean;
  #opening: Promise<void> | undefined;

  constructor(deps: OpenStoreDeps) {
    const { store, quoteSecret } = deps;
    this.#deps = deps;
    this.#secret = quoteSecret ?? randomBytes(32);
    this.#isOpen = store.ready === undefined && store.keep === undefined;
  }

  /** Signs prices and retry tokens. Before the store is open, it may be another one. */
  readonly secret = (): Uint8Array => this.#secret;

  /** Opens the store; `undefined`: it is open. Rejects if the store cannot be used; the next call tries again. */
  open(): Promise<void> | undefined {
    if (this.#isOpen) return undefined;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { store, findings } = this.#deps;
    const problems = (await store.ready?.()) ?? [];
    for (const problem of problems) findings.add(storeFinding(problem));
    if (store.keep !== undefined) await this.#shareSecret((name, value) => store.keep?.(name, value));
    this.#isOpen = true;
  }

  async #shareSecret(keep: (name: string, value: string) => PromiseLike<string> | string | undefined): Promise<void> {
    const { quoteSecret, findings, now } = this.#deps;
    if (quoteSecret === undefined) {
      const kept = await keep(SECRET, Buffer.from(this.#secret).toString("base64url"));
      if (kept !== undefined) this.#secret = Buffer.from(kept, "base64url");
      return;
    }
    const digest = createHash("sha256").update("farebox-quote-secret-1").update(quoteSecret).digest("base64url");
    const today = new Date(now()).toISOString().slice(0, 10);
    if ((await keep(`${DIGEST}-${today}`, digest)) !== digest) findings.add(secretDiffersFinding());
  }
}
