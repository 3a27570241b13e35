/**
 * `x402ResourceServer`: a record of what a seller registers. The middleware reads it, of ours or of the reference's class.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { FacilitatorCapabilityError, FacilitatorResponseError } from "./facilitator-client.js";
import type {
  AfterSettleHook,
  AfterVerifyHook,
  BeforeSettleHook,
  BeforeVerifyHook,
  FacilitatorClient,
  Network,
  OnSettleFailureHook,
  OnVerifiedPaymentCanceledHook,
  OnVerifyFailureHook,
  ResourceServerExtension,
  SchemeNetworkServer,
  SupportedKind,
  SupportedResponse,
} from "./types.js";

/** Schemes by network pattern and name. */
export type RegisteredSchemes = ReadonlyMap<string, ReadonlyMap<string, SchemeNetworkServer>>;

/** The hooks of a server, by the names of their lists. The lists are the server's own: what is added later counts. */
export interface RegisteredHooks {
  readonly beforeVerifyHooks: readonly BeforeVerifyHook[];
  readonly afterVerifyHooks: readonly AfterVerifyHook[];
  readonly onVerifyFailureHooks: readonly OnVerifyFailureHook[];
  readonly beforeSettleHooks: readonly BeforeSettleHook[];
  readonly afterSettleHooks: readonly AfterSettleHook[];
  readonly onSettleFailureHooks: readonly OnSettleFailureHook[];
  readonly onVerifiedPaymentCanceledHooks: readonly OnVerifiedPaymentCanceledHook[];
}

/** What a seller registered with a server. */
export interface Registrations extends RegisteredHooks {
  readonly facilitatorClients: readonly FacilitatorClient[];
  readonly registeredServerSchemes: RegisteredSchemes;
  readonly registeredExtensions: ReadonlyMap<string, ResourceServerExtension>;
}

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

  /** @throws ConfigError when there is no facilitator: none is asked that the seller did not name. */
  constructor(facilitatorClients?: FacilitatorClient | FacilitatorClient[]) {
    const clients = facilitatorClients === undefined ? [] : [facilitatorClients].flat();
    if (clients.length === 0) throw new ConfigError([NO_FACILITATOR]);
    this.facilitatorClients = clients;
  }

  /** Registers a scheme for a network or a pattern such as `eip155:*`. A later one of the same name and network replaces it. */
  register(network: Network, server: SchemeNetworkServer): this {
    const schemes = this.registeredServerSchemes.get(network) ?? new Map<string, SchemeNetworkServer>();
    this.registeredServerSchemes.set(network, schemes.set(server.scheme, server));
    return this;
  }

  registerExtension(extension: ResourceServerExtension): this {
    this.registeredExtensions.set(extension.key, extension);
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

const NO_FACILITATOR = {
  path: "x402ResourceServer.facilitatorClients",
  expected:
    'a facilitator, such as new HTTPFacilitatorClient({ url: "https://x402.org/facilitator" }): none is asked that you did not name',
  received: "nothing",
};

/** The exact network first, then patterns in the order of their registration; only the first that matches is looked into. */
export function findScheme(
  schemes: RegisteredSchemes,
  network: string,
  scheme: string,
): SchemeNetworkServer | undefined {
  const exact = schemes.get(network);
  if (exact !== undefined) return exact.get(scheme);
  for (const [pattern, registered] of schemes) {
    if (matchesPattern(pattern, network)) return registered.get(scheme);
  }
  return undefined;
}

/** Whether a pattern such as `eip155:*` has a network. */
export function matchesPattern(pattern: string, network: string): boolean {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === network;
  const before = pattern.slice(0, star);
  const after = pattern.slice(star + 1);
  return network.length >= before.length + after.length && network.startsWith(before) && network.endsWith(after);
}

const LISTS = Object.keys({
  beforeVerifyHooks: true,
  afterVerifyHooks: true,
  onVerifyFailureHooks: true,
  beforeSettleHooks: true,
  afterSettleHooks: true,
  onSettleFailureHooks: true,
  onVerifiedPaymentCanceledHooks: true,
} satisfies Record<keyof RegisteredHooks, true>);

/** 2.10 had none of these. */
const YOUNGER: readonly string[] = ["onVerifiedPaymentCanceledHooks"];

/**
 * Reads what a seller registered, by the names of the fields: the reference's classes have no methods for most of it. A field
 * that is missing is an issue. Without its hooks, a server would let requests through that they refuse.
 */
export function readResourceServer(server: unknown, path: string, issues: Issues): Registrations | undefined {
  if (typeof server !== "object" || server === null) {
    issues.add(path, "an x402ResourceServer", server);
    return undefined;
  }
  const given = server as Readonly<Record<string, unknown>>;
  const expected =
    "a field of x402ResourceServer of @x402/core 2.10 to 2.27; import the class from @farebox/express/compat";
  let isWhole = true;
  const missing = (name: string) => {
    isWhole = false;
    issues.addText(`${path}.${name}`, expected, "nothing of that kind");
  };
  const { registeredServerSchemes, registeredExtensions, facilitatorClients } = given;
  const lists: Record<string, readonly unknown[]> = {};
  for (const name of LISTS) {
    const list = given[name];
    if (Array.isArray(list)) lists[name] = list;
    else if (list === undefined && YOUNGER.includes(name)) lists[name] = [];
    else missing(name);
  }
  if (!Array.isArray(facilitatorClients)) missing("facilitatorClients");
  if (!isMap(registeredServerSchemes)) missing("registeredServerSchemes");
  if (!isMap(registeredExtensions)) missing("registeredExtensions");
  const read = { ...lists, facilitatorClients, registeredServerSchemes, registeredExtensions };
  return isWhole ? (read as unknown as Registrations) : undefined;
}

/** Also one of another realm. */
function isMap(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Map]";
}
