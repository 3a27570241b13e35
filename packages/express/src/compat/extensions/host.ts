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
import { toRequestContext } from "../translation/context.js";
import { type HooksContext, toNativeHooks, toRequestHook } from "../translation/hooks.js";
import type { Registrations } from "../translation/registrations.js";
import type {
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
  if ("compile" in foreign && typeof foreign.compile === "function") return foreign;
  const extension = foreign as ResourceServerExtension;
  return {
    key: extension.key,
    compile: (declaration, { route }) =>
      new HostedDeclaration(extension, declaration, { ...context, key: route.key }).compiled,
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
      hooks: this.#toHooks(),
      ...(isAskedAboutChallenges ? { challenge: (context) => this.#challenge(context) } : {}),
      ...(enrichSettlementResponse === undefined ? {} : { receipt: (payment) => this.#receipt(payment) }),
    };
  }

  async #receipt(payment: SettledContext): Promise<JsonObject | undefined> {
    const context = this.#toSettleResultContext(payment);
    const added = await this.#extension.enrichSettlementResponse?.(this.#declaration, context);
    return isJsonObject(added) ? added : undefined;
  }

  async #challenge(context: ChallengeContext): Promise<ExtensionDeclaration | undefined> {
    const { request, resource, offers, error } = context;
    const transportContext: HTTPTransportContext = { request: toRequestContext(request) };
    const { enrichDeclaration, enrichPaymentRequiredResponse } = this.#extension;
    const declared = enrichDeclaration?.call(this.#extension, this.#declaration, transportContext.request);
    const declaration = declared ?? this.#declaration;
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
    return toPlain(enriched ?? declaration);
  }

  #toSettleResultContext(payment: SettledContext): SettleResultContext {
    const { request, requirements, receipt, route } = payment;
    const context = {
      paymentPayload: payment.payload,
      requirements,
      declaredExtensions: this.#host.routeOf(route)?.extensions ?? {},
      phase: payment.response === undefined && request !== undefined ? "before-handler" : "after-handler",
      result: receipt,
      ...(request === undefined ? {} : { transportContext: toTransportContext(payment) }),
    };
    return withOwnResource(context as unknown as SettleResultContext);
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
              [(context, route) => about.call(transportHooks?.http, this.#declaration, context, route)],
              this.#host,
            ),
          }),
    };
  }

  /** The hooks of the extension, as if the seller had registered them with a server. */
  #toRegistrations(hooks: ResourceServerExtensionHooks): Registrations {
    const listed = Object.entries(LISTS).map(([name, list]) => {
      const hook = hooks[name as keyof ResourceServerExtensionHooks] as Hook | undefined;
      const call = (context: SettleResultContext) => hook?.call(hooks, this.#declaration, withOwnResource(context));
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
  onAfterSettle: ["onSettled"],
  onSettleFailure: ["afterSettle"],
  onVerifiedPaymentCanceled: ["onCancel", "onHandlerFailed"],
};

/** A declaration that can be sent: without the options that `declareSIWxExtension` leaves in it. */
function toPlain(declaration: unknown): ExtensionDeclaration | undefined {
  if (!isJsonObject(declaration)) return undefined;
  const { info, schema } = declaration;
  if (!isJsonObject(info) || !isJsonObject(schema)) return undefined;
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

/**
 * The client writes the resource of its payment, and might write another, which `sign-in-with-x` would record as paid. It gets the one
 * that was requested, by the path that `onProtectedRequest` gets, too.
 */
function withOwnResource<C extends { readonly paymentPayload: unknown; readonly transportContext?: unknown }>(
  context: C,
): C {
  const { request } = (context.transportContext ?? {}) as Partial<HTTPTransportContext>;
  if (request === undefined) return context;
  const { origin } = new URL(request.adapter.getUrl(), "http://localhost");
  const own = new URL(origin);
  own.pathname = request.path;
  // `/cheap/../expensive` would be recorded as `/expensive`.
  const resource = own.pathname === request.path ? { url: own.href } : undefined;
  const paymentPayload = { ...(context.paymentPayload as PaymentPayload), resource };
  return { ...context, paymentPayload };
}
