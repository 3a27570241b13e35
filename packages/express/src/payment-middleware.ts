/**
 * Express middleware: asks the gate, and does as it says.
 *
 * @module
 */
import { exactAvm } from "@farebox/avm";
import { bazaarExtension } from "@farebox/bazaar";
import {
  type BuiltIn,
  createPaymentsEngine,
  createPaymentsGate,
  type Decision,
  type Gate,
  type HeldAdmission,
  type PaymentsEngine,
  type PaymentsOptions,
  type PrepaidAdmission,
  type RouteGate,
  type RoutesConfig,
} from "@farebox/core";
import { exactEvm, uptoEvm } from "@farebox/evm";
import { exactSvm } from "@farebox/svm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { createDocuments } from "./documents.js";
import { isRouteOfItsMethod, readPlace, readRequest, removePayment } from "./express-request.js";
import { holdResponse } from "./held-response.js";
import type { Payments } from "./payments.js";
import { keepPrivate, markPrepaid, removeConditions } from "./prepaid-response.js";
import { createInspection, type Inspection } from "./router-view.js";
import { markHandler } from "./router-walk.js";
import { isAbandoned, onBrokenOff, writeAnswer } from "./write-response.js";

const BUILT_IN: BuiltIn = {
  schemes: [exactEvm(), uptoEvm(), exactSvm(), exactAvm()],
  extensions: [bazaarExtension()],
};

const FREE: Decision = Object.freeze({ kind: "pass", isGranted: false });

/**
 * On a request that was paid for once, or granted: it passes every further gate, is never charged twice, nor asked to pay. A
 * `WeakSet` would grow with every request until the next full garbage collection, and each entry is looked at by the small ones.
 */
const ADMITTED = Symbol("farebox.admitted");

type Passing = Request & { [ADMITTED]?: true };

/**
 * Checks the options and prepares to take payments.
 *
 * @throws ConfigError with every issue at once.
 */
export function createPayments(options: PaymentsOptions): Payments {
  return toPayments(createPaymentsEngine(options, BUILT_IN));
}

/**
 * Prices the routes of a table: `app.use(paymentMiddleware({ "GET /weather": { … } }, { facilitator: "https://…" }))`.
 *
 * @throws ConfigError with every issue of table and options at once.
 */
export function paymentMiddleware(table: RoutesConfig, options: PaymentsOptions): RequestHandler {
  const { engine, gate } = createPaymentsGate(table, options, BUILT_IN);
  return toTableHandler(gate, { engine, inspection: createInspection(engine) });
}

function toPayments(engine: PaymentsEngine): Payments {
  const inspection = createInspection(engine);
  const seller = { engine, inspection };
  return {
    engine,
    ...createDocuments(engine),
    routes: (table) => toTableHandler(engine.routes(table), seller),
    charge: (route) => toRouteHandler(engine.charge(route), seller),
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

interface Seller {
  readonly engine: PaymentsEngine;
  readonly inspection: Inspection;
}

function toTableHandler(gate: Gate, seller: Seller): RequestHandler {
  return toHandler(gate, seller, (req) => gate.decide(readRequest(req, gate)));
}

/** OPTIONS is how browsers ask before they pay, so it is free unless the route is for OPTIONS. */
function toRouteHandler(gate: RouteGate, seller: Seller): RequestHandler {
  return toHandler(gate, seller, (req) => {
    if (req.method === "OPTIONS" && !isRouteOfItsMethod(req)) return FREE;
    const request = readRequest(req, gate);
    return gate.decide(request, () => readPlace(req, request));
  });
}

function toHandler(
  gate: object,
  { engine, inspection }: Seller,
  decide: (req: Request) => Decision | Promise<Decision>,
): RequestHandler {
  const handler: RequestHandler = function payments(req: Passing, res, next) {
    if (req[ADMITTED]) return next();
    try {
      inspection.checkOnce(req.app, gate);
    } catch (error) {
      return next(error);
    }
    const exchange = { req, res, next, holdBytes: engine.holdBytes };
    const decision = decide(req);
    if (decision instanceof Promise) void carryOutLater(decision, exchange);
    else carryOut(decision, exchange);
  };
  markHandler(handler, gate);
  return handler;
}

/** Express 4 does not look at what a handler returns. */
async function carryOutLater(decision: Promise<Decision>, exchange: Exchange): Promise<void> {
  try {
    carryOut(await decision, exchange);
  } catch (error) {
    exchange.next(error);
  }
}

function carryOut(decision: Decision, exchange: Exchange): void {
  if (decision.kind === "pass" && !decision.isGranted) exchange.next();
  else if (isAnswered(exchange.res)) giveBack(decision);
  else if (decision.kind === "pass") grant(exchange);
  else if (decision.kind === "respond") respond(exchange.res, decision);
  else if (decision.admission.isHeld) admit(decision.admission, exchange);
  else admitPrepaid(decision.admission, exchange);
}

/** The payment of a client that need not pay stays unused, and is nobody's business behind us. */
function grant({ req, res, next }: Exchange): void {
  req[ADMITTED] = true;
  removePayment(req);
  keepPrivate(res);
  next();
}

function admit(admission: HeldAdmission, { req, res, next, holdBytes }: Exchange): void {
  req[ADMITTED] = true;
  removePayment(req);
  req.payment = admission.payment;
  holdResponse(res, admission, holdBytes);
  next();
}

function admitPrepaid(prepaid: PrepaidAdmission, { req, res, next }: Exchange): void {
  req[ADMITTED] = true;
  removePayment(req);
  removeConditions(req);
  req.payment = prepaid.payment;
  markPrepaid(res, prepaid);
  next();
}

interface Exchange {
  readonly req: Passing;
  readonly res: Response;
  readonly next: NextFunction;
  /** How much of an answer is held back. */
  readonly holdBytes: number;
}

type Responded = Extract<Decision, { kind: "respond" }>;

/** Whether the client has left, or middleware before us (a timeout, say) has answered, while the gate was deciding. */
function isAnswered(res: Response): boolean {
  return res.headersSent || res.writableEnded || isAbandoned(res);
}

/** What cannot be used any more stays good for the same payment sent again. */
function giveBack(decision: Decision): void {
  if (decision.kind === "respond") void decision.undelivered?.();
  else if (decision.kind === "run") void decision.admission.cancel();
}

function respond(res: Response, { response, undelivered }: Responded): void {
  if (undelivered !== undefined) onBrokenOff(res, undelivered);
  writeAnswer(res, response);
}
