/**
 * Hooks: the seller's own say in what becomes of a request or a payment.
 *
 * A hook that is asked decides; one that throws, or answers what is no answer, denies. A hook that is told cannot change
 * anything any more; what it throws is logged.
 *
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { PaymentFacts } from "../events/payment-events.js";
import { type Issues, join } from "../issues.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import { type Answer, problemAnswer } from "./answer.js";

/** A request at a priced route, before anything has been decided. */
export interface PricedRequest {
  readonly method: string;
  /** Raw pathname, mounts included. */
  readonly path: string;
  /** Absolute URL of the resource, as the challenge names it. */
  readonly url: string;
  /** The key of the route. */
  readonly route: string;
  /** Whether it carries a payment, good or bad. */
  readonly hasPayment: boolean;
  /** Value of a header by its name in any case, e.g. `header("X-API-Key")`. */
  header(name: string): string | undefined;
}

/** No, and what the client is told. */
export interface Denial {
  /** For the client, in a sentence. Default: that the request was refused. */
  readonly deny: string | true;
  /** 400 to 499, but not 402. Default 403. */
  readonly status?: number;
}

/** Served without payment. */
export interface Grant {
  readonly grant: true;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that has nothing to say is written without a return
type Maybe<T> = T | undefined | void | Promise<T | undefined | void>;

/** Answers `{ deny: "…" }` to refuse, nothing to go on. */
export interface PaymentHooks {
  /** Asked of every request at a priced route, with or without a payment: API keys, allow lists, free trials. */
  readonly onRequest?: (request: PricedRequest) => Maybe<Denial | Grant>;
  /** Asked once the payment is claimed, before the facilitator is asked about it. */
  readonly beforeVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Asked of a payment that the facilitator has found good, before the handler runs. Not for `settle: "before"`. */
  readonly afterVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Asked before the money moves. A denial withholds the handler's answer, and nothing is charged. */
  readonly beforeSettle?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Told once it is known that the money moved, or that it never will; in the background, too. */
  readonly afterSettle?: (payment: PaymentFacts, receipt: SettlementResponse) => void | Promise<void>;
  /** Told that the money may have moved. */
  readonly onSettleUnknown?: (payment: PaymentFacts) => void | Promise<void>;
  /** Told that nothing is charged though the handler ran, or was to run. */
  readonly onCancel?: (payment: PaymentFacts, reason: CancelReason) => void | Promise<void>;
}

/** Why nothing is charged. */
export type CancelReason = "client_gone" | "expired" | "not_chargeable" | "denied";

/** Which hooks are asked of a payment. */
export type AskingHook = "beforeVerify" | "afterVerify" | "beforeSettle";

/** Which hooks are told. */
export type TellingHook = "afterSettle" | "onSettleUnknown" | "onCancel";

/** What hooks have decided. */
export type Verdict =
  | { readonly kind: "none" }
  | { readonly kind: "granted" }
  | { readonly kind: "denied"; readonly answer: Answer };

const NONE: Verdict = Object.freeze({ kind: "none" });
const GRANTED: Verdict = Object.freeze({ kind: "granted" });

const NAMES = Object.keys({
  onRequest: true,
  beforeVerify: true,
  afterVerify: true,
  beforeSettle: true,
  afterSettle: true,
  onSettleUnknown: true,
  onCancel: true,
} satisfies Record<keyof PaymentHooks, true>);

/** Checks a seller's hooks. */
export function parseHooks(hooks: unknown, issues: Issues): PaymentHooks {
  if (hooks === undefined || !issues.checkKeys("options.hooks", hooks, NAMES)) return Object.freeze({});
  for (const [name, hook] of Object.entries(hooks)) {
    if (hook !== undefined && typeof hook !== "function") issues.add(join("options.hooks", name), "a function", hook);
  }
  return Object.freeze({ ...hooks }) as PaymentHooks;
}

/** Asks `onRequest`. Never rejects. */
export function askOnRequest(hooks: PaymentHooks, request: PricedRequest, logger: Logger): Verdict | Promise<Verdict> {
  const { onRequest } = hooks;
  return onRequest === undefined ? NONE : ask("onRequest", () => onRequest(request), logger);
}

/** Asks a hook about a payment. Never rejects. */
export function askHook(
  hooks: PaymentHooks,
  name: AskingHook,
  { facts, logger }: { readonly facts: () => PaymentFacts; readonly logger: Logger },
): Verdict | Promise<Verdict> {
  const hook = hooks[name];
  return hook === undefined ? NONE : ask(name, () => hook(facts()), logger);
}

async function ask(name: keyof PaymentHooks, run: () => unknown, logger: Logger): Promise<Verdict> {
  try {
    const said = await run();
    if (said === undefined) return NONE;
    if (name === "onRequest" && isGrant(said)) return GRANTED;
    if (isDenial(said)) return { kind: "denied", answer: deniedAnswer(said) };
    logger.error("hook_failed", { hook: name, error: "it answered neither nothing nor { deny }" });
  } catch (error) {
    logger.error("hook_failed", { hook: name, error: error instanceof Error ? error.name : "unknown" });
  }
  return { kind: "denied", answer: deniedAnswer({ deny: true }) };
}

function isGrant(said: unknown): said is Grant {
  return typeof said === "object" && said !== null && Reflect.get(said, "grant") === true;
}

function isDenial(said: unknown): said is Denial {
  if (typeof said !== "object" || said === null) return false;
  const { deny, status = 403 }: { deny?: unknown; status?: unknown } = said;
  const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 499;
  return (deny === true || typeof deny === "string") && isStatus && status !== 402;
}

function deniedAnswer({ deny, status = 403 }: Denial): Answer {
  const message = deny === true ? "This request was refused. Nothing was charged." : deny;
  return problemAnswer({ status, error: "denied", message });
}

/** Tells a hook, and does not wait for it. Never throws. */
export function tellHook<N extends TellingHook>(
  hooks: PaymentHooks,
  name: N,
  { args, logger }: { readonly args: () => Parameters<NonNullable<PaymentHooks[N]>>; readonly logger: Logger },
): void {
  const hook = hooks[name];
  if (hook === undefined) return;
  const failed = (error: unknown) =>
    logger.error("hook_failed", { hook: name, error: error instanceof Error ? error.name : "unknown" });
  try {
    Promise.resolve(Reflect.apply(hook, undefined, args())).catch(failed);
  } catch (error) {
    failed(error);
  }
}
