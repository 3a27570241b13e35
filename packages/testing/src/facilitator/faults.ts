/**
 * Faults: failures of a facilitator, on demand. The test ends them; no timer does.
 *
 * @module
 */

/** The JSON body of a facilitator's response. */
export type ResponseBody = Readonly<Record<string, unknown>>;

/** The three calls of a facilitator. */
export type Operation = "verify" | "settle" | "supported";

/**
 * A failure of one call. `when: "before"` (the default): the facilitator never sees the call. `"after"`: the fault starts when
 * the facilitator has done all its work, and has moved the money.
 *
 * - `hold`: the call waits until the fault is released, and then continues normally.
 * - `drop`: the connection is reset.
 * - `status`: any status with any headers and body, e.g. 429 with `retry-after`, or 500 with HTML.
 * - `garbage`: status 200 with the first half of a JSON document.
 * - `empty`: status 200 without a body.
 * - `slow-body`: the facilitator does its work. Headers and the first byte of the response arrive, the rest on release.
 * - `duplicate`: the facilitator gets the call twice, like from a retrying proxy. One of the two responses arrives.
 * - `rewrite`: the facilitator does its work, and the function replaces the body of its response.
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
  | { readonly kind: "rewrite"; readonly rewrite: (body: ResponseBody) => unknown };

/** A planned fault. */
export interface PlannedFault {
  /** Resolves when a call has reached the fault: with `when: "after"`, once the facilitator has done its work. */
  readonly reached: Promise<void>;
  /** Lets a held call or the rest of a slow body continue, even before it is reached. */
  release(): void;
}

/** Plans faults. */
export interface Faults {
  /** Plans a fault for the next call without one: two `next` affect two calls. */
  next(operation: Operation, fault: Fault): PlannedFault;
  /** Plans a fault for every call without a `next`, until {@link Faults.clear}. Replaces an earlier `always`. */
  always(operation: Operation, fault: Fault): PlannedFault;
  /** Removes all planned faults, and releases held calls. */
  clear(): void;
}

/** A fault as it affects one call. */
export interface ActiveFault {
  readonly fault: Fault;
  /** Tells the test that the call has reached the fault. */
  reach(): void;
  /** Resolves when the test releases the fault. */
  readonly released: Promise<void>;
}

/** The plan of a test: the faults for the test, and the calls that take them. */
export interface FaultPlan {
  readonly faults: Faults;
  /** Takes the fault for this call, if one is planned. */
  take(operation: Operation): ActiveFault | undefined;
}

/** Creates a plan without faults. */
export function createFaultPlan(): FaultPlan {
  const queues: Record<Operation, ActiveFault[]> = { verify: [], settle: [], supported: [] };
  const standing = new Map<Operation, ActiveFault>();
  const releases = new Set<() => void>();

  const plan = (fault: Fault): { readonly active: ActiveFault; readonly planned: PlannedFault } => {
    const reached = createLatch();
    const released = createLatch();
    releases.add(released.open);
    return {
      active: { fault, reach: reached.open, released: released.opened },
      planned: { reached: reached.opened, release: released.open },
    };
  };

  return {
    faults: {
      next: (operation, fault) => {
        const { active, planned } = plan(fault);
        queues[operation].push(active);
        return planned;
      },
      always: (operation, fault) => {
        const { active, planned } = plan(fault);
        standing.set(operation, active);
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

/** Runs the call as far as the fault allows, and tells the test that the fault is reached. */
export async function runUntilFault<T>({ fault, reach }: ActiveFault, run: () => Promise<T>): Promise<T | undefined> {
  try {
    if (fault.kind === "duplicate") return await runTwice(fault.answer, run);
    return startsAfter(fault) ? await run() : undefined;
  } finally {
    reach();
  }
}

async function runTwice<T>(kept: "first" | "second", run: () => Promise<T>): Promise<T> {
  const first = await run();
  const second = await run();
  return kept === "first" ? first : second;
}

function startsAfter(fault: Exclude<Fault, { readonly kind: "duplicate" }>): boolean {
  return fault.kind === "slow-body" || fault.kind === "rewrite" || fault.when === "after";
}

/** A promise that is resolved from outside. Opening it again does nothing. */
interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

function createLatch(): Latch {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
