/**
 * The middleware: what a seller registered, as options and a route table of the engine's.
 *
 * @module
 */
import type { PaymentHooks } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import type { NextFunction, Request, Response } from "express";
import { createPayments } from "../index.js";
import { findDifferences } from "./differences.js";
import { type EngineOptions, readOptions, usedSchemes } from "./engine-options.js";
import { hostExtensions } from "./extensions/host.js";
import { toNativeHooks, toRequestHook } from "./hooks.js";
import { type HTTPRegistrations, readHTTPResourceServer } from "./http-resource-server.js";
import { createWarner, tell } from "./notices.js";
import { findScheme, readResourceServer } from "./registrations.js";
import { x402ResourceServer } from "./resource-server.js";
import { RouteConfigurationError, translateRoutes, validateRoutes } from "./routes.js";
import type {
  FacilitatorClient,
  HTTPResourceServerLike,
  PaywallConfig,
  PaywallProvider,
  ResourceServerLike,
  RoutesConfig,
  SchemeRegistration,
} from "./types.js";

/** A middleware of Express. */
export type PaymentMiddleware = (req: Request, res: Response, next: NextFunction) => Promise<void>;

/**
 * Prices the routes of a table, as `paymentMiddleware` of `@x402/express` does.
 *
 * @param syncFacilitatorOnStart - Without effect: facilitators are asked at start, and a request waits for them only if it needs them.
 * @param options - More options of `createPayments`, such as a store.
 * @throws ConfigError with every issue at once, RouteConfigurationError when a scheme is missing
 */
export function paymentMiddleware(
  routes: RoutesConfig,
  server: ResourceServerLike,
  paywallConfig?: PaywallConfig,
  paywall?: PaywallProvider,
  syncFacilitatorOnStart?: boolean,
  options?: EngineOptions,
): PaymentMiddleware {
  void syncFacilitatorOnStart;
  const issues = createIssues();
  const registrations = readResourceServer(server, "server", issues);
  issues.throwIfAny();
  if (registrations === undefined) throw new TypeError("server could not be read");
  const plan = { server: registrations, owner: server, routes, protectedRequestHooks: [], paywallProvider: undefined };
  return createMiddleware(plan, { paywallConfig, paywall, options });
}

/** As {@link paymentMiddleware}, from a server with hooks about requests. */
export function paymentMiddlewareFromHTTPServer(
  httpServer: HTTPResourceServerLike,
  paywallConfig?: PaywallConfig,
  paywall?: PaywallProvider,
  syncFacilitatorOnStart?: boolean,
  options?: EngineOptions,
): PaymentMiddleware {
  void syncFacilitatorOnStart;
  const issues = createIssues();
  const plan = readHTTPResourceServer(httpServer, "httpServer", issues);
  issues.throwIfAny();
  if (plan === undefined) throw new TypeError("httpServer could not be read");
  return createMiddleware(plan, { paywallConfig, paywall, options });
}

/** As {@link paymentMiddleware}, without a server. */
export function paymentMiddlewareFromConfig(
  routes: RoutesConfig,
  facilitatorClients?: FacilitatorClient | FacilitatorClient[],
  schemes: SchemeRegistration[] = [],
  paywallConfig?: PaywallConfig,
  paywall?: PaywallProvider,
  syncFacilitatorOnStart?: boolean,
  options?: EngineOptions,
): PaymentMiddleware {
  const server = new x402ResourceServer(facilitatorClients);
  for (const { network, server: scheme } of schemes) server.register(network, scheme);
  return paymentMiddleware(routes, server, paywallConfig, paywall, syncFacilitatorOnStart, options);
}

interface MiddlewareOptions {
  readonly paywallConfig: PaywallConfig | undefined;
  readonly paywall: PaywallProvider | undefined;
  readonly options: EngineOptions | undefined;
}

function createMiddleware(plan: HTTPRegistrations, more: MiddlewareOptions): PaymentMiddleware {
  const { server, routes, protectedRequestHooks, paywallProvider } = plan;
  const { paywallConfig, paywall = paywallProvider } = more;
  const options = { ...server.options, ...more.options };
  const { logger } = options;
  const schemes = server.registeredServerSchemes;
  const errors = validateRoutes(routes, (network, scheme) => findScheme(schemes, network, scheme), {
    withMissing: true,
  });
  if (errors.length > 0) throw new RouteConfigurationError(errors);
  const issues = createIssues();
  const { table, originals, notices } = translateRoutes(routes, { schemes, paywall, paywallConfig, issues });
  const routeOf = (key: string) => originals.get(key);
  const warn = createWarner(logger);
  const hooks: PaymentHooks = {
    ...toNativeHooks(server, { routeOf, warn }),
    ...(protectedRequestHooks.length === 0 ? {} : { onRequest: toRequestHook(protectedRequestHooks, { routeOf }) }),
  };
  const registered = hostExtensions(server.registeredExtensions.values(), { routeOf, warn });
  const extensions = [...(options.extensions ?? []), ...registered];
  const read = readOptions(server, usedSchemes(server, routes), issues);
  issues.throwIfAny();
  // Handlers of the reference find it where clients have put it.
  const payments = createPayments({ ...read, keepPaymentHeader: true, ...options, extensions, hooks });
  const handler = payments.routes(table);
  tell([...findDifferences(plan), ...notices], logger);
  return handler as PaymentMiddleware;
}
