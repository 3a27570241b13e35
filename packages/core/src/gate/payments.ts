/**
 * The seller's engine, framework-free: options in, gates out, and a report of them.
 *
 * @module
 */
import { ConfigError } from "../errors.js";
import { isPaymentEventType, type PaymentEventType, type PaymentListener } from "../events/events.js";
import { memoryStoreFinding } from "../events/findings.js";
import type { FacilitatorHealth } from "../facilitator/pool-member.js";
import { createIssues, type Issues } from "../issues.js";
import type { Extensions } from "../protocol/documents.js";
import type { RouterView } from "../route/router-view.js";
import { isMemoryStore } from "../store/memory-store.js";
import { findSeveralProcesses } from "../store/several-processes.js";
import { attemptAgain, type Recovery, recoverSettlements } from "./background.js";
import type { DescribedRoute } from "./described-routes.js";
import { createGate, createRouteGate, type Gate, type RouteGate } from "./gate.js";
import type { PricedTable } from "./inspect-routes.js";
import type { Listing } from "./listings.js";
import type { PaymentsOptions, RouteConfig, RoutesConfig } from "./options.js";
import { type PaymentsConfig, parseOptions } from "./parse-options.js";
import type { BuiltIn } from "./parse-parts.js";
import { type ChargedAs, parseCharge, parseRoutes } from "./parse-routes.js";
import { createPayees } from "./payees.js";
import type { PaymentsReport, PricedHandler } from "./report.js";
import { createReporter, fixedOffers } from "./reporter.js";
import { originFor } from "./resource.js";

/** What an adapter builds on. */
export interface PaymentsEngine {
  /** How much of an answer is held back until its payment has settled, in bytes. */
  readonly holdBytes: number;
  /** Keys of the extensions that are compiled from what a route declares, e.g. `bazaar`. */
  readonly extensions: readonly string[];
  /**
   * Creates the gate of a route table.
   *
   * @throws ConfigError with every issue at once.
   */
  routes(table: RoutesConfig): Gate;
  /**
   * Creates the gate of one route that the framework matches by itself.
   *
   * @param as - What stands for it where it is not called by HTTP.
   * @throws ConfigError with every issue at once.
   */
  charge(route: RouteConfig, as?: ChargedAs): RouteGate;
  /** What is priced; with a view of the app's router also where, and what looks wrong about it. */
  report(view?: RouterView): PaymentsReport;
  /** What there is to say of priced routes to whoever may want to buy. */
  describe(view: RouterView): readonly DescribedRoute[];
  /** What a route of a table declares for a method, by its key as it is written there; `undefined`: nothing. */
  declared(key: string, method: string): Extensions | undefined;
  /** Where clients reach this server, by the options or else by the request's own word: `https://api.example.com`. */
  originOf(origin: string | undefined): { readonly origin: string; readonly isCertain: boolean };
  /**
   * Checks gates and routes before the first request and tells the logger.
   *
   * @param only - Gates to look at, with a request waiting: where that would take long, and findings are no errors, keys
   *   are not held against routes. Default: all gates, for as long as it takes.
   * @throws ConfigError with every finding at once, when the seller asked for that by `strict`.
   */
  check(view: RouterView, only?: (gate: object) => boolean): PaymentsReport;
  /** What a facilitator said last about listing a route, by its key; `undefined` as long as none has said anything. */
  listing(route: string): Listing | undefined;
  /** How each facilitator is doing, in the seller's order. */
  health(): readonly FacilitatorHealth[];
  /**
   * Resolves once each facilitator was asked what it supports, and the nodes of `rpc` whether payees can be paid, whatever
   * came of it. Never rejects.
   */
  ready(): Promise<void>;
  /**
   * Takes up the settlements that a dead process has left unfinished, and says what came of them. It begins by itself when
   * the first gate is created; called while that goes on, it waits for it. Rejects when the store fails.
   */
  recover(): Promise<Recovery>;
  /**
   * Listens for events of one type. Yields what ends that.
   *
   * @throws ConfigError when there are no events of that type.
   */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /** Ends what happens in the background. Payments under way can still be settled. */
  close(): void;
}

/**
 * Checks the options and returns what makes gates of routes.
 *
 * @param builtIn - Schemes and extensions of the packages at hand.
 * @throws ConfigError with every issue at once.
 */
export function createPaymentsEngine(options: PaymentsOptions, builtIn: BuiltIn): PaymentsEngine {
  return toEngine(check("options", (issues) => parseOptions(options, builtIn, issues)));
}

/**
 * Checks options and one route table together.
 *
 * @param builtIn - Schemes and extensions of the packages at hand.
 * @throws ConfigError with every issue of both at once.
 */
export function createPaymentsGate(
  routes: RoutesConfig,
  options: PaymentsOptions,
  builtIn: BuiltIn,
): { readonly engine: PaymentsEngine; readonly gate: Gate } {
  const { config, table } = check("options and routes", (issues) => {
    const parsed = parseOptions(options, builtIn, issues);
    return { config: parsed, table: parseRoutes(routes, parsed, issues) };
  });
  const engine = toEngine(config);
  return { engine, gate: engine.add(table) };
}

interface OpenEngine extends PaymentsEngine {
  /** Creates the gate of a table that has been checked. */
  add(table: PricedTable["table"]): Gate;
}

/** The facilitators are asked what they support once there is something to sell, by a table or a route that is good. */
function toEngine(config: PaymentsConfig): OpenEngine {
  const platform = isMemoryStore(config.store) ? findSeveralProcesses() : undefined;
  if (platform !== undefined) config.findings.add(memoryStoreFinding(platform));
  config.pending.attemptBy((payment) => attemptAgain(payment, config));
  const { start, recover } = createStart(config);
  const tables: PricedTable[] = [];
  const handlers: PricedHandler[] = [];
  const payees = createPayees(config);
  const { report, check: checkRoutes, ...described } = createReporter({ tables, handlers }, { ...config, payees });
  const add = (table: PricedTable["table"]): Gate => {
    const gate = createGate(table, config);
    tables.push({ gate, table });
    start();
    return gate;
  };
  return {
    holdBytes: config.holdBytes,
    extensions: config.extensions.map(({ key }) => key),
    add,
    routes: (given) => add(check("routes", (issues) => parseRoutes(given, config, issues))),
    charge(given, as) {
      const route = check("charge", (issues) => parseCharge(given, { as, config, issues }));
      const gate = createRouteGate(route, config);
      handlers.push({ gate, route });
      start();
      return gate;
    },
    report,
    ...described,
    originOf: (origin) => originFor(origin, config),
    check: checkRoutes,
    listing: config.listings.of,
    health: config.facilitator.health,
    async ready() {
      await Promise.all([config.facilitator.ready(), payees.ask(fixedOffers({ tables, handlers }))]);
    },
    recover,
    on(type, listener) {
      check("on", (issues) => {
        if (!isPaymentEventType(type)) issues.add("on", 'a type of event, such as "settled"', type);
        if (typeof listener !== "function") issues.add("on", "a function that listens", listener);
      });
      return config.events.on(type, listener);
    },
    close() {
      config.facilitator.close();
      config.pending.close();
    },
  };
}

interface Start {
  start(): void;
  recover(): Promise<Recovery>;
}

/** What begins with the first gate. The memory of a process that has just started has nothing to recover. */
function createStart(config: PaymentsConfig): Start {
  let isStarted = false;
  let recovering: Promise<Recovery> | undefined;
  const recover = () => {
    recovering ??= recoverSettlements(config).finally(() => {
      recovering = undefined;
    });
    return recovering;
  };
  return {
    recover,
    start() {
      config.facilitator.start();
      if (isStarted || isMemoryStore(config.store)) return;
      isStarted = true;
      recover().catch(() => config.logger.error("settlements_not_recovered", { error: "the store failed" }));
    },
  };
}

/** Throws what was noted; what throws by itself, such as a getter or a scheme, is one more thing that is wrong. */
function check<T>(what: string, parse: (issues: Issues) => T): T {
  const issues = createIssues();
  try {
    const parsed = parse(issues);
    issues.throwIfAny();
    return parsed;
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const issue = { path: what, expected: "values that can be read and compiled", received: "an error, see cause" };
    throw new ConfigError([issue], { cause });
  }
}
