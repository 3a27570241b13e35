/**
 * Hooks: functions of the seller that decide about a request or a payment, or hear of it.
 *
 * Hooks that are asked fail closed: a hook that throws, rejects or returns anything unexpected denies. Hooks that are
 * told change nothing: what they throw is logged.
 *
 * @see `docs/guides/hooks-and-events.md`
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { CancelReason, PaymentEvents, PaymentFacts } from "./events.js";
import { errorName, type Logger } from "./logger.js";

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
  /** Called once the payment is claimed, before the facilitator verifies it, or settles it with `settle: "before"`. */
  readonly beforeVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Called once the facilitator accepted the payment, before the handler runs. Never with `settle: "before"`. */
  readonly afterVerify?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Called once, before the money moves. A denial drops the handler's response, and nothing is charged. */
  readonly beforeSettle?: (payment: PaymentFacts) => Maybe<Denial>;
  /** Told once the money moved, or never will; also in the background. */
  readonly afterSettle?: (payment: PaymentFacts, receipt: SettlementResponse) => void | Promise<void>;
  /** Told that the money may have moved; once, until more is known. */
  readonly onSettleUnknown?: (payment: PaymentFacts) => void | Promise<void>;
  /** Told that nothing is charged, after the handler was allowed to run, if the facilitator was never asked to settle. */
  readonly onCancel?: (payment: PaymentFacts, reason: CancelReason) => void | Promise<void>;
}

/** Hooks that decide about a payment. */
export type AskingHook = "beforeVerify" | "afterVerify" | "beforeSettle";

/** Hooks that only hear of a payment. */
export type TellingHook = "afterSettle" | "onSettleUnknown" | "onCancel";

/** A denial, checked: what the client is told. */
export interface Denied {
  readonly kind: "denied";
  readonly message: string;
  readonly status: number;
}

/** What a hook decided; `undefined`: go on. */
export type Verdict = { readonly kind: "granted" } | Denied | undefined;

/** What hooks need. */
export interface HooksDeps {
  readonly events: PaymentEvents;
  readonly logger: Logger;
}

const NAMES = Object.keys({
  onRequest: true,
  beforeVerify: true,
  afterVerify: true,
  beforeSettle: true,
  afterSettle: true,
  onSettleUnknown: true,
  onCancel: true,
} satisfies Record<keyof PaymentHooks, true>);

/** Checks a seller's hooks. Later changes to the object do not count. */
export function parseHooks(hooks: unknown, issues: Issues): PaymentHooks {
  if (hooks === undefined || !issues.checkKeys("options.hooks", hooks, NAMES)) return Object.freeze({});
  const parsed: Record<string, unknown> = {};
  // By name: the hooks of a class are not own properties, and a hook that is overlooked lets everybody in.
  for (const name of NAMES) {
    const hook = hooks[name];
    if (typeof hook === "function") parsed[name] = hook.bind(hooks);
    else if (hook !== undefined) issues.add(issuePath("options.hooks", name), "a function", hook);
  }
  return Object.freeze(parsed) as PaymentHooks;
}

/** Asks and tells a seller's hooks. Nothing here throws or rejects. */
export class Hooks {
  readonly #hooks: PaymentHooks;
  readonly #deps: HooksDeps;

  constructor(hooks: PaymentHooks, deps: HooksDeps) {
    this.#hooks = hooks;
    this.#deps = deps;
  }

  /** Whether every request has to be asked about. */
  get asksAboutRequests(): boolean {
    return this.#hooks.onRequest !== undefined;
  }

  /** Asks `onRequest`. */
  async askAboutRequest(request: PricedRequest): Promise<Verdict> {
    const { onRequest } = this.#hooks;
    if (onRequest === undefined) return undefined;
    const verdict = await this.#ask("onRequest", () => onRequest(request));
    const { route } = request;
    if (verdict?.kind === "granted") this.#deps.events.emit("granted", () => ({ route }));
    if (verdict?.kind === "denied") this.#deps.events.emit("denied", () => ({ route, by: "onRequest" }));
    return verdict;
  }

  /** Whether a hook has to be asked about payments. */
  asks(name: AskingHook): boolean {
    return this.#hooks[name] !== undefined;
  }

  /** Asks a hook about a payment; `undefined`: go on. */
  async ask(name: AskingHook, facts: () => PaymentFacts): Promise<Denied | undefined> {
    const hook = this.#hooks[name];
    if (hook === undefined) return undefined;
    const verdict = await this.#ask(name, () => hook(facts()));
    if (verdict?.kind !== "denied") return undefined;
    this.#deps.events.emit("denied", () => ({ ...facts(), by: name }));
    return verdict;
  }

  async #ask(name: "onRequest" | AskingHook, run: () => unknown): Promise<Verdict> {
    const { logger } = this.#deps;
    try {
      const returned = await run();
      if (returned === undefined) return undefined;
      const verdict = readVerdict(returned, name === "onRequest");
      if (verdict !== undefined) return verdict;
      logger.error("hook_failed", {
        hook: name,
        error: "it returned neither nothing, nor { deny }, nor { grant: true } where that is allowed",
      });
    } catch (error) {
      logger.error("hook_failed", { hook: name, error: errorName(error) });
    }
    return { kind: "denied", message: REFUSED, status: 403 };
  }

  /** Tells a hook, and does not wait for it. */
  tell<N extends TellingHook>(name: N, args: () => Parameters<NonNullable<PaymentHooks[N]>>): void {
    const hook = this.#hooks[name];
    if (hook === undefined) return;
    const failed = (error: unknown) => this.#deps.logger.error("hook_failed", { hook: name, error: errorName(error) });
    try {
      Promise.resolve(Reflect.apply(hook, undefined, args())).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

const REFUSED = "This request was refused.";

const MAX_TEXT = 1000;

/** Reads each field once, so that the value that is checked is the value that counts. `undefined`: not a verdict. */
function readVerdict(returned: unknown, mayGrant: boolean): Verdict {
  if (typeof returned !== "object" || returned === null) return undefined;
  const { deny, grant, status = 403 }: { deny?: unknown; grant?: unknown; status?: unknown } = returned;
  if (deny === undefined) return mayGrant && grant === true ? { kind: "granted" } : undefined;
  const isText = deny === true || typeof deny === "string";
  const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 499;
  // 402 is for challenges, which say how to pay.
  if (!isText || !isStatus || status === 402 || grant !== undefined) return undefined;
  return { kind: "denied", message: deny === true ? REFUSED : deny.slice(0, MAX_TEXT), status };
}
