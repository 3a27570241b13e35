/**
 * The middleware: what a seller registered, as options and a route table of the engine's.
 *
 * @module
 */
import type { PaymentHooks } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";
import { createPayments, type Payments, setSettlementOverrides as setNativeOverrides } from "@farebox/express";
import type { NextFunction, Request, Response } from "express";
import { decimalsOf } from "./classes/default-prices.js";
import { type HTTPRegistrations, readHTTPResourceServer } from "./classes/http-resource-server.js";
import { x402ResourceServer } from "./classes/resource-server.js";
import { isStock, moneyParsersOf } from "./classes/schemes.js";
import { hostExtensions } from "./extensions/host.js";
import { findDifferences } from "./translation/differences.js";
import { type EngineOptions, passExtensions, readOptions, usedSchemes } from "./translation/engine-options.js";
import { type HooksContext, toNativeHooks, toRequestHook } from "./translation/hooks.js";
import { createWarner, tell } from "./translation/notices.js";
import { findScheme, readResourceServer } from "./translation/registrations.js";
import { noteEngine, RepeatedTables, repeatedServer } from "./translation/repeated.js";
import { RouteConfigurationError, translateRoutes, validateRoutes } from "./translation/routes.js";
import type {
  FacilitatorClient,
  HTTPResourceServerLike,
  Network,
  PaywallConfig,
  PaywallProvider,
  ResourceServerLike,
  RouteConfig,
  RoutesConfig,
  RouteValidationError,
  SchemeRegistration,
  SettlementOverrides,
} from "./types.js";

/** A middleware of Express. */
export type PaymentMiddleware = (req: Request, res: Response, next: NextFunction) => Promise<void>;

/**
 * Prices the routes of a table, as `paymentMiddleware` of `@x402/express` does.
 *
 * @param syncFacilitatorOnStart - Without effect: facilitators are asked at start, and a request waits for them only if it needs them.
 * @param options - More options of `createPayments`, such as a store.
 * @throws ConfigError with every issue at once, RouteConfigurationError when a scheme cannot do what an option asks for
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
  const plan = {
    server: readWhole((issues) => readResourceServer(server, "server", issues)),
    owner: server,
    routes,
    protectedRequestHooks: undefined,
    paywallProvider: undefined,
  };
  return createMiddleware(plan, { paywallConfig, paywall, options });
}

/** Reads what a seller registered, or throws every issue at once. */
function readWhole<T>(read: (issues: Issues) => T | undefined): T {
  const issues = createIssues();
  const whole = read(issues);
  issues.throwIfAny();
  if (whole === undefined) throw new TypeError("the server could not be read");
  return whole;
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
  const plan = readWhole((issues) => readHTTPResourceServer(httpServer, "httpServer", issues));
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
  const server = repeatedServer(facilitatorClients, schemes, () => {
    const made = new x402ResourceServer(facilitatorClients);
    for (const { network, server: scheme } of schemes) made.register(network, scheme);
    return made;
  });
  // Nobody else has this server, so nothing can be registered later.
  const errors = validateRoutes(routes, (network, scheme) => server.getRegisteredScheme(network, scheme), {
    withMissing: true,
  });
  if (errors.length > 0) throw new RouteConfigurationError(errors);
  return paymentMiddleware(routes, server, paywallConfig, paywall, syncFacilitatorOnStart, options);
}

/**
 * Sets the amount to charge for a response, where the scheme allows less than was authorized (`upto`). Without an amount, or on a request
 * without a payment, it does nothing.
 *
 * @throws AmountError when the amount is invalid, or more than was authorized
 * @throws StateError when the scheme takes all or nothing and this is not all, or the response has gone out
 */
export function setSettlementOverrides(res: Response, { amount }: SettlementOverrides): void {
  if (amount !== undefined) setNativeOverrides(res, { amount });
}

interface MiddlewareOptions {
  readonly paywallConfig: PaywallConfig | undefined;
  readonly paywall: PaywallProvider | undefined;
  readonly options: EngineOptions | undefined;
}

function createMiddleware(plan: HTTPRegistrations, more: MiddlewareOptions): PaymentMiddleware {
  const errors = findErrors(plan);
  if (errors.length === 0) return createComplete(plan, more);
  if (errors.some(({ reason }) => reason !== "missing_scheme")) throw new RouteConfigurationError(errors);
  return createLate(plan, more);
}

function findErrors({ server, routes }: HTTPRegistrations): RouteValidationError[] {
  const schemeOf = (network: Network, scheme: string) => findScheme(server.registeredServerSchemes, network, scheme);
  return validateRoutes(routes, schemeOf, { withMissing: true });
}

/** A seller may register schemes after the middleware is made. What is missing at a request is the error of that request. */
function createLate(plan: HTTPRegistrations, more: MiddlewareOptions): PaymentMiddleware {
  let made: PaymentMiddleware | undefined;
  const make = () => {
    if (made !== undefined) return made;
    const errors = findErrors(plan);
    if (errors.length > 0) throw new RouteConfigurationError(errors);
    made = createComplete(plan, more);
    return made;
  };
  setImmediate(() => {
    const notices = findErrors(plan).map(({ routePattern, scheme, network }) => {
      return {
        route: routePattern,
        text: `its requests fail until a scheme is registered for ${scheme} on ${network}`,
      };
    });
    if (notices.length > 0) tell(notices, { ...plan.server.options, ...more.options }.logger);
    else make();
  });
  return async (req, res, next) => {
    let middleware: PaymentMiddleware;
    try {
      middleware = make();
    } catch (error) {
      return next(error);
    }
    return middleware(req, res, next);
  };
}

function createComplete(plan: HTTPRegistrations, more: MiddlewareOptions): PaymentMiddleware {
  const { server, owner, routes, paywallProvider, protectedRequestHooks } = plan;
  const { paywallConfig, paywall = paywallProvider } = more;
  // Some sellers make the middleware anew for each request.
  const isRepeatable = more.options === undefined && paywall === undefined;
  const source = protectedRequestHooks ?? owner;
  const repeated = isRepeatable ? tables.find(source, server, { routes, paywallConfig }) : undefined;
  if (repeated?.known !== undefined) return repeated.known;
  const options: EngineOptions = { ...server.options, ...more.options };
  const schemes = server.registeredServerSchemes;
  const issues = createIssues();
  const warn = createWarner(options.logger);
  const translating = { schemes, paywall, paywallConfig, decimalsOf, warn, issues };
  const { table, originals, notices } = translateRoutes(routes, translating);
  const shared = more.options === undefined ? findEngine(owner, plan, originals) : undefined;
  const engine = shared ?? createEngine(plan, options, { originals, warn, issues });
  issues.throwIfAny();
  const handler = engine.payments.routes(table, { onlyPassing: true });
  for (const [key, route] of originals) engine.originals.set(key, route);
  if (more.options === undefined && engine.isPlain) engines.set(owner, engine);
  tell([...findDifferences(plan), ...notices], options.logger);
  const middleware = handler as PaymentMiddleware;
  repeated?.keep(middleware);
  return middleware;
}

const tables = new RepeatedTables<PaymentMiddleware>();

/** An engine, and the routes of all its tables. */
interface Engine {
  readonly payments: Payments;
  readonly originals: Map<string, RouteConfig>;
  /** Whether other tables of the same server can use it: it asks no hooks about requests, and hosts nothing. */
  readonly isPlain: boolean;
}

/** Tables of one server have one engine, so that a payment buys once in all of them. */
const engines = new WeakMap<object, Engine>();

function findEngine(
  owner: object,
  { server, routes, protectedRequestHooks }: HTTPRegistrations,
  originals: ReadonlyMap<string, RouteConfig>,
): Engine | undefined {
  const engine = engines.get(owner);
  if (engine === undefined || !isPlain({ server, routes, protectedRequestHooks })) return undefined;
  return [...originals.keys()].some((key) => engine.originals.has(key)) ? undefined : engine;
}

function isPlain({
  server,
  routes,
  protectedRequestHooks,
}: Pick<HTTPRegistrations, "server" | "routes" | "protectedRequestHooks">): boolean {
  const hosts = usedSchemes(server, routes).some(
    ({ scheme, network }) => !isStock(scheme, network) || moneyParsersOf(scheme).length > 0,
  );
  const isExtended = server.registeredExtensions.size > 0 || passExtensions(routes, []).length > 0;
  return !hosts && !isExtended && protectedRequestHooks === undefined;
}

interface EngineContext {
  readonly originals: ReadonlyMap<string, RouteConfig>;
  readonly warn: HooksContext["warn"];
  readonly issues: Issues;
}

function createEngine(
  plan: HTTPRegistrations,
  options: EngineOptions,
  { warn, issues, ...own }: EngineContext,
): Engine {
  const { server, routes, protectedRequestHooks } = plan;
  const originals = new Map(own.originals);
  const routeOf = (key: string) => originals.get(key);
  const hooks: PaymentHooks = {
    ...toNativeHooks(server, { routeOf, warn }),
    ...(protectedRequestHooks === undefined ? {} : { onRequest: toRequestHook(protectedRequestHooks, { routeOf }) }),
  };
  const registered = [
    ...(options.extensions ?? []),
    ...hostExtensions(server.registeredExtensions.values(), { routeOf, warn }),
  ];
  const passed = passExtensions(routes, registered);
  const read = readOptions(server, usedSchemes(server, routes), issues);
  issues.throwIfAny();
  // Handlers of the reference find the payment where clients have put it.
  const usual = { ...read, keepPaymentHeader: true };
  const payments = createPayments({ ...usual, ...options, extensions: [...registered, ...passed], hooks });
  noteEngine(payments);
  return { payments, originals, isPlain: isPlain(plan) };
}
