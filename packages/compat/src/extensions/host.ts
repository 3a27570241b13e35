/**
 * Extensions of the reference's shape, as extensions of the engine: `sign-in-with-x` of `@x402/extensions`, AgentKit, one of the seller's.
 *
 * An extension of the engine's own shape is taken as it is. `bazaar`, `payment-identifier` and gas sponsoring are the engine's: what is
 * registered under their keys is left out, and what is declared under them is read by the engine.
 *
 * @module
 */
import type {
  ChallengeContext,
  CompiledDeclaration,
  DeclarationContext,
  Extension,
  ExtensionDeclaration,
  JsonObject,
  PaymentHooks,
  SettledContext,
} from "@farebox/core";
import { isJsonObject, PAYMENT_IDENTIFIER } from "@farebox/core/protocol";
import { SIGN_IN_WITH_X, type SIWxExtension } from "@farebox/extensions";
import { isPaidInFull, resourceOfGet, toBought, whyUnbound } from "@farebox/extensions/internal";
import { toRequestContext } from "../translation/context.js";
import { declaredFor, type HooksContext, toNativeHooks, toRequestHook } from "../translation/hooks.js";
import { pricedRequestOf } from "../translation/priced-request.js";
import type { Registrations } from "../translation/registrations.js";
import { optionsOf } from "../translation/routes.js";
import type {
  HTTPRequestContext,
  HTTPTransportContext,
  PaymentPayload,
  PaymentRequired,
  PaymentRequiredContext,
  ResourceServerExtension,
  ResourceServerExtensionHooks,
  SettleResultContext,
} from "../types.js";
import { gasSponsoringExtensions } from "./gas-sponsoring.js";

const BUILT_IN: readonly string[] = ["bazaar", PAYMENT_IDENTIFIER];

/** All extensions that a seller registered, for the engine. */
export function hostExtensions(
  registered: Iterable<ResourceServerExtension | Extension>,
  context: HooksContext,
): readonly Extension[] {
  const sponsoring = gasSponsoringExtensions();
  const own = [...BUILT_IN, ...sponsoring.map(({ key }) => key)];
  const hosted = [...registered].filter(({ key }) => !own.includes(key));
  return [...hosted.map((extension) => hostExtension(extension, context)), ...sponsoring];
}

/** One extension, for the engine. */
function hostExtension(foreign: ResourceServerExtension | Extension, context: HooksContext): Extension {
  const { key } = foreign;
  const hosted =
    "compile" in foreign && typeof foreign.compile === "function"
      ? foreign
      : hostForeign(foreign as ResourceServerExtension, context);
  return key === SIGN_IN_WITH_X ? bindSignIn(hosted, context) : hosted;
}

function hostForeign(extension: ResourceServerExtension, context: HooksContext): Extension {
  return {
    key: extension.key,
    compile: (declaration, { route }) =>
      new HostedDeclaration(extension, declaration, { ...context, key: route.key }).compiled,
  };
}

/**
 * `sign-in-with-x` of either library, on routes whose purchases a path does not tell apart: nobody can sign in there. The route is sold
 * all the same.
 */
function bindSignIn(extension: Extension | SIWxExtension, { warn }: HooksContext): Extension {
  const isNamed = "resourceOf" in extension && extension.resourceOf !== undefined;
  return {
    key: extension.key,
    compile(declaration, context) {
      const unbound = isNamed ? undefined : whyUnbound(context);
      if (unbound === undefined) return extension.compile(declaration, context);
      const message = `sign-in-with-x: nobody signs in at a route with ${unbound}, which a path says too little about. See the option resourceOf`;
      warn("FAREBOX_COMPAT", { message, route: context.route.key });
      return { at: () => undefined, notices: [] };
    },
  };
}

/** What a declaration needs of its route. */
interface DeclarationHost extends HooksContext {
  readonly key: DeclarationContext["route"]["key"];
}

class HostedDeclaration {
  readonly #extension: ResourceServerExtension;
  /** As the seller wrote it. */
  readonly #declaration: unknown;
  /** What facilitators and documents get. */
  readonly #plain: ExtensionDeclaration | undefined;
  readonly #host: DeclarationHost;
  /** By the framework's request. */
  readonly #enriched = new WeakMap<object, unknown>();

  constructor(extension: ResourceServerExtension, declaration: unknown, host: DeclarationHost) {
    this.#extension = extension;
    // The copy that the engine made has no functions, which an extension may expect.
    this.#declaration = host.routeOf(host.key)?.extensions?.[extension.key] ?? declaration;
    this.#plain = toPlain(declaration);
    this.#host = host;
  }

  get compiled(): CompiledDeclaration {
    const { enrichDeclaration, enrichPaymentRequiredResponse, enrichSettlementResponse } = this.#extension;
    const isAskedAboutChallenges = enrichDeclaration !== undefined || enrichPaymentRequiredResponse !== undefined;
    return {
      at: () => this.#plain,
      notices: [],
      dynamicFields: this.#extension.dynamicInfoFields ?? [],
      isFreeForm: true,
      hooks: this.#toHooks(),
      ...(isAskedAboutChallenges ? { challenge: (context) => this.#challenge(context) } : {}),
      ...(enrichSettlementResponse === undefined ? {} : { receipt: (payment) => this.#receipt(payment) }),
    };
  }

  async #receipt(payment: SettledContext): Promise<JsonObject | undefined> {
    const context = this.#toSettleResultContext(payment);
    const added = await this.#extension.enrichSettlementResponse?.(this.#declarationFor(context), context);
    return isJsonObject(added) ? added : undefined;
  }

  async #challenge(context: ChallengeContext): Promise<ExtensionDeclaration | undefined> {
    const { request, resource, offers, error } = context;
    const transportContext: HTTPTransportContext = { request: toRequestContext(request) };
    const { enrichPaymentRequiredResponse } = this.#extension;
    const declaration = this.#enrich(transportContext.request);
    const requirements = frozenCopy(offers) as unknown as PaymentRequiredContext["requirements"];
    const resourceInfo = { ...resource } as PaymentRequiredContext["resourceInfo"];
    const extensions = { [this.#extension.key]: declaration };
    // An offer that an extension changes would not be the one that the engine sells. It is frozen, so that the change throws.
    const paymentRequiredResponse: PaymentRequired = {
      ...{ x402Version: 2, error, resource: resourceInfo, accepts: requirements, extensions },
    };
    const enriched = await enrichPaymentRequiredResponse?.call(this.#extension, declaration, {
      ...{ requirements, resourceInfo, error, paymentRequiredResponse, transportContext },
    });
    const said = enriched ?? declaration;
    // The engine logs what cannot be sent.
    return toPlain(said) ?? (said as ExtensionDeclaration);
  }

  /** The declaration that hooks about payments get. Those about requests get it as the seller wrote it. */
  #declarationFor({ transportContext }: { readonly transportContext?: unknown }): unknown {
    const { request } = (transportContext ?? {}) as Partial<HTTPTransportContext>;
    try {
      return request === undefined ? this.#declaration : this.#enrich(request);
    } catch {
      // The challenge had the same error, and the log has it.
      return this.#declaration;
    }
  }

  /** As in the reference, once for each request. */
  #enrich(request: HTTPRequestContext): unknown {
    const { req } = request.adapter as { readonly req?: unknown };
    const key = typeof req === "object" && req !== null ? req : request;
    if (!this.#enriched.has(key)) {
      const enriched = this.#extension.enrichDeclaration?.(this.#declaration, request);
      this.#enriched.set(key, enriched ?? this.#declaration);
    }
    return this.#enriched.get(key);
  }

  get #isSignIn(): boolean {
    return this.#extension.key === SIGN_IN_WITH_X;
  }

  #toSettleResultContext(payment: SettledContext): SettleResultContext {
    const { request, requirements, receipt } = payment;
    const context = {
      paymentPayload: payment.payload,
      requirements,
      declaredExtensions: declaredFor(payment, this.#host),
      phase: payment.response === undefined && request !== undefined ? "before-handler" : "after-handler",
      result: receipt,
      ...(request === undefined ? {} : { transportContext: toTransportContext(payment) }),
    };
    return withOwnResource(context as unknown as SettleResultContext, { isSignIn: this.#isSignIn });
  }

  #toHooks(): PaymentHooks {
    const { hooks = {}, transportHooks } = this.#extension;
    const about = transportHooks?.http?.onProtectedRequest;
    const native = toNativeHooks(this.#toRegistrations(hooks), this.#host);
    const wanted = new Set(
      Object.keys(hooks).flatMap((name) => NATIVE[name as keyof ResourceServerExtensionHooks] ?? []),
    );
    return {
      ...Object.fromEntries(Object.entries(native).filter(([name]) => wanted.has(name as keyof PaymentHooks))),
      ...(about === undefined
        ? {}
        : {
            onRequest: toRequestHook(
              [
                async (context, route) => {
                  const path = this.#isSignIn && optionsOf(route).length > 0 ? purchaseOf(context) : context.path;
                  if (path === undefined) return undefined;
                  return about.call(transportHooks?.http, this.#declaration, { ...context, path }, route);
                },
              ],
              this.#host,
            ),
          }),
    };
  }

  /** The hooks of the extension, as if the seller had registered them with a server. */
  #toRegistrations(hooks: ResourceServerExtensionHooks): Registrations {
    const listed = Object.entries(LISTS).map(([name, list]) => {
      const hook = hooks[name as keyof ResourceServerExtensionHooks] as Hook | undefined;
      const call = (context: SettleResultContext) => {
        const isPart = list === "afterSettleHooks" && this.#isSignIn && !isPaidInFull(toCharged(context));
        return isPart
          ? undefined
          : hook?.call(hooks, this.#declarationFor(context), withOwnResource(context, { isSignIn: this.#isSignIn }));
      };
      return [list, hook === undefined ? [] : [call]];
    });
    const none = { facilitatorClients: [], registeredServerSchemes: new Map(), registeredExtensions: new Map() };
    return { ...none, ...Object.fromEntries(listed) } as Registrations;
  }
}

type Hook = (declaration: unknown, context: unknown) => unknown;

/** The lists of a server's hooks, by the names of an extension's. */
const LISTS = {
  onBeforeVerify: "beforeVerifyHooks",
  onAfterVerify: "afterVerifyHooks",
  onVerifyFailure: "onVerifyFailureHooks",
  onBeforeSettle: "beforeSettleHooks",
  onAfterSettle: "afterSettleHooks",
  onSettleFailure: "onSettleFailureHooks",
  onVerifiedPaymentCanceled: "onVerifiedPaymentCanceledHooks",
} as const satisfies Record<keyof ResourceServerExtensionHooks, keyof Registrations>;

/** The engine's hooks that call an extension's. */
const NATIVE: Readonly<Record<keyof ResourceServerExtensionHooks, readonly (keyof PaymentHooks)[]>> = {
  onBeforeVerify: ["beforeVerify"],
  onAfterVerify: ["afterVerify", "onVerifyFailed"],
  onVerifyFailure: ["onVerifyFailed"],
  onBeforeSettle: ["beforeSettle"],
  onAfterSettle: ["onPaid"],
  onSettleFailure: ["afterSettle"],
  onVerifiedPaymentCanceled: ["onCancel", "onHandlerFailed"],
};

/** A declaration that can be sent: without the options that `declareSIWxExtension` leaves in it. */
function toPlain(declaration: unknown): ExtensionDeclaration | undefined {
  if (!isJsonObject(declaration)) return undefined;
  const sent = Object.entries(declaration).filter(([name]) => !name.startsWith("_"));
  return Object.fromEntries(sent) as unknown as ExtensionDeclaration;
}

function frozenCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map(frozenCopy)
    : Object.fromEntries(Object.entries(value).map(([name, field]) => [name, frozenCopy(field)]));
  return Object.freeze(copy) as T;
}

function toTransportContext({ request, response }: SettledContext): HTTPTransportContext | undefined {
  if (request === undefined) return undefined;
  const { headers, body } = response ?? {};
  return {
    request: toRequestContext(request),
    ...(headers === undefined ? {} : { responseHeaders: { ...headers } }),
    ...(body === undefined ? {} : { responseBody: Buffer.from(body) }),
  };
}

function toCharged({ requirements, paymentPayload }: SettleResultContext): Parameters<typeof isPaidInFull>[0] {
  return { requirements, payload: paymentPayload };
}

/** The path by which `sign-in-with-x` of the reference knows a purchase. `undefined`: a path does not tell. */
function purchaseOf({ adapter }: HTTPRequestContext): string | undefined {
  const request = pricedRequestOf(adapter);
  if (request === undefined || resourceOfGet(toBought(request)) === undefined) return undefined;
  const { path, search } = request;
  // A path that looks like one with a query is another resource.
  return /%3f/i.test(path) ? undefined : path + encodeURIComponent(search);
}

/**
 * The client writes the resource of its payment, and might write another. An extension gets the one that was requested, by the path
 * that `onProtectedRequest` gets, too.
 */
function withOwnResource<C extends { readonly paymentPayload: unknown; readonly transportContext?: unknown }>(
  context: C,
  { isSignIn }: { readonly isSignIn: boolean },
): C {
  const { request } = (context.transportContext ?? {}) as Partial<HTTPTransportContext>;
  if (request === undefined && !isSignIn) return context;
  const path = isSignIn ? request && purchaseOf(request) : request?.path;
  const paymentPayload = {
    ...(context.paymentPayload as PaymentPayload),
    resource: request && resourceAt(path, request),
  };
  return { ...context, paymentPayload };
}

/** `undefined` for `/cheap/../expensive`, which would be recorded as `/expensive`. */
function resourceAt(path: string | undefined, { adapter }: HTTPRequestContext): { readonly url: string } | undefined {
  if (path === undefined) return undefined;
  const { origin } = new URL(adapter.getUrl(), "http://localhost");
  const own = new URL(origin);
  own.pathname = path;
  return own.pathname === path ? { url: own.href } : undefined;
}
