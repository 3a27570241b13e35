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
import type { PaymentsEngine, PaymentsOptions, RoutesConfig } from "@farebox/core";
import {
  type Admission,
  type BuiltIn,
  createPaymentsEngine,
  createPaymentsGate,
  type Decision,
  type RouteGate,
  type TableGate,
} from "@farebox/core/adapter";
import { exactEvm, uptoEvm } from "@farebox/evm";
import { exactSvm } from "@farebox/svm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { isDisconnected } from "./connection.js";
import { createDocuments } from "./documents.js";
import { isRouteOfItsMethod, readPlace, readRequest, removePayment } from "./express-request.js";
import { holdResponse } from "./held-response.js";
import type { Payments } from "./payments.js";
import { prepareGranted, preparePrepaid } from "./prepaid-response.js";
import { writeResponse } from "./response-head.js";
import { createInspection, type Inspection, isPricedIn } from "./router-view.js";
import { markHandler } from "./router-walk.js";

const BUILT_IN: BuiltIn = {
  schemes: [exactEvm(), uptoEvm(), exactSvm(), exactAvm()],
  extensions: [bazaarExtension()],
};

/**
 * Prices the routes of a table: `app.use(paymentMiddleware({ "GET /weather": { … } }, { facilitator: "https://…" }))`.
 *
 * @throws ConfigError with every issue of table and options at once.
 */
export function paymentMiddleware(table: RoutesConfig, options: PaymentsOptions): RequestHandler {
  const { engine, gate } = createPaymentsGate(table, options, BUILT_IN);
  return createTableHandler(gate, engine, createInspection(engine));
}

/**
 * Checks the options and prepares to take payments, for several tables and routes.
 *
 * @throws ConfigError with every issue at once.
 */
export function createPayments(options: PaymentsOptions): Payments {
  const engine = createPaymentsEngine(options, BUILT_IN);
  const inspection = createInspection(engine);
  return {
    engine,
    ...createDocuments(engine),
    routes: (table) => createTableHandler(engine.routes(table), engine, inspection),
    charge: (route) => createRouteHandler(engine.charge(route), engine, inspection),
    report: (app) => inspection.report(app),
    async ready(app) {
      await engine.ready();
      return inspection.check(app);
    },
    listing: (route) => engine.listing(route),
    health: () => engine.health(),
    on: (type, listener) => engine.on(type, listener),
    recover: () => engine.recover(),
    close: () => engine.close(),
  };
}

/** A route table: the gate finds the key that prices a request. */
function createTableHandler(gate: TableGate, engine: PaymentsEngine, inspection: Inspection): RequestHandler {
  return createHandler(gate, engine, inspection, (req) => gate.decide(readRequest(req, gate)));
}

/** A handler inside of a route: Express has found the route already. */
function createRouteHandler(gate: RouteGate, engine: PaymentsEngine, inspection: Inspection): RequestHandler {
  return createHandler(gate, engine, inspection, (req) => {
    // Browsers send OPTIONS before a request, without a payment. It is free unless the route was registered for it.
    if (req.method === "OPTIONS" && !isRouteOfItsMethod(req)) return { kind: "pass", isGranted: false };
    const request = readRequest(req, gate);
    return gate.decide(request, () => readPlace(req, request));
  });
}

/**
 * Marks a request that was paid for or granted: it passes every further gate. Middleware may pass on an object that inherits from
 * the request. The mark is found there, too, which a WeakSet of requests would not be.
 */
const ADMITTED = Symbol("farebox.admitted");

type GatedRequest = Request & { [ADMITTED]?: true };

function createHandler(
  gate: TableGate | RouteGate,
  engine: PaymentsEngine,
  inspection: Inspection,
  decide: (req: Request) => Decision | Promise<Decision>,
): RequestHandler {
  const handler: RequestHandler = function payments(req: GatedRequest, res, next) {
    if (req[ADMITTED]) return next();
    try {
      inspection.checkOnce(req.app, gate);
    } catch (error) {
      return next(error);
    }
    const exchange = { req, res, next, holdBytes: engine.holdBytes };
    const decision = decide(req);
    if (!(decision instanceof Promise)) return carryOut(decision, exchange);
    // Express 4 ignores the promise of a handler that rejects.
    decision.then((decided) => carryOut(decided, exchange)).catch(next);
  };
  markHandler(handler, gate);
  return handler;
}

interface Exchange {
  readonly req: GatedRequest;
  readonly res: Response;
  readonly next: NextFunction;
  /** How much of a response is held. */
  readonly holdBytes: number;
}

function carryOut(decision: Decision, { req, res, next, holdBytes }: Exchange): void {
  if (decision.kind === "pass" && !decision.isGranted) {
    next();
  } else if (isOver(res)) {
    giveBack(decision);
  } else if (decision.kind === "respond") {
    writeResponse(res, decision.response);
  } else {
    req[ADMITTED] = true;
    removePayment(req);
    if (decision.kind === "pass") prepareGranted(res);
    else prepareRun(decision.admission, req, res, holdBytes);
    next();
  }
}

function prepareRun(admission: Admission, req: Request, res: Response, holdBytes: number): void {
  req.payment = admission.payment;
  // Where it is now: inner apps put themselves in its place while they handle the request.
  const { app } = req;
  if (admission.isHeld) holdResponse(res, admission, holdBytes, (method, path) => isPricedIn(app, method, path));
  else preparePrepaid(req, res, admission);
}

/** Whether the client disconnected, or other middleware (a timeout, for example) responded, while the gate decided. */
function isOver(res: Response): boolean {
  return res.headersSent || res.writableEnded || isDisconnected(res);
}

/** A decision that came too late: nothing is charged, and the same payment can be sent again. */
function giveBack(decision: Decision): void {
  if (decision.kind !== "run") return;
  if (decision.admission.isHeld) decision.admission.handlerEnded();
  void decision.admission.cancel();
}
