/**
 * Sequences: one seller, what is sent to it in which order, and what goes wrong meanwhile. Generated, and put into words.
 *
 * @module
 */
import fc from "fast-check";

export const HANDLERS = [
  "answers",
  "streams a large answer",
  "answers 500",
  "throws",
  "gives next an error",
  "redirects",
  "sells a link",
  "answers 304",
  "writes a head with 500",
  "hangs",
  "goes on when the client has left",
  "writes, then throws",
  "flushes, then throws",
  "answers, then throws",
  "answers, then gives next an error",
  "sends less than it says",
] as const;
export type HandlerKind = (typeof HANDLERS)[number];

/** The handlers of these sequences. The golden ones have those above only, so that their draws stay. */
export const ALL_HANDLERS = [...HANDLERS, "goes by conditions"] as const;
export type AnyHandler = (typeof ALL_HANDLERS)[number];

/** What a client does with its answer. */
export const CLIENTS = ["reads all", "leaves in the middle", "reads slowly"] as const;

/** Something happens while the payment is in the middle of something. */
export const MOMENTS = ["being verified", "being served", "being settled", "settled, but not answered for"] as const;
export type Moment = (typeof MOMENTS)[number];

export const DOINGS = [
  "its copies come",
  "the client leaves",
  "the client half-closes",
  "the seller dies",
  "a minute passes",
  "six minutes pass",
] as const;
export type Doing = (typeof DOINGS)[number];

export const VERIFY_FAULTS = [
  "drop",
  "drop after",
  "500",
  "502 after",
  "401",
  "429",
  "garbage",
  "empty",
  "no funds",
  "own trouble",
] as const;
export const SETTLE_FAULTS = [
  "drop",
  "drop after",
  "500",
  "502 after",
  "401",
  "401 after",
  "429",
  "429 after",
  "garbage",
  "garbage after",
  "empty",
  "settlement_pending",
  "no funds",
  "other payer",
  "other amount",
  "other network",
  "no transaction",
] as const;
export type FaultName = (typeof VERIFY_FAULTS)[number] | (typeof SETTLE_FAULTS)[number];

/** By which a facilitator refuses whatever it is asked, as one does whose free tier has run out. */
export const REFUSALS = [400, 402, 409, 422] as const;
export type Refusal = `refused by ${(typeof REFUSALS)[number]}`;
export const ALL_SETTLE_FAULTS = [
  ...SETTLE_FAULTS,
  ...REFUSALS.map((status): Refusal => `refused by ${status}`),
] as const;
export type AnyFault = FaultName | Refusal;

/** How a request with a payment differs from the payment's first one. */
export const CHANGES = [
  "none",
  "other body",
  "other header",
  "other route",
  "other key order",
  "without id",
  "other address",
] as const;
export type Change = (typeof CHANGES)[number];

/** Conditions that a client may put on its request, with what makes a handler give nothing. */
export const CONDITIONS = {
  "if-none-match": "*",
  "if-modified-since": "Fri, 31 Dec 9999 23:59:59 GMT",
  "if-match": '"another"',
  "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT",
} as const;
export type Condition = keyof typeof CONDITIONS;

/** How a payload differs in what the scheme does not read. */
export const WRITINGS = ["unknown fields", "a second authorization", "upper case"] as const;

/** The changes of these sequences. The golden ones have those above only. */
export const ALL_CHANGES = [...CHANGES, "other id", ...WRITINGS, ...(Object.keys(CONDITIONS) as Condition[])] as const;
export type AnyChange = (typeof ALL_CHANGES)[number];

/** What the price depends on. */
export const PRICINGS = ["fixed", "by body", "by header"] as const;

/** How the facilitator fails at every settlement of a hostile payer. */
export const HOSTILITIES = ["fails", "loses its answer"] as const;

/** The only payer that may turn hostile. */
export const HOSTILE = 2;

export interface SellerPlan {
  readonly way: "table" | "charge";
  readonly settle: "after" | "before";
  readonly holdBytes: number;
  readonly copyWaitMs: number;
  readonly store: "memory" | "shared";
  readonly facilitators: 1 | 2;
  readonly supported: "yes" | "fails";
  readonly pricing: (typeof PRICINGS)[number];
}

export interface SendStep {
  readonly kind: "send";
  /** Which payment of the sequence, modulo how many there are so far; 0 is a fresh one. */
  readonly payment: number;
  readonly payer: 0 | 1 | 2;
  readonly isShort: boolean;
  readonly hasId: boolean;
  readonly change: AnyChange;
  /** How many requests: the first, and its copies at the same time. */
  readonly copies: number;
  readonly copyChange: AnyChange;
  readonly seller: 0 | 1;
  readonly handler: AnyHandler;
  readonly client: (typeof CLIENTS)[number];
  readonly moment: { readonly when: Moment; readonly doing: Doing } | undefined;
  readonly verify: FaultName | undefined;
  readonly settle: AnyFault | undefined;
}

export interface PassStep {
  readonly kind: "pass";
  readonly seconds: number;
  /** Strikes every settlement meanwhile. */
  readonly settle: AnyFault | undefined;
}

export interface DieStep {
  readonly kind: "die";
  readonly seller: 0 | 1;
}

/** Payer 2 turns hostile. */
export interface TurnStep {
  readonly kind: "turn";
  readonly how: (typeof HOSTILITIES)[number];
}

/** From now on the first facilitator refuses each settlement by a status; `undefined`: none any more. */
export interface RefuseStep {
  readonly kind: "refuse";
  readonly by: Refusal | undefined;
}

export type Step = SendStep | PassStep | DieStep | TurnStep | RefuseStep;

export interface Sequence {
  readonly seller: SellerPlan;
  readonly steps: readonly Step[];
}

/** Larger than what is held back, where that is little. */
export const SMALL_HOLD_BYTES = 2_000;
const LARGE_HOLD_BYTES = 16 * 1024 * 1024;

const seldom = <T>(values: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
const mostly = <T>(first: T, values: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(first) }, { weight: 2, arbitrary: fc.constantFrom(...values) });

const sendSteps: fc.Arbitrary<SendStep> = fc.record({
  kind: fc.constant("send" as const),
  payment: fc.oneof(fc.constant(0), fc.nat(4)),
  payer: fc.constantFrom(0 as const, 1 as const, 2 as const),
  isShort: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  hasId: fc.boolean(),
  change: mostly("none" as AnyChange, ALL_CHANGES),
  copies: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) }),
  copyChange: mostly("none" as AnyChange, ALL_CHANGES),
  seller: fc.constantFrom(0 as const, 1 as const),
  handler: fc.oneof(
    { weight: 4, arbitrary: fc.constant("answers" as const) },
    { weight: 2, arbitrary: fc.constant("streams a large answer" as const) },
    { weight: 4, arbitrary: fc.constantFrom(...ALL_HANDLERS) },
  ),
  client: fc.oneof(
    { weight: 5, arbitrary: fc.constant("reads all" as const) },
    { weight: 1, arbitrary: fc.constantFrom("leaves in the middle" as const, "reads slowly" as const) },
  ),
  moment: fc.option(
    fc.record({ when: fc.constantFrom(...MOMENTS), doing: fc.constantFrom(...DOINGS, "the client leaves" as const) }),
    {
      nil: undefined,
      freq: 2,
    },
  ),
  verify: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: seldom(VERIFY_FAULTS) }),
  settle: seldom(ALL_SETTLE_FAULTS),
});

const passSteps: fc.Arbitrary<PassStep> = fc.record({
  kind: fc.constant("pass" as const),
  seconds: fc.constantFrom(3, 11, 35, 65, 310),
  settle: seldom(ALL_SETTLE_FAULTS),
});

const dieSteps: fc.Arbitrary<DieStep> = fc.record({
  kind: fc.constant("die" as const),
  seller: fc.constantFrom(0 as const, 1 as const),
});

const turnSteps: fc.Arbitrary<TurnStep> = fc.record({
  kind: fc.constant("turn" as const),
  how: fc.constantFrom(...HOSTILITIES),
});

const refuseSteps: fc.Arbitrary<RefuseStep> = fc.record({
  kind: fc.constant("refuse" as const),
  by: fc.constantFrom(...REFUSALS.map((status): Refusal => `refused by ${status}`), undefined),
});

/** Sequences of 1 to 12 steps. */
export const sequences: fc.Arbitrary<Sequence> = fc.record({
  seller: fc.record({
    way: fc.constantFrom("table" as const, "charge" as const),
    settle: fc.constantFrom("after" as const, "after" as const, "before" as const),
    holdBytes: fc.constantFrom(LARGE_HOLD_BYTES, SMALL_HOLD_BYTES),
    copyWaitMs: fc.constantFrom(10_000, 0),
    store: fc.constantFrom("memory" as const, "shared" as const),
    facilitators: fc.constantFrom(1 as const, 2 as const),
    supported: fc.constantFrom("yes" as const, "yes" as const, "fails" as const),
    pricing: mostly("fixed" as SellerPlan["pricing"], PRICINGS),
  }),
  steps: fc.array(
    fc.oneof(
      { weight: 16, arbitrary: sendSteps },
      { weight: 4, arbitrary: passSteps },
      { weight: 2, arbitrary: dieSteps },
      { weight: 1, arbitrary: turnSteps },
      { weight: 1, arbitrary: refuseSteps },
    ),
    { minLength: 1, maxLength: 12 },
  ),
});

/** A sequence in words, a line for each step. */
export function describeSequence({ seller, steps }: Sequence): string {
  const { way, settle, holdBytes, copyWaitMs, store, facilitators, supported, pricing } = seller;
  const head =
    `a seller by ${way}, price ${pricing}, settle "${settle}", holds ${holdBytes} bytes, copies wait ${copyWaitMs} ms, ` +
    `${store} store, ${facilitators} facilitator(s), /supported ${supported === "yes" ? "answers" : "fails"}`;
  return [head, ...steps.map((step, at) => `  ${at + 1}. ${describeStep(step)}`)].join("\n");
}

function describeStep(step: Step): string {
  if (step.kind === "die") return `seller ${step.seller} dies and is started again`;
  if (step.kind === "turn") return `payer ${HOSTILE} turns hostile: each of its settlements ${step.how}`;
  if (step.kind === "refuse")
    return `from now on each settlement at the first facilitator is ${step.by ?? "taken again"}`;
  if (step.kind === "pass") return `${step.seconds} seconds pass${fault("settle", step.settle)}`;
  const { payment, payer, isShort, hasId, change, copies, copyChange, seller, handler, client, moment } = step;
  const which = payment === 0 ? "a fresh payment" : `payment ${payment} (modulo how many there are), or a fresh one,`;
  const form = `${isShort ? ", expiring soon" : ""}${hasId ? ", with an id" : ""}`;
  const differs = change === "none" ? "" : `, sent with ${change}`;
  const together = copies === 0 ? "" : `, and ${copies} more with it${copyChange === "none" ? "" : ` (${copyChange})`}`;
  const meanwhile = moment === undefined ? "" : `; while it is ${moment.when}, ${moment.doing}`;
  const faults = fault("verify", step.verify) + fault("settle", step.settle);
  return (
    `payer ${payer} sends ${which}${form}${differs}${together} to seller ${seller}; ` +
    `the handler ${handler}, the client ${client}${meanwhile}${faults}`
  );
}

function fault(operation: string, name: AnyFault | undefined): string {
  return name === undefined ? "" : `; ${operation}: ${name}`;
}
