/**
 * Requests in flight in this process, by payment, so that duplicates can wait for the first request.
 *
 * The store says who owns a payment. This says when its owner is done, and which response its client got.
 *
 * @module
 */
import type { ClaimRequest } from "../store/payment-store.js";
import type { GateResponse } from "./responses.js";

/** One payment that a request, or a settlement in the background, works on. */
export interface RequestInFlight {
  /** The client's address, if it is known for certain. */
  readonly client: string | undefined;
  /** Whether the facilitator may have been told to move the money. From then on anyone may see the payment on chain. */
  readonly isSettling: boolean;
  /** Resolves when the request is done: to the response that duplicates may share, if any. Never rejects. */
  readonly ended: Promise<GateResponse | undefined>;
}

type Owned = Pick<ClaimRequest, "identity" | "owner">;
type ShareResponse = () => GateResponse | undefined;

class Entry implements RequestInFlight {
  readonly owner: string;
  readonly client: string | undefined;
  isSettling = false;
  payer: string | undefined;
  #ended: Promise<GateResponse | undefined> | undefined;
  #share: ShareResponse | undefined;
  #resolve: ((response: GateResponse | undefined) => void) | undefined;

  constructor(owner: string, client: string | undefined) {
    this.owner = owner;
    this.client = client;
  }

  /** Made when the first duplicate asks. Most requests have none. */
  get ended(): Promise<GateResponse | undefined> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#share === undefined) this.#resolve = resolve;
      else resolve(this.#share());
    });
    return this.#ended;
  }

  end(share: ShareResponse): void {
    this.#share = share;
    this.#resolve?.(share());
  }
}

/** The requests in flight. */
export class InFlight {
  readonly #entries = new Map<string, Entry>();
  readonly #perPayer = new Map<string, number>();
  readonly #maxPerPayer: number;

  constructor(maxPerPayer: number) {
    this.#maxPerPayer = maxPerPayer;
  }

  /** How many there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** The request that works on a payment. */
  find(identity: string): RequestInFlight | undefined {
    return this.#entries.get(identity);
  }

  /** A request owns its payment from now on. */
  begin({ identity, owner }: Owned, client: string | undefined): void {
    this.#entries.set(identity, new Entry(owner, client));
  }

  /** Counts a handler that is about to run; `false`: too many handlers of this payer run already. */
  tryServe(claim: Owned, payer: string): boolean {
    const running = this.#perPayer.get(payer) ?? 0;
    if (running >= this.#maxPerPayer) return false;
    const entry = this.#find(claim);
    // The request is over already, so there is nothing to count.
    if (entry === undefined) return true;
    entry.payer = payer;
    this.#perPayer.set(payer, running + 1);
    return true;
  }

  /** The facilitator is about to be told. */
  settling(claim: Owned, client: string | undefined): void {
    if (this.#find(claim) === undefined) this.begin(claim, client);
    const entry = this.#find(claim);
    if (entry !== undefined) entry.isSettling = true;
  }

  /**
   * The request is done. Ending it twice does nothing.
   *
   * @param share - Returns the response that duplicates may share. Called only if a duplicate waits.
   */
  end(claim: Owned, share: ShareResponse = () => undefined): void {
    const entry = this.#find(claim);
    if (entry === undefined) return;
    this.#entries.delete(claim.identity);
    if (entry.payer !== undefined) this.#release(entry.payer);
    entry.end(share);
  }

  #find({ identity, owner }: Owned): Entry | undefined {
    const entry = this.#entries.get(identity);
    return entry?.owner === owner ? entry : undefined;
  }

  #release(payer: string): void {
    const running = (this.#perPayer.get(payer) ?? 0) - 1;
    if (running <= 0) this.#perPayer.delete(payer);
    else this.#perPayer.set(payer, running);
  }
}
