/**
 * Hooks: the seller's own say in what becomes of a request or a payment.
 *
 * A hook that is asked decides; one that throws, or answers what is no answer, denies. A hook that is told cannot change
 * anything any more; what it throws is logged.
 *
 * @module
 */

import type { CancelReason, PaymentEvents, PaymentFacts } from "../events/events.js";
import { errorName, type Logger } from "../events/logger.js";
import { type Issues, join } from "../issues.js";
import type { SettlementResponse } from "../protocol/documents.js";
import { factsOf, type UnsettledPayment } from "./outcome.js";
import { type GateResponse, problemAnswer } from "./responses.js";

/** A request at a priced route, before any decision. */
export interface PricedRequest {
  /**
   * HTTP method.
   *
   * @example "GET"
   */
  readonly method: string;
  /**
   * Raw path, mounts included.
   *
   * @example "/weather/Paris"
   */
  readonly path: string;
  /**
   * Absolute URL of the resource, as in the challenge.
   *
   * @example "https://api.example.com/weather/Paris"
   */
  readonly url: string;
  /**
   * Key of the route.
   *
   * @example "GET /weather/:city"
   */
  readonly route: string;
  /**
   * Whether it carries a payment, valid or not.
   *
   * @example true
   */
  readonly hasPayment: boolean;
  /**
   * Value of a header, by its name in any case.
   *
   * @example (name) => (name === "x-key" ? "abc" : undefined)
   */
  header(name: string): string | undefined;
}

/** Refuses a request or payment. */
export interface Denial {
  /** A sentence for the client, at most 1000 characters; `true` for a default one. */
  readonly deny: string | true;
  /** 400 to 499, but not 402. Default 403. */
  readonly status?: number;
}

/** Lets the handler run without payment. Nothing is charged, and a payment that came along stays unused. */
export interface Grant {
  readonly grant: true;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that has nothing to say is written without a return
type Maybe<T> = T | undefined | void | Promise<T | undefined | void>;

/**
 * Hooks decide about requests and payments. A hook returns nothing to go on, or `{ deny }`. The request waits for it.
 * Hooks fail closed: if a hook throws, rejects, or returns anything unexpected, the request is denied with 403.
 *
 * @see `docs/reference/events.md`
 */
export interface PaymentHooks {
  /** Called for every request at a priced route, first: API keys, allow lists, free trials. */
  readonly onRequest?: (request: PricedRequest) => Maybe<Denial | Grant>;
  /** Called once the payment is claimed, before the facilitator verifies it. */
  readonly beforeVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Called once the facilitator accepted the payment, before the handler runs. Never with `settle: "before"`. */
  readonly afterVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Called once, before the money moves. A denial drops the handler's response, and nothing is charged. */
  readonly beforeSettle?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Told once the money moved, or never will; also in the background. */
  readonly afterSettle?: (payment: PaymentFacts, receipt: SettlementResponse) => void | Promise<void>;
  /** Told that the money may have moved; once, until more is known. */
  readonly onSettleUnknown?: (payment: PaymentFacts) => void | Promise<void>;
  /** Told that nothing is charged although the handler ran or was to run. */
  readonly onCancel?: (payment: PaymentFacts, reason: CancelReason) => void | Promise<void>;
}

/** Which hooks are asked of a payment. */
export type AskingHook = "beforeVerify" | "afterVerify" | "beforeSettle";

/** Which hooks are told. */
export type TellingHook = "afterSettle" | "onSettleUnknown" | "onCancel";

/** What hooks need. */
export interface HookParts {
  readonly hooks: PaymentHooks;
  readonly events: PaymentEvents;
  readonly logger: Logger;
}

/** What a hook has decided; `undefined`: nothing. */
export type Verdict =
  | { readonly kind: "granted" }
  | { readonly kind: "denied"; readonly answer: GateResponse }
  | undefined;

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

/** Checks a seller's hooks. What is changed about them later does not count. */
export function parseHooks(hooks: unknown, issues: Issues): PaymentHooks {
  if (hooks === undefined || !issues.checkKeys("options.hooks", hooks, NAMES)) return Object.freeze({});
  const parsed: Record<string, unknown> = {};
  // By name: the hooks of a class are not its object's own, and a hook that is overlooked lets everybody in.
  for (const name of NAMES) {
    const hook = hooks[name];
    if (typeof hook === "function") parsed[name] = hook.bind(hooks);
    else if (hook !== undefined) issues.add(join("options.hooks", name), "a function", hook);
  }
  return Object.freeze(parsed) as PaymentHooks;
}

/** Asks `onRequest`, if there is one, about a request that is put together then. Never rejects. */
export function askOnRequest(
  toRequest: () => PricedRequest,
  { hooks: { onRequest }, events, logger }: HookParts,
): Promise<Verdict> | undefined {
  if (onRequest === undefined) return undefined;
  const request = toRequest();
  return ask({ name: "onRequest", run: () => onRequest(request) }, logger).then((verdict) => {
    const { route } = request;
    if (verdict?.kind === "granted") events.emit("granted", () => ({ route }));
    if (verdict?.kind === "denied") events.emit("denied", () => ({ route, by: "onRequest" }));
    return verdict;
  });
}

/** Asks a hook about a payment, if there is one; yields what its client is told if the hook denies. Never rejects. */
export function askHook(
  by: AskingHook,
  payment: UnsettledPayment,
  parts: HookParts,
): Promise<GateResponse | undefined> | undefined {
  const { [by]: hook } = parts.hooks;
  return hook && askAbout(payment, { by, hook }, parts);
}

async function askAbout(
  payment: UnsettledPayment,
  { by, hook }: { readonly by: AskingHook; readonly hook: NonNullable<PaymentHooks[AskingHook]> },
  { events, logger }: HookParts,
): Promise<GateResponse | undefined> {
  const verdict = await ask({ name: by, run: () => hook(factsOf(payment)) }, logger);
  if (verdict?.kind !== "denied") return undefined;
  events.emit("denied", () => ({ ...factsOf(payment), by }));
  return verdict.answer;
}

interface Question {
  readonly name: "onRequest" | AskingHook;
  readonly run: () => unknown;
}

/** Whatever a hook does other than answer as it should, denies. */
async function ask({ name, run }: Question, logger: Logger): Promise<Verdict> {
  try {
    const said = await run();
    if (said === undefined) return undefined;
    const verdict = readVerdict(said, name === "onRequest");
    if (verdict !== undefined) return verdict;
    logger.error("hook_failed", { hook: name, error: "it answered neither nothing nor { deny }" });
  } catch (error) {
    logger.error("hook_failed", { hook: name, error: errorName(error) });
  }
  return { kind: "denied", answer: deniedAnswer(REFUSED, 403) };
}

const REFUSED = "This request was refused. Nothing was charged.";

const MAX_TEXT = 1000;

/** Each field is read once: what is checked is what counts. `undefined` for what is no verdict. */
function readVerdict(said: unknown, mayGrant: boolean): Verdict {
  if (typeof said !== "object" || said === null) return undefined;
  const { deny, grant, status = 403 }: { deny?: unknown; grant?: unknown; status?: unknown } = said;
  if (deny === undefined) return mayGrant && grant === true ? GRANTED : undefined;
  const isText = deny === true || typeof deny === "string";
  const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 499;
  // A challenge says how to pay; a denial cannot.
  if (!isText || !isStatus || status === 402 || grant !== undefined) return undefined;
  return { kind: "denied", answer: deniedAnswer(deny === true ? REFUSED : deny.slice(0, MAX_TEXT), status) };
}

function deniedAnswer(message: string, status: number): GateResponse {
  return problemAnswer({ status, error: "denied", message });
}

/** Tells a hook, and does not wait for it. Never throws. */
export function tellHook<N extends TellingHook>(
  name: N,
  args: () => Parameters<NonNullable<PaymentHooks[N]>>,
  { hooks, logger }: Pick<HookParts, "hooks" | "logger">,
): void {
  const hook = hooks[name];
  if (hook === undefined) return;
  const failed = (error: unknown) => logger.error("hook_failed", { hook: name, error: errorName(error) });
  try {
    Promise.resolve(Reflect.apply(hook, undefined, args())).catch(failed);
  } catch (error) {
    failed(error);
  }
}
