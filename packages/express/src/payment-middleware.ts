/**
 * Express middleware: asks the gate, and does as it says.
 *
 * @module
 */
import {
  type Admission,
  createPaymentsEngine,
  createPaymentsGate,
  type Decision,
  type FacilitatorHealth,
  type Gate,
  type Payment,
  type PaymentsEngine,
  type PaymentsOptions,
  type PaymentsReport,
  type RouteConfig,
  type RouteGate,
  type RoutesConfig,
} from "@farebox/core";
import { exactEvm } from "@farebox/evm";
import type { Application, NextFunction, Request, RequestHandler, Response } from "express";
import { isAbandoned, onBrokenOff } from "./delivery.js";
import { markHandler } from "./gate-handlers.js";
import { holdResponse } from "./held-response.js";
import { createInspection, type Inspection } from "./inspection.js";
import { isRouteOfItsMethod, readPlace } from "./read-place.js";
import { readRequest, removePayment } from "./read-request.js";
import { writeAnswer } from "./write-answer.js";

declare global {
  namespace Express {
    interface Request {
      /** The payment that a priced handler works for; absent on free routes. */
      payment?: Payment;
    }
  }
}

const BUILT_IN = [exactEvm()];

const OPEN: Decision = Object.freeze({ kind: "open" });

/** A request that was paid for once passes every further gate: it is never charged twice. */
const admitted = new WeakSet<Request>();

/** One set of options, shared by any number of tables and routes. */
export interface Payments {
  /**
   * Creates the middleware of a route table. Mount it before the routes it prices.
   *
   * @throws ConfigError with every issue at once.
   */
  routes(table: RoutesConfig): RequestHandler;
  /**
   * Creates a handler that prices the route it is put into, `app.get("/report/:id", payments.charge({ … }), handler)`, so
   * that Express's own match is the only match. It takes every path that Express takes.
   *
   * @throws ConfigError with every issue at once.
   */
  charge(route: RouteConfig): RequestHandler;
  /**
   * What is priced and what looks wrong about it.
   *
   * @param app - Whose routes are looked at. Without it only the tables are, until the first request has come.
   */
  report(app?: Application): PaymentsReport;
  /**
   * Checks the routes of an app before the first request, and tells the logger what is priced. Call it when all routes are
   * registered; otherwise the first request does. It waits until each facilitator was asked what it supports, within the
   * deadline for that, and does not mind one that is down.
   *
   * @throws ConfigError (as a rejection) with every finding at once, if `strict` is set.
   */
  ready(app: Application): Promise<PaymentsReport>;
  /** How each facilitator is doing right now, in the order of the options. Asks nobody. */
  health(): readonly FacilitatorHealth[];
  /** Ends what happens in the background, for good. What is under way can still be paid. */
  close(): void;
}

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
    routes: (table) => toTableHandler(engine.routes(table), seller),
    charge: (route) => toRouteHandler(engine.charge(route), seller),
    report: (app) => inspection.report(app),
    async ready(app) {
      await engine.ready();
      return inspection.check(app);
    },
    health: () => engine.health(),
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
    if (req.method === "OPTIONS" && !isRouteOfItsMethod(req)) return OPEN;
    const request = readRequest(req, gate);
    return gate.decide(request, () => readPlace(req, request));
  });
}

function toHandler(
  gate: object,
  { engine, inspection }: Seller,
  decide: (req: Request) => Decision | Promise<Decision>,
): RequestHandler {
  const handler: RequestHandler = function payments(req, res, next) {
    if (admitted.has(req)) return next();
    try {
      inspection.checkOnce(req.app, gate);
    } catch (error) {
      return next(error);
    }
    const carryOut = (decision: Decision) => {
      if (decision.kind === "open") next();
      else if (isAnswered(res)) giveBack(decision);
      else if (decision.kind === "answer") answer(res, decision);
      else admit(decision.admission, engine.holdBytes, { req, res, next });
    };
    const decision = decide(req);
    if (!(decision instanceof Promise)) return carryOut(decision);
    // Express 4 does not look at what a handler returns.
    decision.then(carryOut).catch(next);
  };
  markHandler(handler, gate);
  return handler;
}

function admit(admission: Admission, holdBytes: number, { req, res, next }: Exchange): void {
  admitted.add(req);
  removePayment(req);
  req.payment = admission.payment;
  holdResponse(res, admission, holdBytes);
  next();
}

interface Exchange {
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
}

type Answered = Extract<Decision, { kind: "answer" }>;
type Admitted = Extract<Decision, { kind: "admitted" }>;

/** Whether the client has left, or middleware before us (a timeout, say) has answered, while the gate was deciding. */
function isAnswered(res: Response): boolean {
  return res.headersSent || res.writableEnded || isAbandoned(res);
}

/** What cannot be used any more stays good for the same payment sent again. */
function giveBack(decision: Answered | Admitted): void {
  void (decision.kind === "admitted" ? decision.admission.cancel() : decision.undelivered?.());
}

function answer(res: Response, { answer: given, undelivered }: Answered): void {
  if (undelivered !== undefined) onBrokenOff(res, undelivered);
  writeAnswer(res, given);
}
