/**
 * `x402ResourceServer`: a record of what a seller registers, and the steps of a sale by hand.
 *
 * @module
 */
import { ConfigError, type Extension } from "@farebox/core";
import { hostExtensions } from "../extensions/host.js";
import { SalesByHand } from "../translation/by-hand.js";
import type { EngineOptions } from "../translation/engine-options.js";
import { engineOptions, findScheme, matchesPattern, registrationsOf } from "../translation/registrations.js";
import type {
  AfterSettleHook,
  AfterVerifyHook,
  BeforeSettleHook,
  BeforeVerifyHook,
  FacilitatorClient,
  HTTPTransportContext,
  Network,
  OnSettleFailureHook,
  OnVerifiedPaymentCanceledHook,
  OnVerifyFailureHook,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  Price,
  ResourceConfig,
  ResourceInfo,
  ResourceServerExtension,
  SchemeNetworkServer,
  SettlementOverrides,
  SettleResponse,
  SupportedKind,
  SupportedResponse,
  VerifyResponse,
} from "../types.js";
import { FacilitatorCapabilityError, FacilitatorResponseError } from "./facilitator-client.js";

/** Registers facilitators, schemes, extensions and hooks. */
export class x402ResourceServer {
  // The names are those of the reference's private fields: both classes are read in the same way.
  protected readonly facilitatorClients: FacilitatorClient[];
  protected readonly registeredServerSchemes: Map<string, Map<string, SchemeNetworkServer>> = new Map();
  protected readonly registeredExtensions: Map<string, ResourceServerExtension> = new Map();
  protected readonly beforeVerifyHooks: BeforeVerifyHook[] = [];
  protected readonly afterVerifyHooks: AfterVerifyHook[] = [];
  protected readonly onVerifyFailureHooks: OnVerifyFailureHook[] = [];
  protected readonly beforeSettleHooks: BeforeSettleHook[] = [];
  protected readonly afterSettleHooks: AfterSettleHook[] = [];
  protected readonly onSettleFailureHooks: OnSettleFailureHook[] = [];
  protected readonly onVerifiedPaymentCanceledHooks: OnVerifiedPaymentCanceledHook[] = [];
  #supported: readonly SupportedResponse[] = [];
  #sales: SalesByHand | undefined;

  /**
   * @param options - More options of `createPayments`, such as a store, for every middleware of this server.
   * @throws ConfigError when there is no facilitator: none is asked that the seller did not name.
   */
  constructor(facilitatorClients?: FacilitatorClient | FacilitatorClient[], options: EngineOptions = {}) {
    const clients = facilitatorClients === undefined ? [] : [facilitatorClients].flat();
    if (clients.length === 0) throw new ConfigError([NO_FACILITATOR]);
    this.facilitatorClients = clients;
    engineOptions.set(this, options);
  }

  /** Registers a scheme for a network or a pattern such as `eip155:*`. A later one of the same name and network replaces it. */
  register(network: Network, server: SchemeNetworkServer): this {
    const schemes = this.registeredServerSchemes.get(network) ?? new Map<string, SchemeNetworkServer>();
    this.registeredServerSchemes.set(network, schemes.set(server.scheme, server));
    return this;
  }

  /** Registers an extension, in the reference's shape or in the engine's. A later one of the same key replaces it. */
  registerExtension(extension: ResourceServerExtension | Extension): this {
    this.registeredExtensions.set(extension.key, extension as ResourceServerExtension);
    return this;
  }

  hasExtension(key: string): boolean {
    return this.registeredExtensions.has(key);
  }

  getExtensions(): ResourceServerExtension[] {
    return [...this.registeredExtensions.values()];
  }

  hasRegisteredScheme(network: Network, scheme: string): boolean {
    return this.getRegisteredScheme(network, scheme) !== undefined;
  }

  getRegisteredScheme(network: Network, scheme: string): SchemeNetworkServer | undefined {
    return findScheme(this.registeredServerSchemes, network, scheme);
  }

  onBeforeVerify(hook: BeforeVerifyHook): this {
    this.beforeVerifyHooks.push(hook);
    return this;
  }

  onAfterVerify(hook: AfterVerifyHook): this {
    this.afterVerifyHooks.push(hook);
    return this;
  }

  onVerifyFailure(hook: OnVerifyFailureHook): this {
    this.onVerifyFailureHooks.push(hook);
    return this;
  }

  onBeforeSettle(hook: BeforeSettleHook): this {
    this.beforeSettleHooks.push(hook);
    return this;
  }

  onAfterSettle(hook: AfterSettleHook): this {
    this.afterSettleHooks.push(hook);
    return this;
  }

  onSettleFailure(hook: OnSettleFailureHook): this {
    this.onSettleFailureHooks.push(hook);
    return this;
  }

  onVerifiedPaymentCanceled(hook: OnVerifiedPaymentCanceledHook): this {
    this.onVerifiedPaymentCanceledHooks.push(hook);
    return this;
  }

  /**
   * Asks every facilitator what it supports. The middleware does so by itself: call it only to wait for it, or before the methods
   * that work by hand.
   *
   * @throws FacilitatorResponseError when no facilitator supports anything, and FacilitatorCapabilityError when one lacks what a scheme needs
   */
  async initialize(): Promise<void> {
    const outcomes = await Promise.allSettled(this.facilitatorClients.map((client) => client.getSupported()));
    const supported = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    if (!supported.some(({ kinds }) => kinds.length > 0)) {
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      throw new FacilitatorResponseError(
        "Failed to initialize: no supported payment kinds loaded from any facilitator.",
        {
          cause: failed?.reason,
        },
      );
    }
    this.#supported = supported;
    const problems = this.#findProblems();
    if (problems.length > 0) throw new FacilitatorCapabilityError(problems);
  }

  /** Builds the requirements of one offer. */
  async buildPaymentRequirements(config: ResourceConfig): Promise<PaymentRequirements[]> {
    return this.#byHand().build(config);
  }

  /** Builds the requirements of several offers. Functions among their prices and recipients get the context. */
  async buildPaymentRequirementsFromOptions<C>(
    options: readonly OptionFor<C>[],
    context: C,
  ): Promise<PaymentRequirements[]> {
    const built = options.map(async ({ price, payTo, ...terms }) =>
      this.buildPaymentRequirements({
        ...terms,
        price: typeof price === "function" ? await price(context) : price,
        payTo: typeof payTo === "function" ? await payTo(context) : payTo,
      }),
    );
    return (await Promise.all(built)).flat();
  }

  /** Writes a challenge. Extensions that the seller registered add to it what they declare. */
  async createPaymentRequiredResponse(
    requirements: PaymentRequirements[],
    resourceInfo: ResourceInfo,
    error?: string,
    extensions?: Record<string, unknown>,
    transportContext?: unknown,
  ): Promise<PaymentRequired> {
    const accepts = structuredClone(requirements);
    const because = error === undefined ? {} : { error };
    const response: PaymentRequired = { x402Version: 2, ...because, resource: resourceInfo, accepts };
    const declared = Object.entries(extensions ?? {});
    const native = declared.filter(([key]) => "compile" in (this.registeredExtensions.get(key) ?? {}));
    const transport = transportContext as HTTPTransportContext | undefined;
    const challenge = { extensions: Object.fromEntries(native), transport, resource: resourceInfo, error };
    const said = native.length === 0 ? {} : await this.#byHand().challenge(requirements, challenge);
    for (const [key, declaration] of declared) {
      const enrich = this.registeredExtensions.get(key)?.enrichPaymentRequiredResponse;
      const context = {
        requirements: accepts,
        resourceInfo,
        ...because,
        paymentRequiredResponse: response,
        transportContext,
      };
      const isNative = native.some(([name]) => name === key);
      const data = isNative ? said[key] : ((await enrich?.(declaration, context)) ?? declaration);
      if (data !== undefined) response.extensions = { ...response.extensions, [key]: data };
    }
    return response;
  }

  /**
   * Verifies a payment through the engine, and claims it: it is valid once, until it is settled or expires. Hooks are asked.
   *
   * @throws FacilitatorResponseError when no facilitator could be asked, and with `payment_in_progress` while another request has the
   *   payment: its client must not be asked for another one
   */
  async verifyPayment(
    paymentPayload: PaymentPayload,
    requirements: PaymentRequirements,
    declaredExtensions?: Record<string, unknown>,
    transportContext?: unknown,
  ): Promise<VerifyResponse> {
    const transport = transportContext as HTTPTransportContext | undefined;
    return this.#byHand().verify(paymentPayload, requirements, { extensions: declaredExtensions, transport });
  }

  /**
   * Settles a payment through the engine, once. Resolves to a failure if nothing was charged.
   *
   * @throws FacilitatorResponseError with `settlement_pending` or `payment_in_progress` when the money may have moved: the same
   *   payment can be settled again, and its client must not be asked for another one
   */
  async settlePayment(
    paymentPayload: PaymentPayload,
    requirements: PaymentRequirements,
    declaredExtensions?: Record<string, unknown>,
    transportContext?: unknown,
    settlementOverrides?: SettlementOverrides,
  ): Promise<SettleResponse> {
    const transport = transportContext as HTTPTransportContext | undefined;
    const context = { extensions: declaredExtensions, transport, overrides: settlementOverrides };
    return this.#byHand().settle(paymentPayload, requirements, context);
  }

  /** For a verified payment that is not settled: `cancel` lets its client send it again. Nothing is charged. */
  createPaymentCancellationDispatcher(
    paymentPayload: PaymentPayload,
    requirements: PaymentRequirements,
  ): { cancel(options?: unknown): Promise<void> } {
    return { cancel: () => this.#byHand().release(paymentPayload, requirements) };
  }

  /** Finds the requirements that a client accepted. */
  findMatchingRequirements(
    availableRequirements: PaymentRequirements[],
    { accepted }: PaymentPayload,
  ): PaymentRequirements | undefined {
    return availableRequirements.find((offer) => FIELDS.every((field) => offer[field] === accepted?.[field]));
  }

  #byHand(): SalesByHand {
    this.#sales ??= new SalesByHand(registrationsOf(this), {
      schemeOf: (network, scheme) => this.getRegisteredScheme(network, scheme),
      hostExtensions: (context) => hostExtensions(this.registeredExtensions.values(), context),
    });
    return this.#sales;
  }

  /** What a facilitator supports, as `initialize` has read it. The earlier facilitator wins. */
  getSupportedKind(x402Version: number, network: Network, scheme: string): SupportedKind | undefined {
    return this.#findKind(x402Version, network, scheme)?.kind;
  }

  /** The extensions of the facilitator that supports a scheme on a network. */
  getFacilitatorExtensions(x402Version: number, network: Network, scheme: string): string[] {
    return this.#findKind(x402Version, network, scheme)?.extensions ?? [];
  }

  #findKind(
    x402Version: number,
    network: Network,
    scheme: string,
  ): { readonly kind: SupportedKind; readonly extensions: string[] } | undefined {
    for (const { kinds, extensions } of this.#supported) {
      const kind = kinds.find(
        (each) => each.x402Version === x402Version && each.scheme === scheme && matchesPattern(each.network, network),
      );
      if (kind !== undefined) return { kind, extensions: extensions ?? [] };
    }
    return undefined;
  }

  #findProblems(): string[] {
    return [...this.registeredServerSchemes].flatMap(([network, schemes]) =>
      [...schemes.values()].flatMap((server) => {
        const found = this.#findKind(2, network as Network, server.scheme);
        if (found === undefined) return [];
        const problem = server.validateFacilitatorSupport?.(network as Network, found.kind, found.extensions);
        return typeof problem === "string" && problem !== "" ? [`${server.scheme} on ${network}: ${problem}`] : [];
      }),
    );
  }
}

/** A payment option, for {@link x402ResourceServer.buildPaymentRequirementsFromOptions}. */
export interface OptionFor<C> extends Omit<ResourceConfig, "price" | "payTo"> {
  price: Price | ((context: C) => Price | Promise<Price>);
  payTo: string | ((context: C) => string | Promise<string>);
}

const FIELDS = ["scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds"] as const;

const NO_FACILITATOR = {
  path: "x402ResourceServer.facilitatorClients",
  expected:
    'a facilitator, such as new HTTPFacilitatorClient({ url: "https://x402.org/facilitator" }): none is asked that you did not name',
  received: "nothing",
};
