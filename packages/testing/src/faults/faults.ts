/**
 * Faults: what goes wrong with a facilitator, on demand. They are ended by the test and never by a timer.
 *
 * @module
 */
import { createLatch } from "./latch.js";

/** A facilitator's answer as JSON has it. */
export type Answer = Readonly<Record<string, unknown>>;

/** The three calls of a facilitator. */
export type Operation = "verify" | "settle" | "supported";

/**
 * Something that goes wrong with one call. `when: "before"` (the default): the facilitator never sees the call.
 * `"after"`: it has done all its work, moved the money included, when the fault sets in.
 *
 * - `hold`: nothing happens until the fault is released; then the call goes on as if nothing had been.
 * - `drop`: the connection is reset.
 * - `status`: any status with any headers and body, e.g. 429 with `retry-after`, or 500 with HTML.
 * - `garbage`: status 200 with the first half of a JSON document.
 * - `empty`: status 200 without a body.
 * - `slow-body`: the call is carried out; headers and the first byte of the answer arrive, the rest on release.
 * - `duplicate`: the call is carried out twice, as by a proxy that repeats requests; one of the two answers arrives.
 * - `rewrite`: the call is carried out, and its answer replaced by what the function makes of it.
 */
export type Fault =
  | { readonly kind: "hold"; readonly when?: "before" | "after" }
  | { readonly kind: "drop"; readonly when?: "before" | "after" }
  | {
      readonly kind: "status";
      readonly when?: "before" | "after";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | { readonly kind: "garbage"; readonly when?: "before" | "after" }
  | { readonly kind: "empty"; readonly when?: "before" | "after" }
  | { readonly kind: "slow-body" }
  | { readonly kind: "duplicate"; readonly answer: "first" | "second" }
  | { readonly kind: "rewrite"; readonly rewrite: (answer: Answer) => unknown };

/** A fault that was planned. */
export interface PlannedFault {
  /** Resolves when a call has met the fault: with `when: "after"`, once the facilitator has done its work. */
  readonly reached: Promise<void>;
  /** Lets a held call, or the rest of a slow body, go on; also before it is reached. */
  release(): void;
}

/** Plans faults. */
export interface Faults {
  /** Strikes the next call that has no fault planned for it yet: two `next` strike two calls. */
  next(operation: Operation, fault: Fault): PlannedFault;
  /** Strikes every call that has no `next` planned for it, until {@link Faults.clear}. Replaces an earlier `always`. */
  always(operation: Operation, fault: Fault): PlannedFault;
  /** Forgets what is planned and releases what is held. */
  clear(): void;
}

/** A fault as it strikes a call. */
export interface Strike {
  readonly fault: Fault;
  /** Tells the test that the fault was reached. */
  reach(): void;
  /** Resolves when the test releases the fault. */
  readonly released: Promise<void>;
}

/** The test's side of faults, and the side that suffers them. */
export interface FaultPlan {
  readonly faults: Faults;
  /** Takes the fault that strikes this call, if one is planned. */
  take(operation: Operation): Strike | undefined;
}

/** Creates a plan with no faults in it. */
export function createFaultPlan(): FaultPlan {
  const queues: Record<Operation, Strike[]> = { verify: [], settle: [], supported: [] };
  const standing = new Map<Operation, Strike>();
  const releases = new Set<() => void>();

  const plan = (fault: Fault): { readonly strike: Strike; readonly planned: PlannedFault } => {
    const reached = createLatch();
    const released = createLatch();
    releases.add(released.open);
    return {
      strike: { fault, reach: reached.open, released: released.opened },
      planned: { reached: reached.opened, release: released.open },
    };
  };

  return {
    faults: {
      next: (operation, fault) => {
        const { strike, planned } = plan(fault);
        queues[operation].push(strike);
        return planned;
      },
      always: (operation, fault) => {
        const { strike, planned } = plan(fault);
        standing.set(operation, strike);
        return planned;
      },
      clear: () => {
        for (const queue of Object.values(queues)) queue.length = 0;
        standing.clear();
        for (const release of releases) release();
        releases.clear();
      },
    },
    take: (operation) => queues[operation].shift() ?? standing.get(operation),
  };
}

/** Does the work that comes before the fault, and tells the test that the fault is reached. */
export async function workUntil<T>({ fault, reach }: Strike, run: () => Promise<T>): Promise<T | undefined> {
  try {
    if (fault.kind === "duplicate") return await runTwice(fault.answer, run);
    return strikesAfter(fault) ? await run() : undefined;
  } finally {
    reach();
  }
}

async function runTwice<T>(answer: "first" | "second", run: () => Promise<T>): Promise<T> {
  const first = await run();
  const second = await run();
  return answer === "first" ? first : second;
}

function strikesAfter(fault: Exclude<Fault, { readonly kind: "duplicate" }>): boolean {
  return fault.kind === "slow-body" || fault.kind === "rewrite" || fault.when === "after";
}
