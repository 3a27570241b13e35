/**
 * Opens the store before its first use: asks whether it can be used, what may lose records, and for the secret that all
 * processes share. While payments come, it asks again once a minute, in the background: a store may be emptied, replaced or
 * set up anew under a running process.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { type Findings, secretDiffersFinding, secretLostFinding, storeFinding } from "../events/findings.js";
import type { PaymentStore } from "./payment-store.js";

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

/** How often an open store is asked again. */
const LOOK_EVERY_MS = 60_000;

/** A store that is opened before its first use. */
export class OpenStore {
  readonly #deps: OpenStoreDeps;
  /** Whether the store can say that it is ready. Otherwise it is open from the start. */
  readonly canAsk: boolean;
  #secret: Uint8Array;
  #isOpen: boolean;
  #askedAtMs = 0;
  #hasKept = false;
  #opening: Promise<void> | undefined;

  constructor(deps: OpenStoreDeps) {
    const { quoteSecret } = deps;
    this.#deps = deps;
    this.canAsk = deps.store.ready !== undefined || deps.store.keep !== undefined;
    this.#secret = quoteSecret ?? randomBytes(32);
    this.#isOpen = !this.canAsk;
  }

  /** Signs prices and retry tokens. Before the store is open, it may be another one, and after its store was emptied. */
  readonly secret = (): Uint8Array => this.#secret;

  /** Opens the store; `undefined`: it is open. Rejects if the store cannot be used; the next call tries again. */
  open(): Promise<void> | undefined {
    if (!this.#isOpen) return this.#openOnce();
    const isDue = this.canAsk && this.#deps.now() - this.#askedAtMs >= LOOK_EVERY_MS;
    // The next payment waits until the store can be used again.
    if (isDue) {
      this.#openOnce().catch(() => {
        this.#isOpen = false;
      });
    }
    return undefined;
  }

  #openOnce(): Promise<void> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { store, findings, now } = this.#deps;
    this.#askedAtMs = now();
    const problems = (await store.ready?.()) ?? [];
    for (const problem of problems) findings.add(storeFinding(problem));
    if (store.keep !== undefined) await this.#shareSecret((name, value) => store.keep?.(name, value));
    this.#isOpen = true;
  }

  async #shareSecret(keep: (name: string, value: string) => PromiseLike<string> | string | undefined): Promise<void> {
    const { quoteSecret, findings, now } = this.#deps;
    if (quoteSecret === undefined) {
      const own = Buffer.from(this.#secret).toString("base64url");
      const kept = await keep(SECRET, own);
      if (kept === undefined) return;
      if (this.#hasKept && kept !== own) findings.add(secretLostFinding());
      this.#secret = Buffer.from(kept, "base64url");
      this.#hasKept = true;
      return;
    }
    const digest = createHash("sha256").update("farebox-quote-secret-1").update(quoteSecret).digest("base64url");
    const today = new Date(now()).toISOString().slice(0, 10);
    if ((await keep(`${DIGEST}-${today}`, digest)) !== digest) findings.add(secretDiffersFinding());
  }
}
