/**
 * Runs of handlers that nothing has been charged for so far, by payer. They are limited by number, by payment, and by what
 * the payer has on chain, because each run was verified as if it were the only one.
 *
 * A run counts until its handler has ended. If it ended without a charge for a reason of the payer's (the client left, the
 * payment expired or was rejected), it is abandoned, and counts until its payment has settled or can no longer.
 *
 * A payment that nobody has verified may name any payer. Its runs count for the party that sent it (`countedAs`).
 *
 * If the store has them, the runs of all processes count: shared-run.ts.
 *
 * @see `docs/reference/lifecycle.md`, "Runs without a charge"
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import type { PendingWrites } from "../sale/delivery.js";
import type { PendingPayment } from "../sale/outcome.js";
import type { PaidRequest } from "../sale/request.js";
import type { SharedRun, SharedRuns } from "../store/payment-store.js";
import { SharedEntry } from "./shared-run.js";

/** One payment may abandon this many runs before it is charged, and as many afterwards. */
const MAX_ABANDONED = 2;

/** How long a node may take to tell a balance. A client waits for it. */
const BALANCE_MS = 3_000;

/** A flood of payers cannot take more memory than this many of them. Beyond, those who came first are forgotten. */
const MAX_PAYERS = 100_000;

const FIRST_SWEEP = 1_000;

/** Why a run may not begin, and when to try again. */
export interface RunRefusal {
  readonly by: "maxRunsPerPayer" | "balance";
  readonly retryAfterSeconds: number;
}

/** What counting runs needs. */
export interface RunsDeps {
  readonly maxPerPayer: number;
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Those of all processes. `undefined`: there is one process, or each counts its own. */
  readonly shared?: SharedRuns | undefined;
  readonly writes: Pick<PendingWrites, "add">;
}

/** A run, or the entry of one in another process. */
interface Counted {
  readonly identity: string;
  readonly asset: string;
  readonly untilMs: number;
  readonly isAbandoned: boolean;
  exposureAt(nowMs: number): bigint;
}

type Payment = Pick<PendingPayment, "claim" | "payer" | "countedAs">;

/** One run. It counts until it is forgotten. Each of its methods may be called more than once. */
export class Run {
  readonly identity: string;
  /** Network and asset. */
  readonly asset: string;
  /** Until then it counts at most: a handler may never end, and a payer may sign for a shorter time than the seller asks. */
  readonly untilMs: number;
  readonly #expiresAtMs: number;
  /** Among which runs it counts. */
  readonly #place: Place;
  readonly #shared: SharedEntry | undefined;
  /** What the payment may still move, in atomic units. */
  #amount: bigint;
  isAbandoned = false;
  #isSettled = false;
  #hasHandlerEnded = false;

  constructor(
    { claim, offer }: PaidRequest,
    amount: bigint,
    about: { readonly nowMs: number; readonly place: Place; readonly shared: SharedEntry | undefined },
  ) {
    this.identity = claim.identity;
    this.asset = offer.assetKey;
    this.untilMs = untilOf({ claim, offer }, about.nowMs);
    this.#shared = about.shared;
    this.#expiresAtMs = claim.expiresAtMs;
    this.#place = about.place;
    this.#amount = amount;
  }

  /** Resolves when other processes see the run as it is; `undefined`: there are none. Never rejects. */
  get written(): Promise<unknown> | undefined {
    return this.#shared?.written;
  }

  /** What may still be taken from the payer's balance. */
  exposureAt(nowMs: number): bigint {
    return nowMs < this.#expiresAtMs ? this.#amount : 0n;
  }

  /** The client got its response, or the handler did not run. */
  end(): void {
    const { runs, key, byPayer } = this.#place;
    const at = runs.indexOf(this);
    if (at >= 0) runs.splice(at, 1);
    if (runs.length === 0 && byPayer.get(key) === runs) byPayer.delete(key);
    this.#shared?.remove();
  }

  /**
   * Nothing is charged, for a reason of the payer's. If the handler has ended before, the reason was its own, unless it lies in the
   * request.
   */
  abandon({ isRequests = false }: { readonly isRequests?: boolean } = {}): void {
    if (this.#hasHandlerEnded && !isRequests) {
      this.end();
      return;
    }
    this.isAbandoned = true;
    this.#shared?.change({ isAbandoned: true });
  }

  /** The settlement failed for good, after the handler has run. */
  reject(): void {
    this.#amount = 0n;
    this.isAbandoned = true;
    this.#shared?.change({ amount: "0", isAbandoned: true });
  }

  /** The payment has settled, by this run or by a later one. */
  settle(): void {
    this.#amount = 0n;
    this.isAbandoned = false;
    this.#isSettled = true;
    this.#shared?.change({ amount: "0", isAbandoned: false });
    this.#shared?.settle();
    if (this.#hasHandlerEnded) this.end();
  }

  handlerEnded(): void {
    this.#hasHandlerEnded = true;
    if (this.#isSettled) this.end();
  }
}

/** The runs of one payer, among those of all. */
interface Place {
  readonly runs: Run[];
  readonly key: string;
  readonly byPayer: Map<string, Run[]>;
}

const NONE: readonly Run[] = Object.freeze([]);

/** The runs of all payers, in this process. */
export class Runs {
  readonly #deps: RunsDeps;
  readonly #byPayer = new Map<string, Run[]>();
  /** Whether the runs of all processes count. */
  readonly isShared: boolean;
  /** Questions to nodes that wait for a response, by payer and asset. */
  readonly #asking = new Map<string, Promise<bigint | undefined>>();
  #sweepAt = FIRST_SWEEP;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
    this.isShared = deps.shared !== undefined;
  }

  /** How many payers have runs. */
  get size(): number {
    return this.#byPayer.size;
  }

  /** Asks for a run in all processes; `undefined`: only this process counts. It is to be started, and removed if there is no run. */
  ask(paid: PaidRequest): SharedEntry | undefined {
    return this.#deps.shared && this.#entryOf(paid, paid.offer.amount);
  }

  /** The runs of a payer in all processes; `undefined`: only this process counts. Rejects if the store fails. */
  async othersOf(paid: PaidRequest): Promise<readonly SharedRun[] | undefined> {
    const entry = this.#entryOf(paid, 0n);
    try {
      return await entry?.others();
    } finally {
      entry?.remove();
    }
  }

  /** Counts a run of a payer who has no other in this process: most have none. `undefined`: he may have others, see {@link Runs.begin}. */
  beginAlone(paid: PaidRequest): Run | undefined {
    const key = keyOf(paid);
    return this.#byPayer.has(key) ? undefined : this.#add(paid, paid.offer.amount, undefined, key);
  }

  /**
   * Counts a run that is about to begin, or says why it may not. Waits only to read the balance of a payer with other runs.
   *
   * @param shared - What {@link Runs.ask} returned, and its others.
   */
  begin(
    paid: PaidRequest,
    { asked, others: shared }: { asked?: SharedEntry | undefined; others?: readonly SharedRun[] | undefined } = {},
  ): Run | RunRefusal | Promise<Run | RunRefusal> {
    const { maxPerPayer, now } = this.#deps;
    const others = this.#othersOf(paid, shared);
    if (others.length >= maxPerPayer) return this.#refuse("maxRunsPerPayer", others);
    const run = this.#add(paid, paid.offer.amount, asked);
    if (others.length === 0) return run;
    const rivals = others.filter(
      (other) => other.asset === run.asset && other.identity !== run.identity && other.exposureAt(now()) > 0n,
    );
    // The facilitator has looked whether the payer can pay for a single one.
    if (rivals.length === 0) return run;
    // However often a payment runs, it moves its amount once.
    const byPayment = new Map(rivals.map((rival) => [rival.identity, rival.exposureAt(now())]));
    const exposure = [...byPayment.values()].reduce((sum, amount) => sum + amount, paid.offer.amount);
    return this.#canPay(paid, run.asset, exposure).then((canPay) => {
      if (canPay) return run;
      run.end();
      return this.#refuse("balance", rivals);
    });
  }

  /** Counts a run of a payment that has settled. It begins in any case. */
  beginSettled(paid: PaidRequest): Run {
    const entry = this.#entryOf(paid, 0n);
    entry?.start();
    return this.#add(paid, 0n, entry);
  }

  /** Whether a payment has abandoned so many runs, or its payer has so many, that it must settle before it runs again. */
  mustSettleFirst(payment: Payment, shared?: readonly SharedRun[]): boolean {
    const runs = this.#othersOf(payment, shared);
    if (runs.length === 0) return false;
    const { length } = abandonedBy(payment, runs);
    return length >= MAX_ABANDONED || (length > 0 && runs.length >= this.#deps.maxPerPayer);
  }

  /** For how many seconds a payment may not run again, because it has abandoned too many runs; 0: it may. */
  secondsToWait(payment: Payment, shared?: readonly SharedRun[]): number {
    const runs = this.#othersOf(payment, shared);
    if (runs.length === 0) return 0;
    const abandoned = abandonedBy(payment, runs);
    return abandoned.length < MAX_ABANDONED ? 0 : this.#secondsUntilFirst(abandoned);
  }

  /** A payment has settled: its runs are paid for. */
  settled(payment: Payment): void {
    const nowMs = this.#deps.now();
    const runs = this.#byPayer.get(keyOf(payment)) ?? NONE;
    // One that ends is taken out.
    for (const run of runs.length > 1 ? [...runs] : runs) {
      if (run.untilMs <= nowMs) run.end();
      if (run.untilMs <= nowMs || run.identity !== payment.claim.identity) continue;
      // A balance that was read before is too high by now.
      if (this.#asking.size > 0) this.#asking.delete(questionOf(payment, run.asset));
      run.settle();
    }
  }

  #entryOf(paid: PaidRequest, amount: bigint): SharedEntry | undefined {
    const { claim, offer } = paid;
    const { shared: runs, writes, logger, now } = this.#deps;
    if (runs === undefined) return undefined;
    const about = { identity: claim.identity, payer: keyOf(paid), asset: offer.assetKey, amount: amount.toString() };
    return new SharedEntry({ ...about, untilMs: untilOf({ claim, offer }, now()) }, { runs, writes, logger, now });
  }

  #othersOf(payment: Payment, shared: readonly SharedRun[] | undefined): readonly Counted[] {
    return shared === undefined ? this.#runsOf(payment) : countedIn(shared, payment);
  }

  /** The runs of a payer that still count. */
  #runsOf(payment: Payment): readonly Run[] {
    const runs = this.#byPayer.get(keyOf(payment));
    if (runs === undefined) return NONE;
    this.#forgetPast(runs);
    return [...runs];
  }

  #forgetPast(runs: readonly Run[]): void {
    const nowMs = this.#deps.now();
    for (const run of [...runs]) if (run.untilMs <= nowMs) run.end();
  }

  #add(paid: PaidRequest, amount: bigint, shared: SharedEntry | undefined, key: string = keyOf(paid)): Run {
    if (this.#byPayer.size >= this.#sweepAt) this.#sweep();
    const runs = this.#byPayer.get(key) ?? [];
    const place = { runs, key, byPayer: this.#byPayer };
    const run = new Run(paid, amount, { nowMs: this.#deps.now(), place, shared });
    runs.push(run);
    this.#byPayer.set(key, runs);
    return run;
  }

  /** Looks at all payers whenever there are twice as many as the last time. */
  #sweep(): void {
    for (const runs of this.#byPayer.values()) this.#forgetPast(runs);
    for (const key of this.#byPayer.keys()) {
      if (this.#byPayer.size <= MAX_PAYERS / 2) break;
      this.#byPayer.delete(key);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, this.#byPayer.size * 2);
  }

  #refuse(by: RunRefusal["by"], runs: readonly Counted[]): RunRefusal {
    // A run in flight may end at any moment.
    return { by, retryAfterSeconds: runs.every((run) => run.isAbandoned) ? this.#secondsUntilFirst(runs) : 1 };
  }

  #secondsUntilFirst(runs: readonly Counted[]): number {
    const untilMs = runs.reduce((earliest, run) => Math.min(earliest, run.untilMs), Number.POSITIVE_INFINITY);
    return Math.max(Math.ceil((untilMs - this.#deps.now()) / 1000), 1);
  }

  /** Whether a payer has enough for all runs. If the node does not tell, there is one run at a time. */
  async #canPay(paid: PaidRequest, asset: string, exposure: bigint): Promise<boolean> {
    const { scheme, requirements } = paid.offer;
    const rpc = this.#deps.rpc.get(canonicalNetwork(requirements.network));
    if (rpc === undefined || scheme.readBalance === undefined) return true;
    const question = questionOf(paid, asset);
    let asking = this.#asking.get(question);
    if (asking === undefined) {
      asking = this.#ask(paid, rpc).finally(() => {
        if (this.#asking.get(question) === asking) this.#asking.delete(question);
      });
      this.#asking.set(question, asking);
    }
    const balance = await asking;
    return balance !== undefined && balance >= exposure;
  }

  async #ask({ offer, payer, facilitatorRequest }: PaidRequest, rpc: RpcNode): Promise<bigint | undefined> {
    const { scheme, requirements } = offer;
    const { payload } = facilitatorRequest.paymentPayload;
    const signal = AbortSignal.timeout(BALANCE_MS);
    let problem = "its scheme failed";
    try {
      const found = await scheme.readBalance?.({ payload, requirements, rpc, signal });
      if (found?.kind === "known") return found.amount;
      if (found !== undefined) problem = found.problem;
    } catch {
      // A seller's own scheme may break its promise.
    }
    this.#deps.logger.warn("balance_unknown", { network: requirements.network, payer, problem });
    return undefined;
  }
}

function abandonedBy({ claim }: Payment, runs: readonly Counted[]): readonly Counted[] {
  return runs.filter((run) => run.isAbandoned && run.identity === claim.identity);
}

/**
 * The runs of all processes that count beside a new one. A payment has one claim: another run of it that is not abandoned is
 * over, and its process is dead or has yet to say so.
 */
function countedIn(runs: readonly SharedRun[], { claim }: Payment): readonly Counted[] {
  return runs
    .filter((run) => run.isAbandoned || run.identity !== claim.identity)
    .map((run) => ({ ...run, exposureAt: () => BigInt(run.amount) }));
}

/** Until when a run counts at most. */
function untilOf({ claim, offer }: Pick<PaidRequest, "claim" | "offer">, nowMs: number): number {
  return Math.max(claim.expiresAtMs, nowMs + offer.requirements.maxTimeoutSeconds * 1000);
}

/** Whose runs they are. */
function keyOf({ payer, countedAs = payer }: Pick<Payment, "payer" | "countedAs">): string {
  return countedAs.toLowerCase();
}

function questionOf({ payer }: Payment, asset: string): string {
  return `${asset}|${payer.toLowerCase()}`;
}
