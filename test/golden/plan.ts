/**
 * What a golden sequence is: a seller, and what happens to it. A seed says all of it, and `describe` puts it into words.
 *
 * @module
 */
import {
  CHANGES,
  type Change,
  DOINGS,
  type Doing,
  type FaultName,
  HANDLERS,
  type HandlerKind,
  MOMENTS,
  type Moment,
  PRICINGS,
  SETTLE_FAULTS,
  SMALL_HOLD_BYTES,
  VERIFY_FAULTS,
} from "../faults/random/plan.js";
import { createRandom, type Random } from "./random.js";

/** A kind of sequences has a file of its own. `processes`: two processes that share a store in memory. */
export const KINDS = ["memory", "processes", "redis", "postgres", "sqlite"] as const;
export type Kind = (typeof KINDS)[number];

/** How many sequences of each kind are recorded. */
export const COUNTS: Readonly<Record<Kind, number>> = {
  memory: 1_000,
  processes: 400,
  redis: 200,
  postgres: 200,
  sqlite: 200,
};

export const HOOKS = ["onRequest", "beforeVerify", "afterVerify", "beforeSettle", "onPaid", "onHandlerFailed"] as const;
export type HookName = (typeof HOOKS)[number];

/** What a hook does for the payer that it knows. */
export const DEEDS: Readonly<Record<HookName, readonly string[]>> = {
  onRequest: ["denies", "denies with 402", "throws", "grants", "returns nonsense"],
  beforeVerify: ["denies", "denies with 402", "throws", "says verified"],
  afterVerify: ["denies", "throws", "responds"],
  beforeSettle: ["denies", "denies with 402", "throws"],
  onPaid: ["adds a header", "throws"],
  onHandlerFailed: ["refunds", "throws"],
};

export interface HookPlan {
  readonly name: HookName;
  readonly does: string;
}

/** What the handler of a scheme that allows less asks for. */
export const AMOUNTS = ["nothing", "half", "0", "all", "too much", "$0.004"] as const;

export interface SellerPlan {
  readonly express: 4 | 5;
  readonly way: "table" | "charge";
  readonly scheme: "exact" | "upto";
  readonly settle: "after" | "before" | "metered";
  readonly unmetered: "maximum" | "zero" | "error";
  readonly pricing: (typeof PRICINGS)[number];
  readonly identifier: "optional" | "required" | "off";
  readonly holdBytes: number;
  readonly copyWaitMs: number;
  readonly maxRuns: number;
  readonly facilitators: 1 | 2;
  readonly over: "process" | "http";
  readonly supported: "yes" | "fails";
  /** For the payer {@link KNOWN_PAYER}. Every other hook is only told. */
  readonly hooks: "none" | "told" | HookPlan;
  readonly validates: boolean;
}

/** The payer for whom hooks decide. */
export const KNOWN_PAYER = 1;

/** What is wrong with a payment. */
export const FLAWS = [
  "none",
  "no base64",
  "other amount",
  "other payee",
  "other network",
  "forged",
  "version 1",
] as const;
export type Flaw = (typeof FLAWS)[number];

export interface SendStep {
  readonly kind: "send";
  /** Which payment of the sequence, modulo how many there are so far; 0 is a fresh one. */
  readonly payment: number;
  readonly payer: 0 | 1 | 2;
  readonly flaw: Flaw;
  readonly isShort: boolean;
  readonly hasId: boolean;
  readonly change: Change;
  /** How many more requests come while the first one is at its moment, or else after it. */
  readonly copies: number;
  readonly copyChange: Change;
  readonly seller: 0 | 1;
  readonly copySeller: 0 | 1;
  readonly handler: HandlerKind;
  readonly amount: (typeof AMOUNTS)[number];
  readonly client: "reads all" | "leaves in the middle";
  readonly moment: { readonly when: Moment; readonly doing: Doing } | undefined;
  readonly verify: FaultName | undefined;
  readonly settle: FaultName | undefined;
}

export interface AskStep {
  readonly kind: "ask";
  readonly seller: 0 | 1;
  readonly path: "/goods" | "/more" | "/free";
}

export interface PassStep {
  readonly kind: "pass";
  readonly seconds: number;
  /** Strikes every settlement meanwhile. */
  readonly settle: FaultName | undefined;
}

export interface DieStep {
  readonly kind: "die";
  readonly seller: 0 | 1;
}

export type Step = SendStep | AskStep | PassStep | DieStep;

export interface Sequence {
  readonly kind: Kind;
  readonly seed: number;
  readonly seller: SellerPlan;
  readonly steps: readonly Step[];
}

const LARGE_HOLD_BYTES = 16 * 1024 * 1024;

/** Draws the sequence of a seed. */
export function draw(kind: Kind, seed: number): Sequence {
  const random = createRandom(`${kind} ${seed}`);
  const seller = drawSeller(random, kind);
  const steps = Array.from({ length: random.between(1, 5) }, () => drawStep(random, kind));
  // A first step that sends nothing shows nothing.
  const [first] = steps;
  return { kind, seed, seller, steps: first?.kind === "send" ? steps : [drawSend(random), ...steps] };
}

function drawSeller(random: Random, kind: Kind): SellerPlan {
  const scheme = random.chance(0.35) ? "upto" : "exact";
  const settles =
    scheme === "upto" ? (["after", "metered", "metered", "before"] as const) : (["after", "after", "before"] as const);
  const settle = random.pick<SellerPlan["settle"]>(settles);
  const pricing = settle === "metered" || random.chance(0.75) ? "fixed" : random.pick(PRICINGS);
  return {
    express: random.pick([4, 5] as const),
    way: random.pick(["table", "charge"] as const),
    scheme,
    settle,
    unmetered: settle === "metered" ? "zero" : random.pick(["maximum", "maximum", "zero", "error"] as const),
    pricing,
    identifier: random.pick(["optional", "optional", "optional", "required", "off"] as const),
    holdBytes: random.pick([LARGE_HOLD_BYTES, SMALL_HOLD_BYTES]),
    copyWaitMs: random.pick([10_000, 10_000, 0]),
    maxRuns: random.pick([4, 4, 1]),
    facilitators: random.pick([1, 1, 2] as const),
    over: kind === "memory" && random.chance(0.04) ? "http" : "process",
    supported: random.chance(0.06) ? "fails" : "yes",
    hooks: drawHooks(random),
    validates: random.chance(0.1),
  };
}

function drawHooks(random: Random): SellerPlan["hooks"] {
  if (random.chance(0.35)) return "none";
  if (random.chance(0.3)) return "told";
  const name = random.pick(HOOKS);
  return { name, does: random.pick(DEEDS[name]) };
}

function drawStep(random: Random, kind: Kind): Step {
  const roll = random.next();
  if (roll < 0.7) return drawSend(random);
  if (roll < 0.78) {
    const path = random.pick(["/goods", "/more", "/free"] as const);
    return { kind: "ask", seller: drawSide(random), path };
  }
  if (roll < 0.92 || kind === "memory") return drawPass(random);
  return { kind: "die", seller: drawSide(random) };
}

function drawPass(random: Random): PassStep {
  const settle = random.chance(0.25) ? random.pick(SETTLE_FAULTS) : undefined;
  return { kind: "pass", seconds: random.pick([3, 11, 35, 65, 310]), settle };
}

function drawSide(random: Random): 0 | 1 {
  return random.pick([0, 1] as const);
}

function drawSend(random: Random): SendStep {
  const moment = random.chance(0.4)
    ? { when: random.pick(MOMENTS), doing: random.pick([...DOINGS, "its copies come", "the client leaves"] as const) }
    : undefined;
  return {
    kind: "send",
    payment: random.chance(0.55) ? 0 : random.between(1, 4),
    payer: random.pick([0, 1, 2] as const),
    flaw: random.chance(0.08) ? random.pick(FLAWS) : "none",
    isShort: random.chance(0.12),
    hasId: random.chance(0.4),
    change: random.chance(0.2) ? random.pick(CHANGES) : "none",
    copies: random.chance(0.3) || moment?.doing === "its copies come" ? random.between(1, 3) : 0,
    copyChange: random.chance(0.3) ? random.pick(CHANGES) : "none",
    seller: drawSide(random),
    copySeller: drawSide(random),
    handler: random.chance(0.55)
      ? random.pick(["answers", "answers", "streams a large answer"] as const)
      : random.pick(HANDLERS),
    amount: random.pick(AMOUNTS),
    client: random.chance(0.05) ? "leaves in the middle" : "reads all",
    moment,
    verify: random.chance(0.1) ? random.pick(VERIFY_FAULTS) : undefined,
    settle: random.chance(0.2) ? random.pick(SETTLE_FAULTS) : undefined,
  };
}

/** A sequence in words: its seller, and a line for each step. */
export function describe({ kind, seed, seller, steps }: Sequence): {
  readonly head: string;
  readonly lines: readonly string[];
} {
  const { express, way, scheme, settle, unmetered, pricing, identifier, holdBytes, copyWaitMs, maxRuns } = seller;
  const { facilitators, over, supported, hooks, validates } = seller;
  const hooked = typeof hooks === "string" ? `hooks ${hooks}` : `${hooks.name} ${hooks.does} for payer ${KNOWN_PAYER}`;
  const head =
    `${kind} ${seed}: Express ${express}, by ${way}, ${scheme}, settle "${settle}", unmetered "${unmetered}", price ${pricing}, ` +
    `identifier ${identifier}, holds ${holdBytes} bytes, copies wait ${copyWaitMs} ms, ${maxRuns} runs, ${facilitators} facilitator(s) ` +
    `by ${over}, /supported ${supported === "yes" ? "responds" : "fails"}, ${hooked}${validates ? ", validates" : ""}`;
  return { head, lines: steps.map(describeStep) };
}

function describeStep(step: Step): string {
  if (step.kind === "die") return `seller ${step.seller} dies and is started again`;
  if (step.kind === "ask") return `a client asks seller ${step.seller} for ${step.path} without a payment`;
  if (step.kind === "pass") return `${step.seconds} seconds pass${fault("settle", step.settle)}`;
  const { payment, payer, flaw, isShort, hasId, change, copies, copyChange, seller, copySeller, handler } = step;
  const which = payment === 0 ? "a fresh payment" : `payment ${payment} (modulo how many there are), or a fresh one`;
  const form = `${flaw === "none" ? "" : `, ${flaw}`}${isShort ? ", expiring soon" : ""}${hasId ? ", with an id" : ""}`;
  const differs = change === "none" ? "" : `, sent with ${change}`;
  const copied = copyChange === "none" ? "" : ` with ${copyChange}`;
  const together = copies === 0 ? "" : `, and ${copies} copies of it to seller ${copySeller}${copied}`;
  const { moment } = step;
  const meanwhile = moment === undefined ? "" : `; while it is ${moment.when}, ${moment.doing}`;
  return (
    `payer ${payer} sends ${which}${form}${differs} to seller ${seller}${together}; the handler ${handler} and charges ` +
    `${step.amount}, the client ${step.client}${meanwhile}${fault("verify", step.verify)}${fault("settle", step.settle)}`
  );
}

function fault(operation: string, name: FaultName | undefined): string {
  return name === undefined ? "" : `; ${operation}: ${name}`;
}
