/**
 * The steps of a sale by hand, as `x402ResourceServer` has them: build requirements, verify, settle. Each goes through the engine: a
 * payment is verified once, in all processes, and what is not known about a settlement is found out.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type {
  Extension,
  PaymentPayload as NativePayload,
  PaymentRequirements as NativeRequirements,
} from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import { createPayments, type Payments } from "@farebox/express";
import { decimalsOf } from "../classes/default-prices.js";
import { FacilitatorResponseError } from "../classes/facilitator-client.js";
import type {
  HTTPAdapter,
  PaymentOption,
  PaymentPayload,
  PaymentRequirements,
  ResourceConfig,
  ResourceInfo,
  RouteConfig,
  SchemeNetworkServer,
  SettlementOverrides,
  SettleResponse,
  VerifyResponse,
} from "../types.js";
import { type EngineOptions, isComplete, readOptions, registeredSchemes } from "./engine-options.js";
import { FacilitatorCalls, type WatchedCall } from "./facilitator-calls.js";
import { type CallByHand, type HooksContext, toNativeHooks } from "./hooks.js";
import { createWarner } from "./notices.js";
import type { Registrations } from "./registrations.js";
import { RouteConfigurationError, translateRoutes, validateRoutes } from "./routes.js";

type RouteByHand = Parameters<Payments["byHand"]>[0];
type SaleByHand = ReturnType<Payments["byHand"]>;
type RefusalByHand = Extract<Awaited<ReturnType<SaleByHand["verify"]>>, { kind: "refused" }>;
type OptionsByHand = NonNullable<Parameters<SaleByHand["verify"]>[1]>;

/** What sales by hand need of the server. */
export interface SalesContext {
  schemeOf(network: PaymentRequirements["network"], scheme: string): SchemeNetworkServer | undefined;
  /** The registered extensions, for the engine. */
  hostExtensions(context: HooksContext): readonly Extension[];
}

/** Sells by hand what a server has registered. */
export class SalesByHand {
  readonly #server: Registrations;
  readonly #context: SalesContext;
  readonly #calls: FacilitatorCalls = new FacilitatorCalls();
  #payments: Payments | undefined;

  constructor(server: Registrations, context: SalesContext) {
    this.#server = server;
    this.#context = context;
  }

  /**
   * Builds the requirements of one offer.
   *
   * @throws RouteConfigurationError when no scheme is registered for it, ConfigError when its terms are invalid,
   *   FacilitatorResponseError when no facilitator supports it
   */
  async build(config: ResourceConfig): Promise<PaymentRequirements[]> {
    const { scheme, payTo, price, network, maxTimeoutSeconds, extra } = config;
    const given = Object.entries({ maxTimeoutSeconds, extra }).filter(([, value]) => value !== undefined);
    const route = { accepts: [{ scheme, payTo, price, network, ...Object.fromEntries(given) }] };
    const sale = await this.#sell(route);
    const { document } = await sale.challenge({ resource: UNNAMED });
    if (document === undefined || document.accepts.length === 0) {
      throw new FacilitatorResponseError(`Facilitator does not support ${scheme} on ${network}.`);
    }
    return document.accepts.map((offer) => toRequirements(offer as unknown as PaymentRequirements));
  }

  /** What extensions of the engine's own form add to a challenge, of those that are declared. */
  async challenge(
    requirements: readonly PaymentRequirements[],
    {
      resource,
      error,
      ...context
    }: CallByHand & { readonly resource: ResourceInfo; readonly error: string | undefined },
  ): Promise<Record<string, unknown>> {
    const { url, description, mimeType } = resource;
    const described = Object.entries({ description, mimeType }).filter(([, text]) => text !== undefined);
    const accepts = requirements.map(optionFor);
    const sale = await this.#sell({ ...Object.fromEntries(described), accepts, extensions: context.extensions ?? {} });
    const { request } = optionsFor(null, context);
    const options = { resource: url, ...(error === undefined ? {} : { error }), ...(request && { request }) };
    return (await sale.challenge(options)).document?.extensions ?? {};
  }

  /** Verifies a payment, and claims it: until it is settled, or expires, it is valid only once. */
  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    context: CallByHand,
  ): Promise<VerifyResponse> {
    const sale = await this.#sell(this.#routeFor(requirements, context));
    const call = this.#watch(payload, requirements);
    try {
      const verified = await calls.run(context, () => sale.verify(payload, optionsFor(payload, context)));
      if (verified.kind === "verified") return { isValid: true, payer: verified.payment.payer };
      if (verified.kind === "granted") return { isValid: true };
      if (verified.kind === "replay") return { isValid: false, invalidReason: "payment_already_settled" };
      const { response, reason, error } = verified;
      // Who gets a new challenge now pays a second time.
      if (response.status >= 500 || isOpen(verified)) throw toError(verified, call);
      return { isValid: false, invalidReason: reason ?? error };
    } finally {
      call.end();
    }
  }

  /**
   * Settles a payment: one that is verified, or one that can be.
   *
   * @throws FacilitatorResponseError when the money may have moved, or may yet: nobody may ask for another payment then
   */
  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    context: CallByHand & { readonly overrides: SettlementOverrides | undefined },
  ): Promise<SettleResponse> {
    const call = this.#watch(payload, requirements);
    try {
      const ended = await calls.run(context, () => this.#settle(payload, requirements, context));
      if ("success" in ended) return ended;
      const thrown = call.thrown();
      // Clients of the reference throw what a facilitator refuses with an error status.
      if (isOpen(ended) || isSettleError(thrown)) throw toError(ended, call);
      return (ended.receipt as SettleResponse | undefined) ?? toFailure(ended.reason ?? ended.error, requirements);
    } finally {
      call.end();
    }
  }

  async #settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    { overrides, ...context }: CallByHand & { readonly overrides: SettlementOverrides | undefined },
  ): Promise<SettleResponse | RefusalByHand> {
    const sale = await this.#sell(this.#routeFor(requirements, context));
    let payment = this.#find(payload, requirements);
    if (payment === undefined) {
      const verified = await sale.verify(payload, optionsFor(payload, context));
      if (verified.kind === "refused") return verified;
      if (verified.kind !== "verified") {
        const receipt = verified.kind === "replay" ? verified.receipt : undefined;
        return (receipt as SettleResponse | undefined) ?? toFailure("not_charged", requirements);
      }
      payment = verified.payment;
    }
    const settled = await payment.settle({ amount: overrides?.amount });
    if (settled.kind === "settled") return settled.receipt as unknown as SettleResponse;
    return settled.kind === "released" ? toFailure("not_charged", requirements) : settled;
  }

  /** Charges nothing for a verified payment: it can be sent again. */
  async release(payload: PaymentPayload, requirements: PaymentRequirements): Promise<void> {
    await this.#find(payload, requirements)?.release();
  }

  /** A facilitator gets the payload as its scheme has read it. */
  #watch(payload: PaymentPayload, requirements: PaymentRequirements): WatchedCall {
    const terms = requirements as unknown as NativeRequirements;
    return this.#calls.watch(this.#engine().engine.canonicalPayload(payload as unknown as NativePayload, terms));
  }

  #find(payload: PaymentPayload, requirements: PaymentRequirements) {
    const terms = requirements as unknown as NativeRequirements;
    return this.#payments?.engine.findByHand(payload as unknown as NativePayload, terms);
  }

  /** The terms as a route. The engine reads what is declared for an extension that it has, or in its own form. */
  #routeFor(requirements: PaymentRequirements, { extensions = {} }: CallByHand): RouteConfig {
    const { registeredExtensions } = this.#server;
    const declared = Object.entries(extensions).filter(
      ([key, one]) => registeredExtensions.has(key) || isComplete(one),
    );
    return { accepts: [optionFor(requirements)], extensions: Object.fromEntries(declared) };
  }

  async #sell(route: RouteConfig): Promise<SaleByHand> {
    const errors = validateRoutes({ [KEY]: route }, this.#context.schemeOf, { withMissing: true });
    if (errors.length > 0) throw new RouteConfigurationError(errors);
    const payments = this.#engine();
    await payments.engine.ready();
    const issues = createIssues();
    const schemes = this.#server.registeredServerSchemes;
    const unused = { paywall: undefined, paywallConfig: undefined, warn: () => {} };
    const context = { ...unused, schemes, decimalsOf, issues };
    const { table } = translateRoutes({ [KEY]: route }, context);
    issues.throwIfAny();
    return payments.engine.byHandFor(table[KEY] as RouteByHand);
  }

  /** Made once: it knows which payments are verified. */
  #engine(): Payments {
    if (this.#payments !== undefined) return this.#payments;
    const issues = createIssues();
    const server = { ...this.#server, facilitatorClients: this.#calls.clients(this.#server.facilitatorClients) };
    const options = readOptions(server, registeredSchemes(server), issues);
    issues.throwIfAny();
    const more: EngineOptions = this.#server.options ?? {};
    const context: HooksContext = {
      routeOf: () => undefined,
      callByHand: () => calls.getStore(),
      warn: createWarner(more.logger),
    };
    this.#payments = createPayments({
      ...options,
      facilitator: this.#calls.choices(options.facilitator),
      ...more,
      extensions: [...(more.extensions ?? []), ...this.#context.hostExtensions(context)],
      hooks: toNativeHooks(this.#server, context),
    });
    return this.#payments;
  }
}

/** The call that a hook belongs to. */
const calls = new AsyncLocalStorage<CallByHand>();

/** Whether an earlier or later attempt may move the money: the payment is in use, has no outcome, or could not be sent. */
function isOpen({ reason, response }: RefusalByHand): boolean {
  return response.status === 503 || reason === "payment_in_progress";
}

/** What a call rejects with: as the facilitator's client has thrown it, unless it says nothing about the money. */
function toError({ reason, error, response }: RefusalByHand, call: WatchedCall): unknown {
  const thrown = call.thrown();
  if (reason === "settlement_pending" || reason === "payment_in_progress") {
    const text = "the money may have moved; settle the same payment again, and ask for no other one";
    return new FacilitatorResponseError(`${reason}: ${text}`, { cause: thrown });
  }
  if (thrown !== undefined) return thrown;
  const after = response.headers["Retry-After"];
  const when = after === undefined ? "later" : `in ${after} seconds`;
  return new FacilitatorResponseError(`${error}: no facilitator could be asked; try the same payment again ${when}`);
}

function isSettleError(thrown: unknown): boolean {
  return thrown instanceof Error && "errorReason" in thrown && typeof thrown.errorReason === "string";
}

function toFailure(errorReason: string, { network }: PaymentRequirements): SettleResponse {
  return { success: false, errorReason, transaction: "", network };
}

const KEY = "/";

/** For requirements that are built before there is a request. */
const UNNAMED = "https://by-hand.invalid/";

/** The terms as a payment option. What a facilitator adds to an offer, it adds again. */
function optionFor(requirements: PaymentRequirements): PaymentOption {
  const { scheme, network, payTo, asset, amount, maxTimeoutSeconds } = requirements;
  const {
    name,
    version,
    feePayer: _payer,
    facilitatorAddress: _facilitator,
    quote: _quote,
    ...extra
  } = requirements.extra;
  const domain = typeof name === "string" && typeof version === "string" ? { name, version } : {};
  return { scheme, network, payTo, price: { asset, amount, extra: domain }, maxTimeoutSeconds, extra };
}

function toRequirements({ scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra }: PaymentRequirements) {
  return { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra };
}

/** Without a request, the payment is bound to the resource that the client names. */
function optionsFor(payload: PaymentPayload | null, { transport }: CallByHand): OptionsByHand {
  const adapter = transport?.request.adapter as (HTTPAdapter & { readonly req?: OptionsByHand["request"] }) | undefined;
  const request = adapter?.req;
  return {
    resource: adapter?.getUrl() ?? payload?.resource?.url ?? UNNAMED,
    ...(request === undefined ? {} : { request }),
  };
}
