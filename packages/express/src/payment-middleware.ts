/**
 * The middleware: how a request goes through Express.
 *
 *   read the request (express-request.ts) → gate.decide → pass | respond | run
 *
 *   pass      the next handler runs without payment
 *   respond   the gate's response is sent, and no handler runs (response-head.ts)
 *   run       the handler runs with `req.payment`. Its response is held until the payment has settled (held-response.ts);
 *             if it has settled already, the response is only marked (prepaid-response.ts)
 *
 * @module
 */
import { exactAvm } from "@farebox/avm";
import { bazaarExtension } from "@farebox/bazaar";
import type { PaymentsEngine, PaymentsHealth, PaymentsOptions, RoutesConfig } from "@farebox/core";
import {
  type BuiltIn,
  belowThatMount,
  createPaymentsEngine,
  createPaymentsGate,
  type Decision,
  type GateRequest,
  RECEIPTS_PATH,
  type RouteGate,
  type TableGate,
  type Verdict,
} from "@farebox/core/adapter";
import { exactEvm, uptoEvm } from "@farebox/evm";
import { exactSvm } from "@farebox/svm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { isDisconnected, onClosed } from "./connection.js";
import { createDocuments } from "./documents.js";
import { ExpressRequest, pathOf, removePayment } from "./express-request.js";
import { HeldResponse, heldBytes } from "./held-response.js";
import { Inspection } from "./inspection.js";
import { verdictOf } from "./nearest.js";
import type { Payments } from "./payments.js";
import { prepareGranted, preparePrepaid } from "./prepaid-response.js";
import { writeResponse } from "./response-head.js";
import { chargesOf } from "./router-view.js";
import {
  type Guarded,
  gateOf,
  guardLayer,
  handles,
  hasOwnOptions,
  type Layer,
  type LayerHandler,
  type LayerRoute,
  markHandler,
  namesMethod,
} from "./router-walk.js";
import { closeBehind, endServer } from "./shutdown.js";
import { findVerdict, learnVerdict, type Stand } from "./stand.js";

const BUILT_IN: BuiltIn = {
  schemes: [exactEvm(), uptoEvm(), exactSvm(), exactAvm()],
  extensions: [bazaarExtension()],
  heldBytes,
  // Some kilobytes that only people with a browser need.
  loadPaywall: async () => (await import("@farebox/paywall")).paywall,
};

/**
 * Prices the routes of a table: `app.use(paymentMiddleware({ "GET /weather": { … } }, { facilitator: "https://…" }))`.
 *
 * @throws ConfigError with every issue of table and options at once.
 */
export function paymentMiddleware(table: RoutesConfig, options: PaymentsOptions): RequestHandler {
  const { engine, gate } = createPaymentsGate(table, options, BUILT_IN);
  return createTableHandler(gate, createSeller(engine));
}

/**
 * Checks the options and prepares to take payments, for several tables and routes.
 *
 * @throws ConfigError with every issue at once.
 */
export function createPayments(options: PaymentsOptions): Payments {
  const engine = createPaymentsEngine(options, BUILT_IN);
  const seller = createSeller(engine);
  const { inspection } = seller;
  return {
    engine,
    ...createDocuments(engine),
    routes(table, { onlyPassing = false } = {}) {
      const gate = engine.routes(table);
      return onlyPassing ? createPassedHandler(gate, seller) : createTableHandler(gate, seller);
    },
    charge: (route) => createRouteHandler(engine.charge(route), seller),
    byHand: (route) => engine.byHand(route),
    report: (app) => inspection.report(app),
    async ready(app) {
      await engine.ready();
      return inspection.check(app);
    },
    listing: (route) => engine.listing(route),
    receipts() {
      engine.serveReceipts();
      return (req, res, next) => giveReceipt(engine, req.originalUrl, res, next);
    },
    forgive: (payer) => engine.forgive(payer),
    ledger: engine.ledger,
    metrics: () => engine.metrics(),
    health: () => engine.health(),
    healthz: () => (_req, res, next) =>
      void engine
        .healthCheck()
        .then((health) => writeHealth(res, health))
        .catch(next),
    on: (type, listener) => engine.on(type, listener),
    recover: () => engine.recover(),
    close({ drainMs } = {}) {
      inspection.close();
      return engine.close(drainMs === undefined ? {} : { drainMs });
    },
    async shutdown(server, { drainMs = DRAIN_MS } = {}) {
      const ending = endServer(server);
      inspection.close();
      return engine.close({ drainMs, server: ending });
    },
  };
}

/** As long as Kubernetes and most others wait by default. */
const DRAIN_MS = 30_000;

/** What every handler of one seller needs. */
interface Seller {
  readonly engine: PaymentsEngine;
  readonly inspection: Inspection;
}

function createSeller(engine: PaymentsEngine): Seller {
  const guard = (layer: Layer) => guardLayer(layer, (guarded) => createGuard(layer, guarded, seller));
  const seller: Seller = { engine, inspection: new Inspection(engine, guard) };
  return seller;
}

/** A route table: the key that is spelled as a request's path prices it here. At a handler, see {@link createGuard}. */
function createTableHandler(gate: TableGate, seller: Seller, { onlyPassing } = { onlyPassing: false }): RequestHandler {
  const { engine, inspection } = seller;
  inspection.addTable(gate, { onlyPassing });
  let stand: Stand | undefined;
  const meet = createHandler(gate, seller, (req, { isMarked, route }) => {
    const request = new ExpressRequest(req, gate);
    const verdict = gate.inFront(request);
    const isLasting = verdict.kind === "free" || verdict.kind === "priced";
    if (isLasting && !isMarked && route === undefined && req.method !== "OPTIONS" && request.cut === "right")
      stand = learnVerdict(verdict, { gate, req, inspection }, stand);
    const isInRoute = req.method === "OPTIONS" && verdict.kind === "free" && route !== undefined;
    return isInRoute && pricesRoute(gate, route, request) ? { kind: "preflight" } : verdict;
  });
  const payments: RequestHandler = (req, res, next) => {
    // The usual case: a request like one before. A route that has matched may be that of the table.
    const verdict = stand !== undefined && req.route === undefined ? findVerdict(stand, req, inspection) : undefined;
    if (verdict?.kind === "free" && !engine.draining.isDraining) return next();
    if (verdict !== undefined) {
      const passage = { req, res, gate, seller, route: undefined, proceed: next, fail: next };
      return follow(verdict, passage, stand?.isAlone);
    }
    if (req.baseUrl === "") {
      engine.serveReceipts();
      if (req.path.startsWith(RECEIPTS_PATH)) return giveReceipt(engine, req.path, res, next);
    }
    return meet(req, res, next);
  };
  markHandler(payments, gate);
  return payments;
}

/** Whether a table that stands in a route has a key for it. */
function pricesRoute(gate: TableGate, { methods }: LayerRoute, request: GateRequest): boolean {
  const names = methods["_all"] === true ? ["GET", "POST"] : Object.keys(methods).map((name) => name.toUpperCase());
  return names.some(
    (method) => gate.named(Object.assign(Object.create(request), { method }), [request.mountPath]).kind === "priced",
  );
}

/** Responds with the receipt of a metered response. */
function giveReceipt(engine: PaymentsEngine, url: string, res: Response, next: (error: unknown) => void): void {
  const { pathname } = new URL(url, "http://localhost");
  engine.receipt(pathname.slice(pathname.lastIndexOf("/") + 1)).then((response) => {
    res.setHeader("Access-Control-Allow-Origin", "*");
    writeResponse(res, response);
  }, next);
}

/** For load balancers, which read the status. Names of facilitators and their failures are for the seller. */
function writeHealth(res: Response, { status, store, facilitators, settlements }: PaymentsHealth): void {
  const states = { up: 0, down: 0, unknown: 0 };
  for (const { state } of facilitators) states[state] += 1;
  res.set("Cache-Control", "no-store");
  res.status(status === "ok" || status === "degraded" ? 200 : 503);
  res.json({ status, store, facilitators: states, settlements });
}

/** A route table that prices what passes it, for functions that call it and wait for the response. */
function createPassedHandler(gate: TableGate, seller: Seller): RequestHandler {
  const handler = createTableHandler(gate, seller, { onlyPassing: true });
  const awaited: RequestHandler = function payments(req: GatedRequest, res, next) {
    return new Promise<void>((resolve) => {
      let isFree = false;
      handler(req, res, (error) => {
        next(error);
        isFree = req[ADMITTED] === undefined;
        if (isFree) resolve();
      });
      if (isFree) return;
      if (res.closed) resolve();
      else res.once("close", resolve);
    });
  };
  markHandler(awaited, gate);
  return awaited;
}

/** A handler inside of a route, or a charge that is mounted: Express has found them already. */
function createRouteHandler(gate: RouteGate, seller: Seller): RequestHandler {
  return createHandler(gate, seller, (req, { route }) => {
    if (req.method === "OPTIONS" && !namesMethod(route, "OPTIONS")) return { kind: "preflight" };
    const last = route === undefined ? gate : (chargesOf(route, req.method).at(-1) ?? gate);
    return verdictOf(last, req, route === undefined ? { mounts: [req.baseUrl] } : {});
  });
}

/** How a request has come to a gate. */
interface Arrival {
  /** Whether the routers do not show the gate there. */
  readonly isMarked: boolean;
  /** In which the gate stands. */
  readonly route: LayerRoute | undefined;
}

function createHandler(
  gate: TableGate | RouteGate,
  seller: Seller,
  judge: (req: Request, arrival: Arrival) => Verdict,
): RequestHandler {
  const { inspection } = seller;
  const handler: RequestHandler = function payments(req: GatedRequest, res, next) {
    let isMarked: boolean;
    try {
      isMarked = inspection.meet(req.app, gate, req.baseUrl);
    } catch (error) {
      return next(error);
    }
    if (isMarked) req[MET] = new Map(req[MET]).set(gate as TableGate, req.baseUrl);
    const route = routeOf(req, gate);
    const passage = { req, res, gate, seller, route, proceed: next, fail: next };
    return follow(judge(req, { isMarked, route }), passage);
  };
  markHandler(handler, gate);
  return handler;
}

/** Lets no request through to a handler that is not paid for, however it came here. */
function createGuard(layer: Layer, guarded: Guarded, seller: Seller): LayerHandler {
  const { route } = layer;
  const { tables } = guarded;
  return function guard(req: GatedRequest, res: Response, next: NextFunction): unknown {
    const handler = guarded.handler as unknown as RequestHandler;
    const { [ADMITTED]: admitted, method } = req;
    // The usual case: it was asked for in front, and is what it was.
    const isSame = admitted !== undefined && admitted.method === method && admitted.url === req.baseUrl + req.url;
    const table = isSame || isSameRequest(req) ? (admitted?.gate as TableGate | undefined) : undefined;
    const isAsked = table !== undefined && (tables.has(table) || req[MET]?.has(table) === true);
    const isSold = isAsked && admitted !== undefined && (isSame || isAsAdmitted(admitted, req));
    if (isSold && table.sells(layer, admitted.price.priceId)) return handler(req, res, next);
    // Express gives HEAD to each route of a path, also to those that have no handler for it. A charge in a route is its price.
    const isOther = route !== undefined && (!handles(route, method) || chargesOf(route, method).length > 0);
    if (isOther) return handler(req, res, next);
    const asked = tablesAbove(req, [...tables, ...passedBy(req)]);
    const fullPath = pathOf(req);
    const passFrom = (at: number): unknown => {
      const [gate, mounts] = asked[at] ?? [];
      if (gate === undefined || mounts === undefined) return handler(req, res, next);
      const request = new ExpressRequest(req, gate);
      const reading = gate.readingOf(layer);
      const line = `${method} ${fullPath}`;
      if (reading !== undefined && req[FREE]?.get(reading) === line) return passFrom(at + 1);
      const verdict = gate.atHandler({ handler: layer, request, fullPath, mounts });
      if (reading !== undefined && verdict.kind === "free") req[FREE] = new Map(req[FREE]).set(reading, line);
      return follow(verdict, { req, res, gate, seller, layer, route, proceed: () => passFrom(at + 1), fail: next });
    };
    return passFrom(0);
  };
}

/** What functions that read a path in the same way need not read again: the request, as it was when it was free. */
const FREE = Symbol("farebox.free");

type TableAbove = readonly [gate: TableGate, mounts: readonly string[]];

/** The tables that are mounted above a request's path, or else all of them. */
function tablesAbove(req: Request, tables: readonly TableAbove[]): readonly TableAbove[] {
  if (tables.length < 2) return tables;
  const path = pathOf(req);
  const above = tables.filter(([, mounts]) => mounts.some((mount) => belowThatMount(mount, path) !== undefined));
  return above.length > 0 ? above : tables;
}

/**
 * Marks a request that was paid for or granted. Middleware may pass on an object that inherits from the request. The mark is
 * found there, too, which a WeakMap of requests would not be.
 */
const ADMITTED = Symbol("farebox.admitted");

type Priced = Extract<Verdict, { kind: "priced" }>;

/** What a request was admitted for. */
interface Admitted {
  readonly gate: TableGate | RouteGate;
  readonly price: Priced["price"];
  readonly method: string;
  readonly baseUrl: string;
  readonly path: string;
  /** With its mount and its query. */
  readonly url: string;
  /** Whether another method, path or query could have had another price, or none. */
  readonly isExact: boolean;
  /** The response if middleware makes another request of it. */
  readonly refusal: Priced["refusal"];
}

/** The tables that a request has passed and that price what passes them, with their mounts. */
const MET = Symbol("farebox.met");

type GatedRequest = Request & {
  [ADMITTED]?: Admitted;
  [MET]?: ReadonlyMap<TableGate, string>;
  [FREE]?: ReadonlyMap<object, string>;
};

function passedBy(req: GatedRequest): readonly TableAbove[] {
  return [...(req[MET] ?? [])].map(([gate, mount]) => {
    // Not a template: it comes from the request.
    return [gate, `${req.baseUrl}${req.path}/`.startsWith(`${mount}/`) ? [mount] : []];
  });
}

/** Whether a request was admitted, and no middleware has made another one of it since. */
function isSameRequest(req: GatedRequest): boolean {
  const admitted = req[ADMITTED];
  return admitted !== undefined && admitted.method === req.method && pathIdOf(admitted) === pathIdOf(req);
}

/** Whether it is what it was, as far as its price may depend on that. */
function isAsAdmitted({ isExact, url }: Admitted, req: GatedRequest): boolean {
  return !isExact || (isSameRequest(req) && searchOf(url) === searchOf(req.url));
}

/** The whole path, without what mounts change about its slashes. */
function pathIdOf({ baseUrl, path = "/" }: Pick<Request, "baseUrl" | "path">): string {
  return `${baseUrl}${path}/`.replace(/\/{2,}/g, "/");
}

function searchOf(url: string): string {
  const at = url.indexOf("?");
  return at === -1 ? "" : url.slice(at);
}

/** A request on its way through a gate. */
interface Passage {
  readonly req: GatedRequest;
  readonly res: Response;
  readonly gate: TableGate | RouteGate;
  readonly seller: Seller;
  /** Of the handler that is behind a guard. */
  readonly layer?: Layer;
  /** The route of the handler. */
  readonly route: LayerRoute | undefined;
  readonly proceed: () => unknown;
  readonly fail: (error: unknown) => void;
}

/**
 * Another gate may have a price that is nearer to the handler. It is asked for at once: what stands before it may respond.
 *
 * @param isAlone - There is no other gate.
 */
function follow(found: Verdict, passage: Passage, isAlone = false): unknown {
  const { req, res, seller, layer, route, proceed, fail } = passage;
  let { gate } = passage;
  let verdict = found;
  if (!isAlone && (verdict.kind === "priced" || verdict.kind === "refused"))
    ({ gate, verdict } = seller.inspection.nearest(req, { gate, verdict, layer, route }));
  if (seller.engine.draining.isDraining) closeBehind(res);
  if (verdict.kind === "free") return proceed();
  const admitted = req[ADMITTED];
  if (verdict.kind === "preflight") {
    if (route !== undefined && hasOwnOptions(route)) return proceed();
    // Middleware may have made it of a request that has paid: an error is not charged.
    return admitted === undefined ? writePreflight(route, res) : writeResponse(res, admitted.refusal());
  }
  if (verdict.kind === "refused") return writeResponse(res, verdict.response);
  if (admitted !== undefined) {
    // Another route may have the same price, and other conditions.
    const isSamePrice = admitted.price.priceId === verdict.price.priceId && isSameRequest(req);
    if ((admitted.price === verdict.price || isSamePrice) && isAsAdmitted(admitted, req)) return proceed();
    // Middleware has made another request of it, which has another price.
    return writeResponse(res, verdict.refusal());
  }
  const priced = verdict;
  const decision = priced.decide(new ExpressRequest(req, gate));
  if (!(decision instanceof Promise)) return carryOut(decision, passage, priced);
  // The client may have disconnected meanwhile. Express 4 ignores the promise of a handler that rejects, and Express 5 would make another one.
  return void decision
    .then((decided) => (isDisconnected(res) ? giveBack(decided) : carryOut(decided, passage, priced)))
    .catch(fail);
}

/** The route that a gate is a handler of. Express leaves the last matched route with a request, also behind it. */
function routeOf({ route }: Request, gate: object): LayerRoute | undefined {
  const matched = route as LayerRoute | undefined;
  return matched?.stack.some(({ handle }) => gateOf(handle) === gate) ? matched : undefined;
}

/** OPTIONS never runs a priced handler. */
function writePreflight(route: LayerRoute | undefined, res: Response): void {
  const methods = Object.keys(route?.methods ?? {}).filter((name) => name !== "_all");
  const names = methods.map((name) => name.toUpperCase());
  if (names.length > 0) res.set("Allow", names.join(", "));
  res.status(204).end();
}

function carryOut(decision: Decision, passage: Passage, { price, refusal }: Priced): unknown {
  const { req, res, gate, seller, proceed } = passage;
  if (decision.kind === "pass" && !decision.isGranted) return proceed();
  // Other middleware, a timeout for example, may have responded while the gate decided.
  if (res.headersSent || res.writableEnded) return giveBack(decision);
  if (decision.kind === "respond") {
    const { onClosed: listener } = decision;
    if (listener !== undefined) onClosed(res, { onClosed: listener });
    return writeResponse(res, decision.response);
  }
  // A hook decides by the whole request, as a price by request does.
  const isExact = price.isByRequest || decision.kind === "pass";
  const { method, baseUrl, path } = req;
  req[ADMITTED] = { gate, price, method, baseUrl, path, url: baseUrl + req.url, isExact, refusal };
  removePayment(req, price, decision.kind === "run" ? decision.admission : undefined);
  if (decision.kind === "pass") prepareGranted(res);
  else {
    const { admission } = decision;
    req.payment = admission.payment;
    // The app where it is now: inner apps put themselves in its place while they handle the request.
    if (admission.isHeld) new HeldResponse(res, admission, seller.engine, req.app);
    else preparePrepaid(res, admission, seller.engine);
  }
  return proceed();
}

/** A decision that came too late: nothing is charged, and the same payment can be sent again. */
function giveBack(decision: Decision): void {
  if (decision.kind === "respond") decision.onClosed?.(false);
  if (decision.kind !== "run") return;
  if (decision.admission.isHeld) decision.admission.handlerEnded();
  void decision.admission.cancel();
}
