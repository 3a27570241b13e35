/**
 * The seller's engine, framework-free: options in, gates out. It builds every part and says what each one needs.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import {
  createSaleByHand,
  type PaymentByHand,
  type RouteByHand,
  RoutesByTerms,
  type SaleByHand,
  VerifiedByHand,
} from "./by-hand/by-hand.js";
import { type BuiltIn, parseOptions, type Settings } from "./config/parse-options.js";
import { parseByHand, parseCharge, parseRoutes } from "./config/parse-routes.js";
import { ConfigError } from "./errors.js";
import { combineHooks, type ExtensionHooks } from "./events/combined-hooks.js";
import {
  createPaymentEvents,
  isPaymentEventType,
  type PaymentEvents,
  type PaymentEventType,
  type PaymentListener,
} from "./events/events.js";
import {
  createFindings,
  type Findings,
  memoryLedgerFinding,
  memoryStoreFinding,
  meteredNotSharedFinding,
} from "./events/findings.js";
import { Hooks } from "./events/hooks.js";
import { errorName } from "./events/logger.js";
import { createFacilitatorPool } from "./facilitator/pool.js";
import { createIssues, type Issues } from "./issues.js";
import { LedgerKeeper, type PaymentsLedger } from "./ledger/payments-ledger.js";
import { loadTelemetry } from "./load-telemetry.js";
import type { PaymentsOptions, RouteConfig, RoutesConfig, StartTimer } from "./options.js";
import { createPassingSaleNames, createQuotes, createSaleNames } from "./pricing/dynamic-price.js";
import type { ChargedAs, PaidRequestPolicy, PricedRoute } from "./pricing/priced-route.js";
import { originFor, type Place } from "./pricing/resource.js";
import { matchesNetwork } from "./protocol/caip2.js";
import type { Extensions, PaymentPayload, PaymentRequirements } from "./protocol/documents.js";
import { isReason } from "./protocol/reasons.js";
import type { DescribedRoute, DescribedTool } from "./report/described-routes.js";
import { Health, type PaymentsHealth } from "./report/health.js";
import { createPayees } from "./report/payees.js";
import { type PricedHandler, type PricedTable, routesOf } from "./report/places.js";
import {
  namePrice,
  type PaymentsReport,
  type ReportedOffer,
  Reporter,
  reportOffers,
  warnProcessOnce,
} from "./report/report.js";
import type { GateRequest } from "./route/request.js";
import { type HandlerQuery, ResolvedTable } from "./route/resolved-table.js";
import type { RouteTable } from "./route/route-table.js";
import type { NamedPrice, RouterView } from "./route/router-view.js";
import { Replay } from "./sale/again.js";
import type { GateResponse } from "./sale/answers.js";
import { SignatureChecks } from "./sale/check-payment.js";
import type { Decision } from "./sale/decision.js";
import { Deliveries, PendingWrites } from "./sale/delivery.js";
import { Expiries } from "./sale/expiries.js";
import { InFlight } from "./sale/in-flight.js";
import { createRetryTokens } from "./sale/proof.js";
import { type Recovery, SettlementRecovery } from "./sale/recover.js";
import { finish, Sales } from "./sale/sale.js";
import type { Seller } from "./sale/seller.js";
import { Settler } from "./sale/settle.js";
import { SettledRuns } from "./sale/settled-runs.js";
import type { RequestAtHandler, Verdict } from "./sale/verdict.js";
import type { Scheme } from "./scheme/scheme.js";
import { Deadlines } from "./steps/deadline.js";
import { Draining, type EndingServer } from "./steps/draining.js";
import { Exposure } from "./steps/exposure.js";
import { type Listing, Listings } from "./steps/listings.js";
import { OwnBodies } from "./steps/own-bodies.js";
import { Pages } from "./steps/pages.js";
import { Receipts } from "./steps/receipts.js";
import { Runs } from "./steps/runs.js";
import { Leases } from "./store/leases.js";
import { MemoryExposure } from "./store/memory-exposure.js";
import { isMemoryStore } from "./store/memory-store.js";
import { OpenStore } from "./store/open-store.js";
import { findSeveralProcesses } from "./store/several-processes.js";
import type { Gauges } from "./telemetry/measure.js";

/**
 * The gate of a route table. A verdict decides at once unless a payment, a hook, a price function or a facilitator is waited
 * for. It never throws or rejects: if a store or a scheme fails, the client gets 503.
 */
export interface TableGate {
  /** Decides a request in front of the routes. For a framework whose handlers cannot be told one from another. */
  decide(request: GateRequest): Decision | Promise<Decision>;
  /**
   * Resolves the keys to the app's handlers, and returns the handlers that they price.
   *
   * @param mounts - Those of the table below the view's app. Default: where the view finds it.
   */
  bind(view: RouterView, mounts?: readonly string[]): readonly object[];
  /** Whether reports and checks have it. Default: they do. A table that is made for one request is in none. */
  list(isListed: boolean): void;
  /** The price of a request in front of the routes. */
  inFront(request: GateRequest): Verdict;
  /** The price of a request at a handler that {@link TableGate.bind} returned. */
  atHandler(at: RequestAtHandler): Verdict;
  /**
   * Whether a request would have to pay: in front of the routes, or at a handler. A price function may still say that it costs
   * nothing.
   */
  prices(query: HandlerQuery, handler?: object): boolean;
  /** The price of the key that names a request, whoever gets it. */
  named(request: GateRequest, mounts: readonly string[]): Verdict;
  /** The same object for all handlers that read a request's path in the same way; `undefined`: no other does. */
  readingOf(handler: object): object | undefined;
  /** Whether a request that was paid for where the table stands needs no other look at a handler. @param priceId - What it has paid. */
  sells(handler: object, priceId: string): boolean;
  /** The prices of all requests to a handler. @param methods - Those that keys name. Default: any. */
  pricesAt(handler: object, methods?: readonly string[]): readonly NamedPrice[];
}

/** The gate of one route that the framework matches by itself. */
export interface RouteGate extends PaidRequestPolicy {
  /** Decides a request. Never throws or rejects. @param locate - Says where the request is. Called only if it is needed. */
  decide(request: GateRequest, locate: () => Place): Decision | Promise<Decision>;
  /** The response to a request that has paid another price. */
  refusal(): GateResponse;
  /** As {@link TableGate.prices}. */
  prices(): boolean;
  /** As {@link TableGate.pricesAt}. */
  pricesAt(): readonly NamedPrice[];
  /** Payment options, in the seller's order. */
  readonly offers: readonly ReportedOffer[];
}

/** What adapters build on. */
export interface PaymentsEngine {
  /** How much of a response is held until its payment has settled, in bytes. */
  readonly holdBytes: number;
  /** Starts a timer, by {@link PaymentsOptions.timer}. */
  readonly timer: StartTimer;
  /** Keys of the extensions that routes can declare in a short form, e.g. `bazaar`. */
  readonly extensions: readonly string[];
  /** The seller's schemes, then those of the adapter. */
  readonly schemes: readonly Scheme[];
  /**
   * Creates the gate of a route table.
   *
   * @throws ConfigError with every issue at once.
   */
  routes(table: RoutesConfig): TableGate;
  /**
   * Creates the gate of one route that the framework matches by itself.
   *
   * @param as - For what is not called by HTTP: its name, URL and input.
   * @throws ConfigError with every issue at once.
   */
  charge(route: RouteConfig, as?: ChargedAs): RouteGate;
  /**
   * Sells a resource by hand, for servers that respond with 402, verify and settle by themselves.
   *
   * @throws ConfigError with every issue at once.
   */
  byHand(route: RouteByHand): SaleByHand;
  /**
   * As {@link PaymentsEngine.byHand}, for terms that are only known at a request. Equal terms share what was compiled for them.
   * They are in no report.
   *
   * @throws ConfigError with every issue at once.
   */
  byHandFor(route: RouteByHand): SaleByHand;
  /**
   * The part of a client's payload that facilitators get, by the scheme of the terms. A payload that the scheme refuses is returned as it is. Never
   * throws.
   */
  canonicalPayload(payment: Pick<PaymentPayload, "payload">, requirements: PaymentRequirements): unknown;
  /**
   * Finds a payment again that is verified by hand in this process, and neither settled nor released.
   *
   * @param payment - As the client sent it.
   * @param requirements - The offer that it accepted.
   */
  findByHand(payment: Pick<PaymentPayload, "payload">, requirements: PaymentRequirements): PaymentByHand | undefined;
  /** Says what is priced. With a view of the app's router, it also says where, and what looks wrong there. */
  report(view?: RouterView): PaymentsReport;
  /** Describes every route that clients may find. */
  describe(view: RouterView): readonly DescribedRoute[];
  /** Describes every tool that clients may find: what was charged under a URL of its own. */
  describeTools(): readonly DescribedTool[];
  /** What a route of a table declares for a method, by its key; `undefined`: nothing. */
  declared(key: string, method: string): Extensions | undefined;
  /** The origin by which clients reach this server: `https://api.example.com`. It is certain if the options set it. */
  originOf(origin: string | undefined): { readonly origin: string; readonly isCertain: boolean };
  /**
   * Checks gates and routes before the first request, and tells the logger.
   *
   * @param only - Gates to check while a request waits: long checks are left out. Default: all gates, however long it takes.
   * @throws ConfigError with every finding at once, if the seller set `strict`.
   */
  check(view: RouterView, only?: (gate: object) => boolean): PaymentsReport;
  /** What a facilitator said last about listing a route, by its key; `undefined`: none has said anything. */
  listing(route: string): Listing | undefined;
  /**
   * The receipt of a metered response, by the last part of its URL. Rejects if the store fails.
   *
   * @see RECEIPTS_PATH
   */
  receipt(name: string): Promise<GateResponse>;
  /** From now on metered responses name the URL of their receipt: a handler responds to it. */
  serveReceipts(): void;
  /**
   * Forgets what a payer owes for metered responses, and returns for how many. Its payments still settle if they can. Rejects if the store
   * fails.
   *
   * @param payer - Its address.
   */
  forgive(payer: string): Promise<number>;
  /**
   * All metrics in the text format of Prometheus.
   *
   * @throws ConfigError without the option `metrics`.
   */
  metrics(): string;
  /** What was sold, and to whom. It is as durable as the store. */
  readonly ledger: PaymentsLedger;
  /** How store, facilitators and settlements are doing. Asks the store, at most once a second. Never rejects. */
  health(): Promise<PaymentsHealth>;
  /** As {@link PaymentsEngine.health}, for a load balancer: once it was told that the process ends, payments are refused. */
  healthCheck(): Promise<PaymentsHealth>;
  /**
   * Resolves once the store is open, each facilitator was asked what it supports, and the nodes of `rpc` whether recipients
   * can be paid. A failure of a facilitator or a node changes nothing. Rejects if the store cannot be used.
   */
  ready(): Promise<void>;
  /**
   * Takes up the settlements that a dead process left unfinished, and says how they ended. With a store that outlives the
   * process, it starts by itself with the first gate; called meanwhile, it waits for that. Rejects if the store fails.
   */
  recover(): Promise<Recovery>;
  /**
   * Listens for events of one type. Returns a function that stops it.
   *
   * @throws ConfigError when there is no such type.
   */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /**
   * Stops work in the background, for good. From now on {@link PaymentsEngine.health} says `draining`. Resolves when the store has what
   * was written behind responses; the log says what is still under way. Call it when the server is closed, and before the client of the store is.
   *
   * @param options - `drainMs`: waits so long at most, 0 to 3600000, for payments under way. Once a health check was answered with
   * `draining`, or at once if nobody asks, new payments get 503. Default: they are taken, and not waited for.
   * `server`: ends with the payments, and then the store's own connections. Only with `drainMs`.
   * @throws ConfigError if `drainMs` is not such a number.
   */
  close(options?: { readonly drainMs?: number; readonly server?: EndingServer }): Promise<void>;
  /** Whether `close` was called: connections are closed behind their responses. */
  readonly draining: { readonly isDraining: boolean };
}

/**
 * Checks the options and creates an engine.
 *
 * @param builtIn - Schemes and extensions of the adapter.
 * @throws ConfigError with every issue at once.
 */
export function createPaymentsEngine(options: PaymentsOptions, builtIn: BuiltIn): PaymentsEngine {
  return createEngine(createParts(check("options", (issues) => parseOptions(options, builtIn, issues)))).engine;
}

/**
 * Checks options and one route table together.
 *
 * @param builtIn - Schemes and extensions of the adapter.
 * @throws ConfigError with every issue of both at once.
 */
export function createPaymentsGate(
  routes: RoutesConfig,
  options: PaymentsOptions,
  builtIn: BuiltIn,
): { readonly engine: PaymentsEngine; readonly gate: TableGate } {
  const { parts, table } = check("options and routes", (issues) => {
    const parts = createParts(parseOptions(options, builtIn, issues));
    return { parts, table: parseRoutes(routes, parts.routesDeps, issues) };
  });
  const { engine, addTable } = createEngine(parts);
  return { engine, gate: addTable(table) };
}

/** Findings about the terms of one request: there would be no end of them. */
const UNTOLD: Pick<Findings, "add" | "tell"> = { add() {}, tell() {} };

type Parts = ReturnType<typeof createParts>;

/** Builds every part from settings. Nothing starts yet: settings with issues leave nothing behind. */
function createParts(settings: Settings) {
  const { logger, now, timer, store, rpc, schemes, leaseMs, strict, relayExtensionResponses } = settings;
  const findings = createFindings(logger);
  const events = createPaymentEvents(logger, now);
  const hooksDeps = { events, logger, timer, hookMs: settings.deadlines.hookMs };
  const hooks = new Hooks(settings.hooks, hooksDeps);
  const hooksFor = (route: string, ofExtensions: readonly ExtensionHooks[]) =>
    ofExtensions.length === 0
      ? hooks
      : new Hooks(combineHooks(settings.hooks, ofExtensions, { route, logger }), hooksDeps);
  const listings = new Listings({ events, logger, now });
  const facilitator = createFacilitatorPool(settings.facilitators, {
    deadlines: settings.deadlines,
    logger,
    onChange({ name, state, lastErrorCode: code }) {
      if (state === "up") events.emit("facilitator_up", () => ({ facilitator: name }));
      if (state === "down") events.emit("facilitator_down", () => ({ facilitator: name, code }));
    },
    events,
  });

  const openStore = new OpenStore({ store, quoteSecret: settings.quoteSecret, findings, now });
  const leases = store.renew === undefined ? undefined : new Leases({ store, logger, now, timer });
  const inFlight = new InFlight();
  const expiries = new Expiries({ now, timer });
  const draining = new Draining({ inFlight, timer, now });
  const writes = new PendingWrites();
  const runs = new Runs({ maxPerPayer: settings.maxRunsPerPayer, rpc, logger, now, shared: store.runs, writes });
  const exposure: Exposure = new Exposure({
    ...{ rpc, writes, logger, now },
    limits: settings.exposure,
    entries: store.exposure ?? new MemoryExposure(),
    collect: (identity) => recovery.collect(identity),
  });
  const ledger = new LedgerKeeper({ store, settings: settings.ledger, events, writes, logger, now, timer });
  const settler = new Settler({
    ...{
      store,
      ledger,
      leases,
      facilitator,
      inFlight,
      runs,
      exposure,
      rpc,
      listings,
      findings,
      events,
      hooks,
      logger,
      now,
      timer,
    },
    confirmationsOn: settings.confirmationsOn,
    settleMs: leaseMs,
    onUnknown: (payment, retryAfterSeconds) => recovery.add(payment, retryAfterSeconds),
  });
  const tables: PricedTable[] = [];
  const handlers: PricedHandler[] = [];
  const recovery = new SettlementRecovery({
    ...{ store, settler, leases, inFlight, exposure, schemes, events, logger, now, timer },
    routeOf: (key) => onlyRoute(key, tables, handlers),
    onLook: () => ledger.look(),
  });

  // The records of a memory store are of this process only, and so are its tokens.
  const isShared = !isMemoryStore(store);
  const ownSecret = randomBytes(32);
  const tokens = createRetryTokens(isShared ? openStore.secret : () => ownSecret);
  const receipts = new Receipts({
    store,
    secret: isShared ? openStore.secret : () => ownSecret,
    publicUrl: settings.publicUrls.publicUrl,
  });
  const deliveries = new Deliveries({ store, isShared, leases, writes, logger, timer });
  const bodies = new OwnBodies({ findings, logger, timer });
  const deadlines = new Deadlines({ rpc, findings, logger, now, timer });
  const settledRuns = new SettledRuns({
    ...{ tokens, inFlight, deliveries, runs, findings, logger, relayExtensionResponses },
    publicUrls: settings.publicUrls,
  });
  const replay = new Replay({
    ...{ tokens, store, isShared, leases, settler, inFlight, runs, settledRuns, events, now, timer },
    ...{ bodies, deliveries },
  });
  const seller: Seller = {
    ...{ facilitator, store, openStore, leases, inFlight, expiries, draining, runs, exposure, deadlines },
    ...{ settledRuns, replay },
    ...{ settler, listings, deliveries, receipts, events, findings, logger, bodies, tokens, now, timer },
    ...{ isDurable: isShared, relayExtensionResponses },
    publicUrls: settings.publicUrls,
    pages: new Pages({ loadPaywall: settings.loadPaywall, bodies, rpc, logger, now, timer }),
    copyWaitMs: settings.copyWaitMs,
    signatures: new SignatureChecks(settings.verifySignatures),
    finish: (payment, response) => finish(seller, payment, response),
  };
  const gate = new Sales(seller);

  const health = new Health({
    ...{ store, inFlight, recovery, draining, timer, now },
    facilitators: () => facilitator.health(),
  });
  const metrics = startMeasuring(settings, events, {
    inFlight: () => inFlight.size,
    unknownOutcomes: () => recovery.size,
    heldBytes: settings.heldBytes,
    facilitators: () => facilitator.health(),
  });
  const payees = createPayees({ rpc, logger, timer });
  const reporter = new Reporter(
    { tables, handlers },
    { facilitators: facilitator, listings, findings, payees, logger, strict, isStoreChosen: settings.isStoreChosen },
  );
  const routesDeps = {
    ...{ settings, findings, hooksFor, logger, timer },
    facilitators: facilitator,
    quotes: createQuotes(openStore.secret),
    nameSale: createSaleNames(),
  };
  return {
    settings,
    findings,
    events,
    ledger,
    listings,
    facilitator,
    openStore,
    writes,
    deliveries,
    exposure,
    receipts,
    inFlight,
    draining,
    health,
    metrics,
    recovery,
    gate,
    tables,
    handlers,
    payees,
    reporter,
    routesDeps,
  };
}

/** Counts what happens, as far as the seller wants it. Returns what `payments.metrics()` reads. */
function startMeasuring(settings: Settings, events: PaymentEvents, gauges: Gauges): { write(): string } | undefined {
  if (!settings.metrics && settings.telemetry === undefined) return undefined;
  return loadTelemetry().startMeasuring(settings, { events, isReason, ...gauges });
}

/** The route of a key; `undefined`: there is none, or several prices have the key, such as handlers that charge. */
function onlyRoute(
  key: string,
  tables: readonly PricedTable[],
  handlers: readonly PricedHandler[],
): PricedRoute | undefined {
  const ofTables = tables.flatMap(({ table }) => table.entries.map(({ value }) => value));
  const [route, ...others] = [...ofTables, ...handlers.map(({ route }) => route)].filter((one) => one.key === key);
  return others.length === 0 ? route : undefined;
}

/** An engine, and what adds a table that has been checked. */
function createEngine(parts: Parts): {
  readonly engine: PaymentsEngine;
  readonly addTable: (table: RouteTable<PricedRoute>) => TableGate;
} {
  const { settings, findings, events, listings, facilitator, openStore, writes, deliveries, recovery, gate } = parts;
  const { tables, handlers, payees, reporter, exposure, receipts, inFlight, draining, health, metrics, ledger } = parts;
  const { store, logger } = settings;
  const isSeparate = isMemoryStore(store) || store.exposure === undefined;
  const several = isSeparate ? findSeveralProcesses() : undefined;
  const checkSharing = ({ key, offers, dynamic }: PricedRoute) => {
    const isMetered = [...offers, ...dynamic].some(({ settle }) => settle === "metered");
    if (several !== undefined && isMetered) findings.add(meteredNotSharedFinding(key, several));
  };
  const platform = isMemoryStore(store) ? several : undefined;
  if (platform !== undefined) {
    const found = memoryStoreFinding(platform);
    findings.add(found);
    if (!settings.isStoreChosen) warnProcessOnce(found);
  }

  if (store.ledger === undefined) findings.add(memoryLedgerFinding());

  let isStarted = false;
  /** Each new gate starts the facilitators. The first one recovers; a memory store has nothing to recover. */
  const start = () => {
    facilitator.start();
    if (isStarted || isMemoryStore(store)) return;
    isStarted = true;
    if (store.renew !== undefined) recovery.watch();
    recovery.recover().catch(() => logger.error("settlements_not_recovered", { error: "the store failed" }));
  };
  const addTable = (table: RouteTable<PricedRoute>): TableGate => {
    const resolved = new ResolvedTable(table);
    const tableGate: TableGate = {
      list(isListed) {
        const at = tables.findIndex(({ gate }) => gate === tableGate);
        if (isListed && at === -1) tables.push(priced);
        if (!isListed && at !== -1) tables.splice(at, 1);
      },
      bind: (view, mounts) => resolved.bind(tableGate, view, mounts),
      decide: (request) => gate.decide(resolved, request),
      inFront: (request) => gate.inFront(resolved, request),
      atHandler: (at) => gate.atHandler(resolved, at),
      prices: (query, handler) => resolved.prices(query, handler),
      named: (request, mounts) => gate.named(resolved, request, mounts),
      readingOf: (handler) => resolved.readingOf(handler),
      sells: (handler, priceId) => resolved.sells(handler, priceId),
      pricesAt: (handler, methods) => resolved.keysAt(handler, methods).map(({ value }) => namePrice(value)),
    };
    const priced: PricedTable = { gate: tableGate, table };
    tables.push(priced);
    for (const { value } of table.entries) checkSharing(value);
    start();
    return tableGate;
  };

  const canonicalPayload: PaymentsEngine["canonicalPayload"] = (payment, requirements) => {
    try {
      const { scheme: name, network } = requirements;
      const scheme = settings.schemes.find((one) => one.scheme === name && matchesNetwork(one.networks, network));
      const reading = scheme?.readPayment(payment.payload, requirements, Math.floor(settings.now() / 1000));
      return reading === undefined || reading.kind === "refused" ? payment.payload : reading.payload;
    } catch {
      // Both may be what a client sent.
      return undefined;
    }
  };

  const verified = new VerifiedByHand();
  const termsByHand = new RoutesByTerms();
  const passing = { ...parts.routesDeps, findings: UNTOLD, nameSale: createPassingSaleNames() };
  const byHandDeps = { gate, verified, holdBytes: settings.holdBytes, timer: settings.timer };
  const engine: PaymentsEngine = {
    holdBytes: settings.holdBytes,
    timer: settings.timer,
    extensions: settings.extensions.map(({ key }) => key),
    schemes: settings.schemes,
    routes: (table) => addTable(check("routes", (issues) => parseRoutes(table, parts.routesDeps, issues))),
    charge(given, as) {
      const route = check("charge", (issues) => parseCharge(given, as, parts.routesDeps, issues));
      const routeGate: RouteGate = {
        decide: (request, locate) => gate.decideAt(route, request, locate),
        refusal: () => gate.refuseAt(route),
        prices: () => !route.isFree,
        pricesAt: () => [namePrice(route)],
        priceId: route.priceId,
        offers: reportOffers(route),
        keepPaymentHeader: route.keepPaymentHeader,
        isByRequest: route.isByRequest,
        revalidation: route.revalidation,
        onRemovedHeaderRead: route.onRemovedHeaderRead,
      };
      handlers.push({ gate: routeGate, route });
      checkSharing(route);
      // No request of an app leads to it, so no request would tell.
      if (as !== undefined) for (const found of route.notices) findings.tell(found);
      start();
      return routeGate;
    },
    byHand(given) {
      const { route, resource } = check("byHand", (issues) => parseByHand(given, parts.routesDeps, issues));
      const sale = createSaleByHand(route, resource, byHandDeps);
      handlers.push({ gate: sale, route });
      start();
      return sale;
    },
    byHandFor({ resource, ...terms }) {
      const compile = () => check("byHand", (issues) => parseByHand(terms, passing, issues).route);
      const sale = createSaleByHand(termsByHand.get(terms, compile), resource, byHandDeps);
      start();
      return sale;
    },
    canonicalPayload,
    findByHand: (payment, requirements) =>
      verified.find({ payload: canonicalPayload(payment, requirements) }, requirements),
    report: (view) => reporter.report(view),
    describe: (view) => reporter.describe(view),
    describeTools: () => reporter.describeTools(),
    declared: (key, method) => reporter.declared(key, method),
    originOf: (origin) => originFor(origin, settings.publicUrls),
    check: (view, only) => reporter.check(view, only),
    listing: (route) => listings.of(route),
    receipt: (name) => receipts.find(name),
    serveReceipts: () => receipts.serve(),
    forgive: (payer) => exposure.forgive(payer),
    metrics() {
      check("metrics", (issues) => {
        if (metrics === undefined) issues.addText("options.metrics", "true, so that metrics are counted", "nothing");
      });
      return metrics?.write() ?? "";
    },
    ledger: ledger.open(() => import("./ledger-queries/index.js")),
    health: () => health.ask(),
    healthCheck: () => health.tell(),
    async ready() {
      const offers = routesOf({ tables, handlers }).flatMap((route) => route.offers);
      await Promise.all([openStore.open(), facilitator.ready(), payees.ask(offers)]);
    },
    recover: () => recovery.recover(),
    on(type, listener) {
      check("on", (issues) => {
        if (!isPaymentEventType(type)) issues.add("on", 'a type of event, such as "settled"', type);
        if (typeof listener !== "function") issues.add("on", "a function that listens", listener);
      });
      return events.on(type, listener);
    },
    draining,
    async close({ drainMs, server } = {}) {
      if (drainMs === undefined) draining.begin();
      else await draining.drain(checkDrainMs(drainMs), server);
      const left = { inFlight: inFlight.size, unknown: recovery.size };
      if (left.inFlight > 0 || left.unknown > 0) logger.warn("closed_before_settled", left);
      facilitator.close();
      recovery.close();
      deliveries.close();
      ledger.close();
      await writes.finished();
      if (server === undefined) return;
      try {
        await store.close?.();
      } catch (error) {
        logger.error("store_not_closed", { error: errorName(error) });
      }
    },
  };
  return { engine, addTable };
}

const DRAIN_MS = { least: 0, most: 3_600_000, usual: 0, unit: "milliseconds" };

function checkDrainMs(drainMs: unknown): number {
  return check("close", (issues) => issues.readNumber("close.drainMs", drainMs, DRAIN_MS));
}

/** Throws all issues at once. An option that throws when it is read, such as a getter, is one more issue. */
function check<T>(what: string, parse: (issues: Issues) => T): T {
  const issues = createIssues();
  try {
    const parsed = parse(issues);
    issues.throwIfAny();
    return parsed;
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const error = cause instanceof Error ? `${cause.name}: ${cause.message}` : "something else than an error";
    throw new ConfigError([{ path: what, expected: "to be readable", received: `reading it threw ${error}` }], {
      cause,
    });
  }
}
