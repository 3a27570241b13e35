/**
 * `x402HTTPResourceServer`: a resource server, its routes, and the hooks about requests.
 *
 * @module
 */
import type { Issues } from "@farebox/core/issues";
import { type Registrations, readResourceServer, refuseOverrides } from "../translation/registrations.js";
import { entriesOf, optionsOf, RouteConfigurationError, validateRoutes } from "../translation/routes.js";
import type { PaywallProvider, ProtectedRequestHook, RoutesConfig, RouteValidationError } from "../types.js";
import type { x402ResourceServer } from "./resource-server.js";

/** Binds routes to a resource server. */
export class x402HTTPResourceServer {
  // The names are those of the reference's private fields: both classes are read in the same way.
  protected readonly ResourceServer: x402ResourceServer;
  protected readonly routesConfig: RoutesConfig;
  protected readonly protectedRequestHooks: ProtectedRequestHook[] = [];
  protected paywallProvider: PaywallProvider | undefined;

  /** @throws RouteConfigurationError when an option asks for what its scheme cannot do */
  constructor(server: x402ResourceServer, routes: RoutesConfig) {
    this.ResourceServer = server;
    this.routesConfig = routes;
    const errors = this.#validate({ withMissing: false });
    if (errors.length > 0) throw new RouteConfigurationError(errors);
  }

  get server(): x402ResourceServer {
    return this.ResourceServer;
  }

  get routes(): RoutesConfig {
    return this.routesConfig;
  }

  /** Adds a hook that is asked before anything else. The first decision counts. */
  onProtectedRequest(hook: ProtectedRequestHook): this {
    this.protectedRequestHooks.push(hook);
    return this;
  }

  /** Sets who writes the page for browsers. */
  registerPaywallProvider(provider: PaywallProvider): this {
    this.paywallProvider = provider;
    return this;
  }

  /**
   * Asks the facilitators what they support, and compares it with the routes. The middleware does so by itself.
   *
   * @throws RouteConfigurationError with every mistake at once
   */
  async initialize(): Promise<void> {
    await this.ResourceServer.initialize();
    const errors = [...this.#validate({ withMissing: true }), ...this.#findUnsupported()];
    if (errors.length > 0) throw new RouteConfigurationError(errors);
  }

  #validate(how: { readonly withMissing: boolean }): RouteValidationError[] {
    return validateRoutes(
      this.routesConfig,
      (network, scheme) => this.ResourceServer.getRegisteredScheme(network, scheme),
      how,
    );
  }

  #findUnsupported(): RouteValidationError[] {
    return entriesOf(this.routesConfig).flatMap(([routePattern, route]) =>
      optionsOf(route).flatMap(({ scheme, network }): RouteValidationError[] => {
        if (this.ResourceServer.getRegisteredScheme(network, scheme) === undefined) return [];
        if (this.ResourceServer.getSupportedKind(2, network, scheme) !== undefined) return [];
        const message = `Route "${routePattern}": Facilitator does not support scheme "${scheme}" on network "${network}"`;
        return [{ routePattern, scheme, network, reason: "missing_facilitator", message }];
      }),
    );
  }
}

/** What a seller bound to routes. */
export interface HTTPRegistrations {
  readonly server: Registrations;
  /** The resource server itself. */
  readonly owner: object;
  readonly routes: RoutesConfig;
  /** The list itself: a seller may add to it later. `undefined`: there is none. */
  readonly protectedRequestHooks: readonly ProtectedRequestHook[] | undefined;
  readonly paywallProvider: PaywallProvider | undefined;
}

/** Reads a server of ours or of the reference's class, as {@link readResourceServer} does. */
export function readHTTPResourceServer(
  httpServer: unknown,
  path: string,
  issues: Issues,
): HTTPRegistrations | undefined {
  if (typeof httpServer !== "object" || httpServer === null) {
    issues.add(path, "an x402HTTPResourceServer", httpServer);
    return undefined;
  }
  const { server, routes, protectedRequestHooks, paywallProvider } = httpServer as Partial<
    Record<"server" | "routes" | "protectedRequestHooks" | "paywallProvider", unknown>
  >;
  const registrations = readResourceServer(server, `${path}.server`, issues);
  refuseOverrides(httpServer, "onProtectedRequest", path, issues);
  const isList = Array.isArray(protectedRequestHooks);
  if (!isList) {
    const expected =
      "the hooks of an x402HTTPResourceServer of @x402/core 2.10 to 2.27; import the class from @farebox/compat";
    issues.addText(`${path}.protectedRequestHooks`, expected, "nothing of that kind");
  }
  if (registrations === undefined || !isList) return undefined;
  return {
    server: registrations,
    owner: server as object,
    routes: routes as RoutesConfig,
    protectedRequestHooks,
    paywallProvider: paywallProvider as PaywallProvider | undefined,
  };
}
