/**
 * A run of a handler as all processes see it, in a store that they share.
 *
 * It is added before anything is decided: of two processes that add a run at once, the second sees both.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "../events/logger.js";
import type { PendingWrites } from "../sale/delivery.js";
import type { SharedRun, SharedRuns } from "../store/payment-store.js";

/** What sharing a run needs. */
export interface SharedEntryDeps {
  readonly runs: SharedRuns;
  readonly writes: Pick<PendingWrites, "add">;
  readonly logger: Logger;
  readonly now: () => number;
}

/** The entry of one run. */
export class SharedEntry {
  readonly #deps: SharedEntryDeps;
  #run: SharedRun;
  #others: Promise<readonly SharedRun[]> | undefined;
  /** Changes are written one after another. Never rejects. */
  #written: Promise<unknown> = Promise.resolve();
  #isRemoved = false;

  constructor(run: Omit<SharedRun, "id" | "isAbandoned">, deps: SharedEntryDeps) {
    this.#run = { ...run, id: randomUUID(), isAbandoned: false };
    this.#deps = deps;
  }

  /** Resolves when all changes so far are written. Never rejects. */
  get written(): Promise<unknown> {
    return this.#written;
  }

  /** Adds the run. */
  start(): void {
    if (this.#others !== undefined) return;
    const { runs, now } = this.#deps;
    const run = this.#run;
    this.#others = (async () => (await runs.put(run, now())).filter(({ id }) => id !== run.id))();
    this.#written = this.#others.catch(() => {});
  }

  /** The other runs of the payer when this one was added. Rejects if the store fails. */
  others(): Promise<readonly SharedRun[]> {
    this.start();
    return this.#others ?? Promise.resolve([]);
  }

  change(change: Partial<Pick<SharedRun, "amount" | "isAbandoned">>): void {
    if (this.#isRemoved) return;
    this.start();
    const run = { ...this.#run, ...change };
    this.#run = run;
    this.#write((runs) => runs.put(run, this.#deps.now()));
  }

  /** The payment has settled: earlier runs of it, perhaps in other processes, are paid for. */
  settle(): void {
    void this.others().then(
      (others) => {
        for (const { id, payer, identity } of others) {
          if (identity === this.#run.identity) this.#write((runs) => runs.remove({ id, payer }));
        }
      },
      () => {},
    );
  }

  /** The run no longer counts. A run that was not added stays out. */
  remove(): void {
    if (this.#isRemoved || this.#others === undefined) return;
    this.#isRemoved = true;
    const { id, payer } = this.#run;
    this.#write((runs) => runs.remove({ id, payer }));
  }

  #write(write: (runs: SharedRuns) => unknown): void {
    const { runs, writes, logger } = this.#deps;
    this.#written = this.#written
      .then(() => write(runs))
      .catch(() => logger.warn("run_not_counted", { error: "the store failed" }));
    writes.add(this.#written);
  }
}
