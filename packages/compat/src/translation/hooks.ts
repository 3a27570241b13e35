/**
 * The hooks of a server as hooks of the engine, and their contexts in the reference's shape.
 *
 * The lists are read at each call, as the reference reads them. Hooks of a seller come first, in the order of their registration; then
 * those of the scheme. Those of extensions are the engine's to call, after these.
 *
 * A hook may write to its context: it is a copy, for the hooks of one call. What it writes changes nothing else.
 *
 * `onProtectedRequest`, `onBeforeVerify` and `onBeforeSettle` fail closed: the engine denies when they throw, and logs it.
 *
 * @module
 */
import type {
  CancelReason,
  Denial,
  HandlerFailure,
  LogFields,
  PaymentContext,
  PaymentHooks,
  PricedRequest,
  Refunded,
  SettledContext,
  SettlementResponse,
  SettlingContext,
} from "@farebox/core";
import { describeThrown, IS_IDLE } from "@farebox/core/adapter";
import { SIGN_IN_WITH_X } from "@farebox/extensions";
import { copyJson, SettleError, thrownByClient, VerifyError } from "../classes/facilitator-client.js";
import type {
  Abort,
  HTTPTransportContext,
  Network,
  ProtectedRequestHook,
  RouteConfig,
  SchemeServerHooks,
  SettleContext,
  SettlePhase,
  SettleResponse,
  SettleResultContext,
  VerifiedPaymentCancellationReason,
  VerifyContext,
  VerifyResponse,
} from "../types.js";
import { toRequestContext } from "./context.js";
import { findHooks } from "./notices.js";
import { pricedRequestOf } from "./priced-request.js";
import { findScheme, type Registrations } from "./registrations.js";
import { toFailure } from "./routes.js";

/** What hooks need besides their lists. */
export interface HooksContext {
  /** The route of a key, as the seller wrote it. */
  routeOf(key: string): RouteConfig | undefined;
  /** Tells the seller what went wrong in a hook, once. */
  warn(event: string, fields: LogFields): void;
  /** By hand: the call that a hook belongs to. There is no other request than what the seller says of it. */
  callByHand?(): CallByHand | undefined;
}

/** What a seller who verifies and settles by hand says of a request. */
export interface CallByHand {
  readonly extensions: Record<string, unknown> | undefined;
  readonly transport: HTTPTransportContext | undefined;
}

/** The hooks of a server for the engine. */
export function toNativeHooks(server: Registrations, context: HooksContext): PaymentHooks {
  return new ServerHooks(server, context).hooks;
}

/** The hooks about requests, for the engine. The first decision counts. */
export function toRequestHook(
  hooks: readonly ProtectedRequestHook[],
  { routeOf }: Pick<HooksContext, "routeOf">,
): NonNullable<PaymentHooks["onRequest"]> {
  const ask: NonNullable<PaymentHooks["onRequest"]> = async (request) => {
    const route = routeOf(request.route);
    if (route === undefined) return undefined;
    const context = toRequestContext(request);
    for (const hook of hooks) {
      const said = await hook(context, route);
      if (typeof said !== "object" || said === null) continue;
      if ("grantAccess" in said && said.grantAccess === true) return { grant: true };
      if ("abort" in said) return denyWith(403, reasonOf(said), { error: reasonOf(said) });
    }
    return undefined;
  };
  return Object.assign(ask, { [IS_IDLE]: () => hooks.length === 0 });
}

function denyWith(status: number, reason: string, body?: unknown): Denial {
  // The engine's limit; it also makes the text fit for a header.
  const deny = reason.slice(0, MAX_REASON);
  return { deny, status, ...(body === undefined ? {} : { body: { contentType: "application/json", body } }) };
}

const MAX_REASON = 1000;

/** A payment that a hook refuses is answered as one that the facilitator refuses. */
function toDenial(abort: Abort): Denial {
  return denyWith(402, reasonOf(abort));
}

/** A seller without types may have left it out. */
function reasonOf({ reason }: { readonly reason?: unknown }): string {
  return typeof reason === "string" && reason !== "" ? reason : "refused";
}

/** The lists of hooks that requests wait for. */
const LISTS = {
  onBeforeVerify: "beforeVerifyHooks",
  onAfterVerify: "afterVerifyHooks",
  onBeforeSettle: "beforeSettleHooks",
  onAfterSettle: "afterSettleHooks",
  onSettleFailure: "onSettleFailureHooks",
  onVerifiedPaymentCanceled: "onVerifiedPaymentCanceledHooks",
} as const satisfies Partial<Record<keyof SchemeServerHooks, keyof Registrations>>;

class ServerHooks {
  readonly #server: Registrations;
  readonly #context: HooksContext;
  #toldHooks = 0;

  constructor(server: Registrations, context: HooksContext) {
    this.#server = server;
    this.#context = context;
  }

  get hooks(): PaymentHooks {
    return {
      beforeVerify: this.#while("onBeforeVerify", (payment) => this.#beforeVerify(payment)),
      afterVerify: this.#while("onAfterVerify", (payment) => this.#afterVerify(payment)),
      onVerifyFailed: (payment, failure) => this.#verifyFailed(payment, failure),
      beforeSettle: this.#while("onBeforeSettle", (payment) => this.#beforeSettle(payment)),
      onPaid: this.#while("onAfterSettle", (payment) => this.#settled(payment)),
      afterSettle: this.#while("onSettleFailure", (payment, receipt) => this.#settleFailed(payment, receipt)),
      onCancel: (payment, reason) => this.#canceled(payment, reason),
      onHandlerFailed: this.#while("onVerifiedPaymentCanceled", (payment, failure) =>
        this.#handlerFailed(payment, failure),
      ),
    };
  }

  /** The engine need not wait for a list that is empty. A seller may add to it at any time. */
  #while<H extends object>(name: keyof typeof LISTS, hook: H): H {
    const list: readonly unknown[] = this.#server[LISTS[name]];
    const isIdle = () => {
      this.#tellOfHooks();
      return list.length === 0 && !this.#hasSchemeHook(name);
    };
    return Object.assign(hook, { [IS_IDLE]: isIdle });
  }

  /** Tells of hooks that were registered since the start. */
  #tellOfHooks(): void {
    const { beforeVerifyHooks, beforeSettleHooks, onVerifyFailureHooks, onSettleFailureHooks } = this.#server;
    const count =
      beforeVerifyHooks.length + beforeSettleHooks.length + onVerifyFailureHooks.length + onSettleFailureHooks.length;
    if (count === this.#toldHooks) return;
    this.#toldHooks = count;
    for (const { text } of findHooks(this.#server)) this.#context.warn("FAREBOX_COMPAT", { message: text });
  }

  #hasSchemeHook(name: keyof SchemeServerHooks): boolean {
    for (const schemes of this.#server.registeredServerSchemes.values()) {
      for (const { schemeHooks } of schemes.values()) if (schemeHooks?.[name] !== undefined) return true;
    }
    return false;
  }

  async #beforeVerify(payment: PaymentContext): Promise<Denial | { readonly verified: true } | undefined> {
    const hooks = this.#hooksOf("beforeVerifyHooks", "onBeforeVerify", payment);
    if (hooks.length === 0) return undefined;
    const context = this.#toVerifyContext(payment);
    for (const hook of hooks) {
      const said = await this.#ask("onBeforeVerify", () => hook(context));
      if (!isDirective(said)) continue;
      if ("abort" in said && said.abort) return toDenial(said);
      if (!("skip" in said) || !said.skip) continue;
      const { isValid, invalidReason = "verification_skipped" } = said.result;
      return isValid ? { verified: true } : denyWith(402, invalidReason);
    }
    return undefined;
  }

  async #afterVerify(payment: PaymentContext) {
    const hooks = this.#hooksOf("afterVerifyHooks", "onAfterVerify", payment);
    if (hooks.length === 0) return undefined;
    const result: VerifyResponse = { isValid: true, payer: payment.payer };
    const context = { ...this.#toVerifyContext(payment), result };
    let response: { readonly contentType: string; readonly body: unknown } | undefined;
    for (const hook of hooks) {
      const said = await this.#attempt("onAfterVerify", () => hook(context));
      if (!isDirective(said)) continue;
      if ("abort" in said && said.abort) {
        await this.#tellCanceled(payment, "after_verify_aborted");
        return toDenial(said);
      }
      if ("skipHandler" in said && said.skipHandler) {
        const { contentType = "application/json", body = {} } = said.response ?? {};
        response = { contentType, body };
      }
    }
    return response === undefined ? undefined : { respond: response };
  }

  async #verifyFailed(payment: PaymentContext, { reason, message, error: thrown }: VerifyFailure): Promise<void> {
    const context = this.#toVerifyContext(payment);
    const result: VerifyResponse = {
      ...{ isValid: false, invalidReason: reason, payer: payment.payer },
      ...(message === undefined ? {} : { invalidMessage: message }),
    };
    for (const hook of this.#hooksOf("afterVerifyHooks", "onAfterVerify", payment)) {
      await this.#attempt("onAfterVerify", () => hook({ ...context, result }));
    }
    const error = thrownByClient(thrown) ?? new VerifyError(200, result);
    for (const hook of this.#hooksOf("onVerifyFailureHooks", "onVerifyFailure", payment)) {
      const said = await this.#attempt("onVerifyFailure", () => hook({ ...context, error }));
      if (isDirective(said)) this.#refuse("onVerifyFailure", "recovered");
    }
  }

  async #beforeSettle(payment: SettlingContext): Promise<Denial | undefined> {
    const hooks = this.#hooksOf("beforeSettleHooks", "onBeforeSettle", payment);
    if (hooks.length === 0) return undefined;
    const context = this.#toSettlingContext(payment);
    for (const hook of hooks) {
      const said = await this.#ask("onBeforeSettle", () => hook(context));
      if (!isDirective(said)) continue;
      if ("abort" in said && said.abort) return this.#abortSettlement(payment, said);
      if ("skip" in said && said.skip) {
        this.#refuse("onBeforeSettle", "skip");
        return denyWith(402, "settlement_skipped");
      }
    }
    return undefined;
  }

  /** The body is that of a settlement that was refused, as with the reference. */
  async #abortSettlement(payment: PaymentContext, abort: Abort): Promise<Denial> {
    const receiptMessage = abort.message === undefined ? {} : { receiptMessage: String(abort.message) };
    const denial = { ...toDenial(abort), ...receiptMessage };
    const { route, request, requirements } = payment;
    const writeBody = this.#context.routeOf(route)?.settlementFailedResponseBody;
    if (writeBody === undefined || request === undefined) return denial;
    const { message } = abort;
    const failure = {
      success: false,
      errorReason: reasonOf(abort),
      transaction: "",
      network: requirements.network,
    } as const;
    const receipt = message === undefined ? failure : { ...failure, errorMessage: message };
    const body = await this.#attempt("settlementFailedResponseBody", async () =>
      writeBody(toRequestContext(request), toFailure(receipt)),
    );
    return body === undefined ? denial : { ...denial, body };
  }

  async #settled(payment: SettledContext): Promise<void> {
    const hooks = this.#hooksOf("afterSettleHooks", "onAfterSettle", payment);
    if (hooks.length === 0) return;
    const context: SettleResultContext = {
      ...this.#toSettlingContext(payment),
      result: copyJson(payment.receipt) as SettleResponse,
    };
    const isSignIn = SIGN_IN_WITH_X in (this.#context.routeOf(payment.route)?.extensions ?? {});
    const seen = isSignIn ? withRequestedResource(context) : context;
    for (const hook of hooks) await this.#attempt("onAfterSettle", () => hook(seen));
  }

  /** Told of every settlement; those that succeeded are {@link ServerHooks.#settled}'s. */
  async #settleFailed(payment: PaymentContext, receipt: SettlementResponse): Promise<void> {
    if (receipt.success) return;
    const error = new SettleError(200, receipt as unknown as SettleResponse);
    const context = { ...this.#toSettleContext(payment), error };
    for (const hook of this.#hooksOf("onSettleFailureHooks", "onSettleFailure", payment)) {
      const said = await this.#attempt("onSettleFailure", () => hook(context));
      if (isDirective(said)) this.#refuse("onSettleFailure", "recovered");
    }
  }

  async #canceled(payment: PaymentContext, reason: CancelReason): Promise<void> {
    // The reference does not call it when onBeforeSettle aborts.
    if (reason !== "denied") await this.#tellCanceled(payment, "handler_failed");
  }

  async #tellCanceled(payment: PaymentContext, reason: VerifiedPaymentCancellationReason): Promise<void> {
    const hooks = this.#hooksOf("onVerifiedPaymentCanceledHooks", "onVerifiedPaymentCanceled", payment);
    if (hooks.length === 0) return;
    const responseStatus = reason === "handler_failed" ? statusOf(payment.request) : undefined;
    const context = {
      ...this.#toSettleContext(payment, "cancel"),
      reason,
      ...(responseStatus === undefined ? {} : { responseStatus }),
      settledPhases: [],
    };
    for (const hook of hooks) await this.#attempt("onVerifiedPaymentCanceled", () => hook(context));
  }

  /**
   * The handler failed after the money had moved: here sellers give it back. The payment then buys nothing more, as with the
   * reference. If every hook threw, nothing was given back, and the payment is owed another run.
   */
  async #handlerFailed(payment: PaymentContext, { status }: HandlerFailure): Promise<Refunded | undefined> {
    const hooks = this.#hooksOf("onVerifiedPaymentCanceledHooks", "onVerifiedPaymentCanceled", payment);
    const context = {
      ...this.#toSettleContext(payment, "cancel"),
      reason: "handler_failed" as const,
      responseStatus: status,
      settledPhases: ["before-handler" as const],
    };
    let hasEnded = false;
    for (const hook of hooks) {
      await this.#attempt("onVerifiedPaymentCanceled", async () => {
        await hook(context);
        hasEnded = true;
      });
    }
    return hasEnded ? { refunded: true } : undefined;
  }

  /** The seller's hooks, then the scheme's. */
  #hooksOf<L extends keyof Registrations & `${string}Hooks`, N extends keyof SchemeServerHooks>(
    list: L,
    name: N,
    { network, scheme }: PaymentContext,
  ): readonly NonNullable<SchemeServerHooks[N]>[] {
    const manual = this.#server[list] as readonly NonNullable<SchemeServerHooks[N]>[];
    const server = findScheme(this.#server.registeredServerSchemes, network as Network, scheme);
    const hook = server?.schemeHooks?.[name];
    return hook === undefined ? manual : [...manual, hook as NonNullable<SchemeServerHooks[N]>];
  }

  #toVerifyContext(payment: PaymentContext): VerifyContext {
    const { payload, requirements } = payment;
    const { callByHand } = this.#context;
    const transportContext = callByHand === undefined ? toTransportContext(payment) : copyOf(callByHand()?.transport);
    return {
      paymentPayload: copyJson(payload) as VerifyContext["paymentPayload"],
      requirements: copyJson(requirements) as VerifyContext["requirements"],
      declaredExtensions: declaredFor(payment, this.#context),
      ...(transportContext === undefined ? {} : { transportContext }),
    };
  }

  #toSettleContext(payment: PaymentContext, phase: SettlePhase = phaseOf(payment)): SettleContext {
    return { ...this.#toVerifyContext(payment), phase };
  }

  /** By hand there is a response only if the seller says so. */
  #toSettlingContext(payment: SettlingContext): SettleContext {
    const context = this.#toSettleContext(payment);
    return this.#context.callByHand === undefined ? withResponse(context, payment) : context;
  }

  /** Calls a hook whose failure denies. */
  async #ask<T>(hook: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      this.#context.warn("hook_failed", { hook, ...thrownIn(error) });
      throw error;
    }
  }

  /** Calls a hook whose failure changes nothing. */
  async #attempt<T>(hook: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#context.warn("hook_failed", { hook, ...thrownIn(error) });
      return undefined;
    }
  }

  #refuse(hook: string, directive: string): void {
    const message = `${hook} returned { ${directive} }, which would deliver what no facilitator has settled`;
    this.#context.warn("FAREBOX_COMPAT", { hook, message });
  }
}

function toTransportContext({ request }: PaymentContext): HTTPTransportContext | undefined {
  return request && { request: toRequestContext(request) };
}

/** What is added to it is for one hook. */
function copyOf(transport: HTTPTransportContext | undefined): HTTPTransportContext | undefined {
  return transport && { ...transport };
}

/** Why a payment was not verified. */
interface VerifyFailure {
  readonly reason: string;
  readonly message?: string;
  readonly error?: unknown;
}

/** What the seller declared for a payment, by hand or on its route. */
export function declaredFor(payment: PaymentContext, context: HooksContext): Readonly<Record<string, unknown>> {
  return context.callByHand?.()?.extensions ?? context.routeOf(payment.route)?.extensions ?? {};
}

function isDirective<T>(said: T): said is T & object {
  return typeof said === "object" && said !== null;
}

function phaseOf({ requirements }: PaymentContext): SettlePhase {
  return requirements.extra["paymentFlow"] === "upfront" ? "before-handler" : "after-handler";
}

/** What a hook threw, as it can stand in a log. */
function thrownIn(thrown: unknown): LogFields {
  const { error, message } = describeThrown(thrown);
  return { error, message };
}

/** Adds what the handler did, if its response was held. */
function withResponse(context: SettleContext, { response }: SettlingContext): SettleContext {
  const transport = context.transportContext as HTTPTransportContext | undefined;
  if (response !== undefined && transport !== undefined) {
    transport.responseHeaders = { ...response.headers };
    if (response.body !== undefined) transport.responseBody = Buffer.from(response.body);
  }
  return context;
}

/** What the handler has set. The response may not have gone out. */
function statusOf(request: PricedRequest | undefined): number | undefined {
  const { res } = (request?.native ?? {}) as { readonly res?: { readonly statusCode?: unknown } };
  return typeof res?.statusCode === "number" ? res.statusCode : undefined;
}

/**
 * The client writes the resource of its payment. `createSIWxSettleHook` of the reference would record another path than the one that was
 * requested.
 */
function withRequestedResource(context: SettleResultContext): SettleResultContext {
  const { request } = (context.transportContext ?? {}) as Partial<HTTPTransportContext>;
  const priced = pricedRequestOf(request?.adapter);
  const { resource } = context.paymentPayload;
  if (priced === undefined || resource === undefined) return context;
  const { path, url } = priced;
  if (URL.canParse(resource.url) && new URL(resource.url).pathname === path) return context;
  const own = new URL(url);
  own.pathname = path;
  // `/cheap/../expensive` would be recorded as `/expensive`.
  if (own.pathname !== path) own.pathname = encodeURIComponent(path);
  return { ...context, paymentPayload: { ...context.paymentPayload, resource: { ...resource, url: own.href } } };
}
