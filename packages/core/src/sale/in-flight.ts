/**
 * Requests in flight in this process, by payment, so that duplicates can wait for the first request.
 *
 * The store says who owns a payment. This says when its owner is done, and which response its client got.
 *
 * @module
 */
import type { ClaimRequest } from "../store/payment-store.js";
import type { GateResponse } from "./answers.js";

/** One payment that a request, or a settlement in the background, works on. */
export interface RequestInFlight {
  /** The client's address or session, if it is known for certain. */
  readonly client: string | undefined;
  /**
   * When the facilitator was told to move the money, by {@link InFlight.next}: from then on anyone may see the payment on
   * chain. `undefined`: not yet. 0: it was told before this request.
   */
  readonly publicSince: number | undefined;
  /** Resolves when the request is done: to the response that duplicates may share, if any. Never rejects. */
  readonly ended: Promise<GateResponse | undefined>;
}

type Owned = Pick<ClaimRequest, "identity" | "owner">;
type ShareResponse = () => GateResponse | undefined;

class Entry implements RequestInFlight {
  declare readonly client: string | undefined;
  declare publicSince: number | undefined;
  declare share: ShareResponse | undefined;
  declare tell: ((response: GateResponse | undefined) => void) | undefined;
  declare private promised: Promise<GateResponse | undefined> | undefined;

  constructor(client: string | undefined) {
    this.client = client;
    this.publicSince = undefined;
    this.share = undefined;
    this.tell = undefined;
    this.promised = undefined;
  }

  /** Made when the first duplicate asks. Most requests have none. */
  get ended(): Promise<GateResponse | undefined> {
    this.promised ??= new Promise((resolve) => {
      if (this.share === undefined) this.tell = resolve;
      else resolve(this.share());
    });
    return this.promised;
  }
}

/** The requests in flight. */
export class InFlight {
  /** The latest request of each payment. */
  readonly #byIdentity = new Map<string, Entry>();
  /** Every request that has not ended: a payment may be claimed anew before its last request has ended. */
  readonly #byOwner = new Map<string, Entry>();
  #order = 0;
  readonly #onIdle: (() => void)[] = [];

  /** How many there are. */
  get size(): number {
    return this.#byOwner.size;
  }

  /** Resolves when there is none. */
  whenIdle(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#onIdle.push(resolve));
  }

  /** A number that says in which order things happened: each one is larger than the last. */
  next(): number {
    this.#order += 1;
    return this.#order;
  }

  /** The request that works on a payment. */
  find(identity: string): RequestInFlight | undefined {
    return this.#byIdentity.get(identity);
  }

  /** A request owns its payment from now on. */
  begin({ identity, owner }: Owned, client: string | undefined): void {
    const entry = new Entry(client);
    this.#byIdentity.set(identity, entry);
    this.#byOwner.set(owner, entry);
  }

  /** The facilitator is about to be told. */
  settling(claim: Owned, client: string | undefined): void {
    const begun = this.#byOwner.get(claim.owner);
    if (begun !== undefined) {
      this.#order += 1;
      begun.publicSince ??= this.#order;
      return;
    }
    this.begin(claim, client);
    const entry = this.#byOwner.get(claim.owner);
    if (entry !== undefined) entry.publicSince = 0;
  }

  /**
   * The request is done. Ending it twice does nothing.
   *
   * @param share - Returns the response that duplicates may share. Called only if a duplicate waits.
   */
  end({ identity, owner }: Owned, share: ShareResponse = () => undefined): void {
    const entry = this.#byOwner.get(owner);
    if (entry === undefined) return;
    this.#byOwner.delete(owner);
    if (this.#byIdentity.get(identity) === entry) this.#byIdentity.delete(identity);
    entry.share = share;
    entry.tell?.(share());
    if (this.#byOwner.size === 0) for (const tell of this.#onIdle.splice(0)) tell();
  }
}
