/**
 * Hooks: functions of the seller that decide about a request or a payment, or hear of it.
 *
 * Hooks that are asked fail closed: a hook that throws, rejects or returns anything unexpected denies. Hooks that are
 * told change nothing: what they throw is logged.
 *
 * @see `docs/guides/hooks-and-events.md`
 * @module
 */
import { isAnyArrayBuffer } from "node:util/types";
import { type Issues, issuePath } from "../issues.js";
import type { PaymentPayload, PaymentRequirements, SettlementResponse } from "../protocol/documents.js";
import type { CancelReason, PaymentEvents, PaymentFacts } from "./events.js";
import { errorName, type Logger } from "./logger.js";
import { AddedHeaders, type PaidResponse } from "./paid-response.js";

/** Headers of a response, in order. */
type Headers = readonly (readonly [name: string, value: string])[];

/** A request at a priced route. `JSON.stringify(request)` writes all of it but `native`. */
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
   * The query with its `?`, or `""`.
   *
   * @example "?units=metric"
   */
  readonly search: string;
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
   * Decoded path parameters.
   *
   * @example { city: "Paris" }
   */
  readonly pathParams: Readonly<Record<string, string>>;
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
  /**
   * All headers, by their names in lower case. Several values of one header are joined by `", "`. A request that was paid
   * for, or let through, no longer has the headers of the payment.
   *
   * @example { accept: "application/json" }
   */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The parsed body, if a parser runs before the payments. It comes from a client: check it. In a price or recipient
   * function, reading a body throws if no parser has read it.
   *
   * @example { text: "hello" }
   */
  readonly body: unknown;
  /**
   * The payment as the client sent it, decoded and unchecked; `undefined`: none, or a malformed one. Frozen.
   *
   * @example { x402Version: 2, accepted, payload: { signature: "0x2d6a…", authorization } }
   */
  readonly payment: PaymentPayload | undefined;
  /**
   * The framework's request: Express's `req`; the extra argument of an MCP tool call.
   *
   * @example req
   */
  readonly native: unknown;
}

/**
 * A payment, and the request it came with. Frozen, and can be written as JSON. It has the signed payment: keep it out of
 * public logs.
 */
export interface PaymentContext extends PaymentFacts {
  /** The payment as the client sent it, with the canonical payload of its scheme. Without a request: as the facilitator got it. */
  readonly payload: PaymentPayload;
  /** The offer it is for, with the amount that is charged as things stand. */
  readonly requirements: PaymentRequirements;
  /** `undefined`: the settlement of a payment that no request waits for. */
  readonly request: PricedRequest | undefined;
}

/** A response of the handler's, held until its payment has settled. */
export interface HeldResponse {
  readonly status: number;
  /** By their names in lower case. Several values of one header are joined by `", "`. */
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: it is larger than what is held. JSON has it as text, or its length in bytes. */
  readonly body: Uint8Array | undefined;
}

/** A payment that is about to settle. */
export interface SettlingContext extends PaymentContext {
  /** The handler's response; `undefined`: the handler has yet to run, or its response was not kept. */
  readonly response: HeldResponse | undefined;
}

/** A payment that has settled. */
export interface SettledContext extends SettlingContext {
  readonly receipt: SettlementResponse;
}

/** The request that a settled payment came with, and the response that is held for it. */
export interface PaidExchange {
  /** As in the context. */
  readonly request: PricedRequest | undefined;
  /**
   * Takes headers. `undefined`: no request waits, or the head is out already, as of a metered response. What the handler responded is in
   * the context.
   */
  readonly response: PaidResponse | undefined;
}

/** A body that the seller writes in place of one of Farebox. */
export interface SellersBody {
  /** @example "text/html; charset=utf-8" */
  readonly contentType: string;
  /** Texts and bytes go out as they are, anything else as JSON. A promise or a stream is refused. */
  readonly body: unknown;
}

/** Refuses a request or payment. */
export interface Denial {
  /** A sentence for the client, at most 1000 characters; `true` for a default one. */
  readonly deny: string | true;
  /**
   * 400 to 499. Default 403. 402 asks for payment: a challenge with the sentence as its `error`. From `beforeSettle`, it also
   * has a receipt that says so.
   */
  readonly status?: number;
  /** Replaces the body, and its `Content-Type`. */
  readonly body?: SellersBody;
  /** The `errorMessage` of the receipt that a 402 from `beforeSettle` has. At most 1000 characters. */
  readonly receiptMessage?: string;
}

/** The payment is good, says the seller: no facilitator is asked. It still has to settle. */
export interface Verified {
  readonly verified: true;
}

/** Sold in place of the handler's response: 200 with this body. The handler does not run. */
export interface OwnResponse {
  readonly respond: SellersBody;
}

/** Why a payment was not verified. */
export interface VerifyFailure {
  /** @example "insufficient_funds" */
  readonly reason: string;
  /** The facilitator's words, or the error's. */
  readonly message?: string;
  /** What the facilitator's client threw, if the facilitator could not be asked. It may quote a secret. */
  readonly error?: unknown;
}

/** What a handler's failure leaves of a payment that had settled before. */
export interface HandlerFailure {
  /** Of the handler's response. */
  readonly status: number;
  readonly receipt: SettlementResponse;
  /** Whether the same payment, sent again, will run the handler once more: after the first response of 500 or above. */
  readonly owesRun: boolean;
}

/** The seller gives the money back: the payment buys nothing more. */
export interface Refunded {
  readonly refunded: true;
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
  /** Called once the payment is claimed, before the facilitator verifies it, or settles it with `settle: "before"`. */
  readonly beforeVerify?: (payment: PaymentContext) => Maybe<Denial | Verified>;
  /** Called once the payment is verified, before the handler runs. Never with `settle: "before"`. */
  readonly afterVerify?: (payment: PaymentContext) => Maybe<Denial | OwnResponse>;
  /** Told that the facilitator refused the payment, or could not be asked. Nothing is charged. */
  readonly onVerifyFailed?: (payment: PaymentContext, failure: VerifyFailure) => void | Promise<void>;
  /** Called once, before the money moves. A denial drops the handler's response, and nothing is charged. */
  readonly beforeSettle?: (payment: SettlingContext) => Maybe<Denial>;
  /**
   * Called once the money moved and the store has recorded it, at most once per payment; also in the background. The response
   * waits for it, at most `deadlines.hookMs`, and gets the headers that it adds. It cannot undo the sale: what it throws is logged, and
   * published as the event `hook_failed`.
   *
   * @example async onPaid({ payer, amount }, { response }) { response?.setHeader("X-Invoice", await writeInvoice(payer, amount)); }
   */
  readonly onPaid?: (payment: SettledContext, exchange: PaidExchange) => void | Promise<void>;
  /** Told once the money moved, or never will; also in the background. */
  readonly afterSettle?: (payment: PaymentContext, receipt: SettlementResponse) => void | Promise<void>;
  /** Told that the money may have moved; once, until more is known. */
  readonly onSettleUnknown?: (payment: PaymentContext) => void | Promise<void>;
  /** Told that nothing is charged, after the handler was allowed to run, if the facilitator was never asked to settle. */
  readonly onCancel?: (payment: PaymentContext, reason: CancelReason) => void | Promise<void>;
  /**
   * Called after a handler has responded with 400 or above to a payment that had settled before it ran. `{ refunded: true }`: you
   * give the money back, so the payment is not owed another run. The response does not wait for it.
   */
  readonly onHandlerFailed?: (payment: PaymentContext, failure: HandlerFailure) => Maybe<Refunded>;
}

/** Hooks that decide about a payment. */
export type AskingHook = "beforeVerify" | "afterVerify" | "beforeSettle";

/** What such a hook is given. */
type AskedContext<N extends AskingHook> = Parameters<NonNullable<PaymentHooks[N]>>[0];

/** Hooks that only hear of a payment, and are not waited for. */
export type TellingHook = "onVerifyFailed" | "afterSettle" | "onSettleUnknown" | "onCancel";

/** A denial, checked: what the client is told. */
export interface Denied {
  readonly kind: "denied";
  readonly message: string;
  readonly status: number;
  readonly body: WrittenBody | undefined;
  readonly receiptMessage?: string;
}

/** What a hook decided; `undefined`: go on. */
export type Verdict =
  | { readonly kind: "granted" }
  | { readonly kind: "verified" }
  | { readonly kind: "responded"; readonly body: WrittenBody }
  | Denied
  | undefined;

/** What each hook may decide. */
interface Verdicts {
  readonly onRequest: Extract<Verdict, { readonly kind: "granted" | "denied" }>;
  readonly beforeVerify: Extract<Verdict, { readonly kind: "verified" | "denied" }>;
  readonly afterVerify: Extract<Verdict, { readonly kind: "responded" | "denied" }>;
  readonly beforeSettle: Denied;
}

/** What hooks need. */
export interface HooksDeps {
  readonly events: PaymentEvents;
  readonly logger: Logger;
  /** Calls `act` once after `delayMs`, unless the returned function is called before. */
  readonly timer: (act: () => void, delayMs: number) => () => void;
  /** How long a response waits for `onPaid`. */
  readonly hookMs: number;
}

const NAMES: readonly (keyof PaymentHooks)[] = Object.keys({
  onRequest: true,
  beforeVerify: true,
  afterVerify: true,
  onVerifyFailed: true,
  beforeSettle: true,
  onPaid: true,
  afterSettle: true,
  onSettleUnknown: true,
  onCancel: true,
  onHandlerFailed: true,
} satisfies Record<keyof PaymentHooks, true>) as (keyof PaymentHooks)[];

/**
 * Under this name a hook may have a function that says whether it has nothing to do right now. It is not called then, and nobody waits
 * for it. For packages that call lists of hooks, to which a seller may add later.
 */
export const IS_IDLE: unique symbol = Symbol.for("farebox.hook.isIdle");

interface Idling {
  readonly [IS_IDLE]?: () => boolean;
}

/** Checks the hooks of a seller or an extension. Later changes to the object do not count. */
export function parseHooks(hooks: unknown, issues: Issues, path: string = "options.hooks"): PaymentHooks {
  if (hooks === undefined || !issues.checkKeys(path, hooks, NAMES)) return Object.freeze({});
  const parsed: Record<string, unknown> = {};
  // By name: the hooks of a class are not own properties, and a hook that is overlooked lets everybody in.
  for (const name of NAMES) {
    const hook = hooks[name];
    if (typeof hook === "function") parsed[name] = bindHook(hook as Hook, hooks);
    else if (hook !== undefined) issues.add(issuePath(path, name), "a function", hook);
  }
  return Object.freeze(parsed) as PaymentHooks;
}

type Hook = ((...args: readonly unknown[]) => unknown) & Idling;

function bindHook(hook: Hook, hooks: object): Hook {
  const bound: Hook = hook.bind(hooks);
  const isIdle = hook[IS_IDLE];
  return isIdle === undefined ? bound : Object.assign(bound, { [IS_IDLE]: isIdle });
}

/** Asks and tells a seller's hooks. Nothing here throws or rejects. */
export class Hooks {
  readonly #hooks: PaymentHooks;
  readonly #deps: HooksDeps;
  /** Whether there is an `onRequest`, busy or not. */
  readonly hasOnRequest: boolean;
  /** Whether there is no hook at all: nobody need be asked or told. */
  readonly isSilent: boolean;

  constructor(hooks: PaymentHooks, deps: HooksDeps) {
    this.#hooks = hooks;
    this.hasOnRequest = hooks.onRequest !== undefined;
    this.isSilent = NAMES.every((name) => hooks[name] === undefined);
    this.#deps = deps;
  }

  /** A hook, if there is one that has something to do. */
  #find<N extends keyof PaymentHooks>(name: N): PaymentHooks[N] | undefined {
    const hook = this.#hooks[name];
    return (hook as Idling | undefined)?.[IS_IDLE]?.() === true ? undefined : hook;
  }

  /** Whether every request has to be asked about. */
  get asksAboutRequests(): boolean {
    return this.#find("onRequest") !== undefined;
  }

  /** Asks `onRequest`. */
  async askAboutRequest(request: PricedRequest): Promise<Verdicts["onRequest"] | undefined> {
    const onRequest = this.#find("onRequest");
    if (onRequest === undefined) return undefined;
    const verdict = await this.#ask("onRequest", () => onRequest(request));
    const { route } = request;
    if (verdict?.kind === "granted") this.#deps.events.emit("granted", () => ({ route }));
    if (verdict?.kind === "denied") this.#deps.events.emit("denied", () => ({ route, by: "onRequest" }));
    return verdict;
  }

  /** Whether a hook has to be asked about payments. */
  asks(name: AskingHook): boolean {
    return this.#hooks[name] !== undefined && this.#find(name) !== undefined;
  }

  /** Asks a hook about a payment; `undefined`: go on. */
  async ask<N extends AskingHook>(name: N, context: AskedContext<N>): Promise<Verdicts[N] | undefined> {
    const hook = this.#find(name);
    if (hook === undefined) return undefined;
    const verdict = await this.#ask(name, () => Reflect.apply(hook, undefined, [context]));
    if (verdict?.kind === "denied") this.#deps.events.emit("denied", () => ({ ...factsIn(context), by: name }));
    return verdict;
  }

  async #ask<N extends keyof Verdicts>(name: N, run: () => unknown): Promise<Verdicts[N] | undefined> {
    try {
      const returned = await run();
      if (returned === undefined) return undefined;
      const verdict = readVerdict(returned);
      if (verdict !== undefined && (ALLOWED[name] as readonly string[]).includes(verdict.kind)) {
        return verdict as Verdicts[N];
      }
      const allowed = ALLOWED[name].map((kind) => WRITTEN[kind]).join(" or ");
      this.#failed(name, `it returned something else than nothing, ${allowed}`);
    } catch (error) {
      this.#failed(name, errorName(error));
    }
    return REFUSAL as Verdicts[N];
  }

  /** Whether a hook waits for payments that have settled. */
  get hearsOfPaid(): boolean {
    return this.#hooks.onPaid !== undefined && this.#find("onPaid") !== undefined;
  }

  /**
   * Calls `onPaid`. Resolves when it is done, or its time is over, to the headers that it has added. Never rejects.
   *
   * @param takesHeaders - Whether a response waits whose head is not out.
   */
  async paid(context: () => SettledContext, { takesHeaders }: { readonly takesHeaders: boolean }): Promise<Headers> {
    const added = new AddedHeaders();
    const call = async () => {
      const payment = context();
      const response = takesHeaders ? Object.freeze({ setHeader: added.setHeader.bind(added) }) : undefined;
      await this.#hooks.onPaid?.(payment, Object.freeze({ request: payment.request, response }));
    };
    await this.#withinTime(
      "onPaid",
      call().catch((error) => this.#failed("onPaid", errorName(error))),
    );
    return added.close();
  }

  /** Resolves when a hook is done, or its time is over: then it goes on by itself. @param called - Never rejects. */
  #withinTime(hook: keyof PaymentHooks, called: Promise<void>): Promise<void> {
    const { timer, hookMs } = this.#deps;
    return new Promise((resolve) => {
      const stopTimer = timer(() => {
        this.#failed(hook, `it took longer than ${hookMs} ms: see deadlines.hookMs`);
        resolve();
      }, hookMs);
      void called.finally(() => {
        stopTimer();
        resolve();
      });
    });
  }

  /** Whether a hook hears of handlers that fail after the money has moved. */
  get hearsOfFailures(): boolean {
    return this.#find("onHandlerFailed") !== undefined;
  }

  /**
   * Calls `onHandlerFailed`, and then `end`, with whether the seller gives the money back. Resolves when that is done, or the hook's
   * time is over: then both go on by themselves. Never rejects.
   *
   * @param end - Must not reject.
   */
  handlerFailed(
    context: PaymentContext,
    failure: HandlerFailure,
    end: (isRefunded: boolean) => Promise<void>,
  ): Promise<void> {
    return this.#withinTime("onHandlerFailed", this.#isRefunded(context, failure).then(end));
  }

  async #isRefunded(context: PaymentContext, failure: HandlerFailure): Promise<boolean> {
    try {
      const said: unknown = await this.#hooks.onHandlerFailed?.(context, failure);
      if (said === undefined) return false;
      if ((said as Partial<Refunded> | null)?.refunded === true) return true;
      this.#failed("onHandlerFailed", "it returned something else than nothing or { refunded: true }");
    } catch (error) {
      this.#failed("onHandlerFailed", errorName(error));
    }
    return false;
  }

  #failed(hook: keyof PaymentHooks, error: string): void {
    this.#deps.logger.error("hook_failed", { hook, error });
    this.#deps.events.emit("hook_failed", () => ({ hook }));
  }

  /** Tells a hook, and does not wait for it. */
  tell<N extends TellingHook>(name: N, args: () => Parameters<NonNullable<PaymentHooks[N]>>): void {
    const hook = this.#hooks[name] && this.#find(name);
    if (hook === undefined) return;
    const failed = (error: unknown) => this.#failed(name, errorName(error));
    try {
      Promise.resolve(Reflect.apply(hook, undefined, args())).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** Events have no secrets, and a context has the signed payment. */
function factsIn({ payment, route, payer, scheme, network, asset, amount }: PaymentContext): PaymentFacts {
  return { payment, route, payer, scheme, network, asset, amount };
}

/** What each hook may return, in the seller's words. */
const WRITTEN = {
  granted: "{ grant: true }",
  verified: "{ verified: true }",
  responded: "{ respond: { contentType, body } }",
  denied: "{ deny }",
} as const;

const ALLOWED: { readonly [N in keyof Verdicts]: readonly Verdicts[N]["kind"][] } = {
  onRequest: ["denied", "granted"],
  beforeVerify: ["denied", "verified"],
  afterVerify: ["denied", "responded"],
  beforeSettle: ["denied"],
};

const REFUSED = "This request was refused.";

const REFUSAL: Denied = Object.freeze({ kind: "denied", message: REFUSED, status: 403, body: undefined });

const MAX_TEXT = 1000;

/** Reads each field once, so that the value that is checked is the value that counts. `undefined`: not a verdict. */
function readVerdict(returned: unknown): Verdict {
  if (typeof returned !== "object" || returned === null) return undefined;
  const {
    deny,
    grant,
    verified,
    respond,
    status = 403,
    body,
    receiptMessage,
  } = returned as Readonly<Record<string, unknown>>;
  // One hook says one thing.
  if ([deny, grant, verified, respond].filter((said) => said !== undefined).length !== 1) return undefined;
  if (grant !== undefined) return grant === true ? { kind: "granted" } : undefined;
  if (verified !== undefined) return verified === true ? { kind: "verified" } : undefined;
  if (respond !== undefined) {
    const written = writeBody(respond);
    return written && { kind: "responded", body: written };
  }
  const isText = deny === true || typeof deny === "string";
  const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 499;
  const written = body === undefined ? undefined : writeBody(body);
  if (!isText || !isStatus || (body !== undefined && written === undefined)) return undefined;
  const message = deny === true ? REFUSED : deny.slice(0, MAX_TEXT);
  const denied: Denied = { kind: "denied", message, status, body: written };
  return typeof receiptMessage === "string" ? { ...denied, receiptMessage: receiptMessage.slice(0, MAX_TEXT) } : denied;
}

/** A body of the seller's, ready to write. */
export interface WrittenBody {
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** A header's value may only have printable ASCII characters. */
const CONTENT_TYPE = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** Writes a body of the seller's; `undefined` if it is none. May throw what the seller's objects throw. */
export function writeBody(given: unknown): WrittenBody | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { contentType, body }: Partial<SellersBody> = given;
  if (typeof contentType !== "string" || !CONTENT_TYPE.test(contentType)) return undefined;
  const written = writeContent(body);
  if (typeof written !== "string") return written && { contentType, body: written };
  const typed = /;\s*charset=/i.test(contentType) ? contentType : `${contentType}; charset=utf-8`;
  return { contentType: typed, body: written };
}

/**
 * Writes what the seller sends: text and bytes as they are, anything else as JSON. `undefined`: it cannot be written, as a promise,
 * a stream or a function. May throw what the seller's objects throw.
 */
export function writeContent(body: unknown): string | Uint8Array | undefined {
  if (typeof body === "string") return body;
  // A copy: the seller may change the bytes while they wait.
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
  }
  if (isAnyArrayBuffer(body)) return new Uint8Array(new Uint8Array(body));
  if (isUnread(body)) return undefined;
  const text: unknown = JSON.stringify(body);
  return typeof text === "string" ? text : undefined;
}

/** Whether a value has its content later: of a promise, stream, `Blob` or `Response`, JSON would be `{}`. */
function isUnread(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  const methods = ["then", "pipe", "getReader", "arrayBuffer", Symbol.asyncIterator];
  return methods.some((name) => typeof Reflect.get(body, name) === "function");
}
