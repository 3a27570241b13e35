/**
 * Sequences: payments that are sent at once to a seller of two processes, and what goes wrong at which point. Generated.
 *
 * @module
 */
import fc from "fast-check";

/** Calls of the store, by their method; a transition by its states. And of the facilitator. */
const CALLS = [
  "claim",
  "find",
  "claimed to settling",
  "settling to settled",
  "settling to settling",
  "settling to unknown",
  "unknown to settling",
  "settled to settled",
  "owed to settled",
  "release",
  "renew",
  "watch",
  "put",
  "remove",
  "verify",
  "settle",
] as const;

/** Those that nearly every payment has are drawn more often. */
const USUAL: readonly (typeof CALLS)[number][] = [
  "claim",
  "claimed to settling",
  "settling to settled",
  "settled to settled",
  "verify",
  "settle",
];

export type Point = `${"before" | "after"} ${(typeof CALLS)[number]}` | "in handler" | "after response";

export const ACTS = ["die", "all die", "stop", "lose", "server dies", "server stops", "cut", "silence"] as const;
export type Act = (typeof ACTS)[number];

/** Something that goes wrong once, in the process that gets to the point first. */
export interface FaultPlan {
  /** `before unfinished` is of no payment. */
  readonly point: Point | "before unfinished" | "after unfinished";
  readonly payment: number;
  readonly act: Act;
  /** For how long, unless it is for good. */
  readonly ms: number;
}

export const ROUTES = ["after", "large", "before"] as const;
export const PROOFS = ["none", "token", "id"] as const;

export interface PaymentPlan {
  /** `large`: settled after a handler whose response is too large to keep. */
  readonly route: (typeof ROUTES)[number];
  readonly workMs: number;
  readonly proof: (typeof PROOFS)[number];
  /** The process that gets it first. */
  readonly first: 0 | 1;
  /** Sent once each, beside the client that comes back until it has its response. */
  readonly duplicates: readonly { readonly seller: 0 | 1; readonly delayMs: number }[];
  /** After a failure the client comes back so late that the processes have finished the settlement by themselves. */
  readonly isLate: boolean;
}

export interface Sequence {
  readonly payments: readonly PaymentPlan[];
  readonly faults: readonly FaultPlan[];
}

const points = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom("before", "after"), fc.constantFrom(...USUAL)) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom("before", "after"), fc.constantFrom(...CALLS)) },
);

const point = fc.oneof(
  { weight: 8, arbitrary: points.map(([when, call]): FaultPlan["point"] => `${when} ${call}`) },
  { weight: 2, arbitrary: fc.constant<FaultPlan["point"]>("in handler") },
  {
    weight: 1,
    arbitrary: fc.constantFrom<FaultPlan["point"]>("after response", "before unfinished", "after unfinished"),
  },
);

const fault: fc.Arbitrary<FaultPlan> = fc.record({
  point,
  payment: fc.nat(2),
  act: fc.oneof({ weight: 1, arbitrary: fc.constant<Act>("die") }, { weight: 2, arbitrary: fc.constantFrom(...ACTS) }),
  ms: fc.constantFrom(50, 300, 1_000, 3_000, 6_000, 11_000),
});

const payment: fc.Arbitrary<PaymentPlan> = fc.record({
  route: fc.constantFrom(...ROUTES),
  workMs: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(0, 20, 200) },
    { weight: 1, arbitrary: fc.constant(9_500) },
  ),
  proof: fc.constantFrom(...PROOFS),
  first: fc.constantFrom(0, 1),
  duplicates: fc.array(
    fc.record({ seller: fc.constantFrom<0 | 1>(0, 1), delayMs: fc.constantFrom(0, 0, 10, 300, 2_000) }),
    { maxLength: 2 },
  ),
  isLate: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});

const sequences: fc.Arbitrary<Sequence> = fc.record({
  payments: fc.array(payment, { minLength: 1, maxLength: 3 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 3 }),
});

/** What has to go wrong before, so that a call is made at all. */
function leadingTo(call: (typeof CALLS)[number]): readonly FaultPlan[] {
  const before = (point: Point, act: Act): readonly FaultPlan[] => [{ point, payment: 0, act, ms: 0 }];
  switch (call) {
    case "settling to unknown":
    case "unknown to settling":
    case "owed to settled":
      return before("after settle", "lose");
    case "settling to settling":
      return before("after settle", "die");
    case "release":
      return before("after claim", "die");
    default:
      return [];
  }
}

function isMadeFor(route: PaymentPlan["route"], call: (typeof CALLS)[number]): boolean {
  if (route === "before") return !["put", "remove", "verify"].includes(call);
  return route === "large" || call !== "owed to settled";
}

/** A death at each call of one payment, by name. */
export const EACH_DEATH: readonly (readonly [name: string, sequence: Sequence])[] = ROUTES.flatMap((route) =>
  CALLS.filter((call) => isMadeFor(route, call)).flatMap((call) =>
    (["before", "after"] as const).map((when): readonly [string, Sequence] => [
      `a death ${when} ${call}, on /${route}`,
      {
        payments: [
          {
            route,
            workMs: call === "renew" ? 3_000 : 200,
            proof: "token",
            first: 0,
            // It waits for the other process.
            duplicates: ["find", "watch"].includes(call) ? [{ seller: 1, delayMs: 0 }] : [],
            isLate: call === "owed to settled",
          },
        ],
        faults: [{ point: `${when} ${call}`, payment: 0, act: "die", ms: 0 }, ...leadingTo(call)],
      },
    ]),
  ),
);

/** The sequence of a seed. */
export function drawSequence(seed: number): Sequence {
  const [drawn] = fc.sample(sequences, { seed, numRuns: 1 });
  if (drawn === undefined) throw new RangeError("nothing was drawn");
  return drawn;
}

/** The same without long waits: for a run of some seconds. */
export function shortened({ payments, faults }: Sequence): Sequence {
  return {
    payments: payments.map((one) => ({ ...one, workMs: Math.min(one.workMs, 200), isLate: false })),
    faults: faults.slice(0, 1).map((one) => ({ ...one, ms: Math.min(one.ms, 1_000) })),
  };
}
