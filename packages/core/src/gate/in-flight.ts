/**
 * What this process is doing right now, payment by payment, so that copies of a payment can wait for its first run.
 *
 * The store says who owns a payment; this only says when its owner is through, and what came of it.
 *
 * @module
 */
import type { ClaimRequest } from "../store/payment-store.js";
import type { GateResponse } from "./responses.js";

/** One payment that a request, or a settlement in the background, is busy with. */
export interface OngoingRun {
  /** By what address its client came, if that is known for certain. */
  readonly client: string | undefined;
  /** Whether the facilitator may have been told to move the money: from then on whoever watches the chain may have a copy. */
  readonly isSettling: boolean;
  /** Resolves when the run is over: to what its client was told, if a copy may be told the same. Never rejects. */
  readonly ended: Promise<GateResponse | undefined>;
}

type Run = Pick<ClaimRequest, "identity" | "owner">;

/** The runs of this process. */
export interface OngoingRuns {
  begin(run: Run, client: string | undefined): void;
  /** The handler is about to run; `false` when this payer has as many handlers at work as are allowed. */
  serve(run: Run, payer: string): boolean;
  /** The facilitator is about to be told; begins a run that was not begun. */
  settle(run: Run, client: string | undefined): void;
  /**
   * Ends a run, once; ending it again, or one that was not begun, does nothing.
   *
   * @param tell - What a copy may be told. Only asked when a copy waits.
   */
  end(run: Run, tell?: Tell): void;
  find(identity: string): OngoingRun | undefined;
  /** How many runs there are. */
  readonly size: number;
}

type Tell = () => GateResponse | undefined;

class Entry implements OngoingRun {
  readonly owner: string;
  readonly client: string | undefined;
  isSettling = false;
  payer: string | undefined;
  // There hardly ever is a copy that waits.
  #ended: Promise<GateResponse | undefined> | undefined;
  #tellWaiting: ((tell: Tell) => void) | undefined;
  #told: Tell | undefined;

  constructor(owner: string, client: string | undefined) {
    this.owner = owner;
    this.client = client;
  }

  get ended(): Promise<GateResponse | undefined> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#told !== undefined) resolve(this.#told());
      else this.#tellWaiting = (tell) => resolve(tell());
    });
    return this.#ended;
  }

  end(tell: Tell): void {
    this.#told = tell;
    this.#tellWaiting?.(tell);
  }
}

/** Creates an empty list. */
export function createOngoingRuns(maxRunsPerPayer: number): OngoingRuns {
  const runs = new Map<string, Entry>();
  const perPayer = new Map<string, number>();
  const begin = ({ identity, owner }: Run, client: string | undefined): Entry => {
    const entry = new Entry(owner, client);
    runs.set(identity, entry);
    return entry;
  };
  const find = ({ identity, owner }: Run) => {
    const entry = runs.get(identity);
    return entry?.owner === owner ? entry : undefined;
  };
  const count = (payer: string, by: 1 | -1) => {
    const runsOfPayer = (perPayer.get(payer) ?? 0) + by;
    if (runsOfPayer === 0) perPayer.delete(payer);
    else perPayer.set(payer, runsOfPayer);
  };
  return {
    get size() {
      return runs.size;
    },
    begin: (run, client) => void begin(run, client),
    serve(run, payer) {
      if ((perPayer.get(payer) ?? 0) >= maxRunsPerPayer) return false;
      const entry = find(run);
      if (entry === undefined) return true;
      entry.payer = payer;
      count(payer, 1);
      return true;
    },
    settle(run, client) {
      const entry = find(run) ?? begin(run, client);
      entry.isSettling = true;
    },
    end(run, tell = () => undefined) {
      const entry = find(run);
      if (entry === undefined) return;
      runs.delete(run.identity);
      if (entry.payer !== undefined) count(entry.payer, -1);
      entry.end(tell);
    },
    find: (identity) => runs.get(identity),
  };
}
