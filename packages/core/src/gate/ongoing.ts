/**
 * What this process is doing right now, payment by payment, so that copies of a payment can wait for its first run.
 *
 * The store says who owns a payment; this only says when its owner is through, and what came of it.
 *
 * @module
 */
import type { ClaimRequest } from "../store/payment-store.js";
import type { Answer } from "./answer.js";

/** One payment that a request, or a settlement in the background, is busy with. */
export interface OngoingRun {
  /** By what address its client came, if that is known for certain. */
  readonly client: string | undefined;
  /** Whether the facilitator may have been told to move the money: from then on whoever watches the chain may have a copy. */
  readonly isSettling: boolean;
  /** Resolves when the run is over: to what its client was told, if a copy may be told the same. Never rejects. */
  readonly ended: Promise<Answer | undefined>;
}

type Run = Pick<ClaimRequest, "identity" | "owner">;

/** The runs of this process. */
export interface OngoingRuns {
  begin(run: Run, client: string | undefined): void;
  /** The handler is about to run; `false` when this payer has as many handlers at work as are allowed. */
  serve(run: Run, payer: string): boolean;
  /** The facilitator is about to be told; begins a run that was not begun. */
  settle(run: Run, client: string | undefined): void;
  /** Ends a run, once; ending it again, or one that was not begun, does nothing. */
  end(run: Run, answer?: Answer): void;
  find(identity: string): OngoingRun | undefined;
  /** How many runs there are. */
  readonly size: number;
}

interface Entry {
  readonly owner: string;
  readonly client: string | undefined;
  isSettling: boolean;
  payer: string | undefined;
  readonly ended: Promise<Answer | undefined>;
  readonly end: (answer: Answer | undefined) => void;
}

/** Creates an empty list. */
export function createOngoingRuns(maxRunsPerPayer: number): OngoingRuns {
  const runs = new Map<string, Entry>();
  const perPayer = new Map<string, number>();
  const begin = ({ identity, owner }: Run, client: string | undefined): Entry => {
    let end: Entry["end"] = () => {};
    const ended = new Promise<Answer | undefined>((resolve) => {
      end = resolve;
    });
    const entry: Entry = { owner, client, isSettling: false, payer: undefined, ended, end };
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
    end(run, answer) {
      const entry = find(run);
      if (entry === undefined) return;
      runs.delete(run.identity);
      if (entry.payer !== undefined) count(entry.payer, -1);
      entry.end(answer);
    },
    find: (identity) => runs.get(identity),
  };
}
