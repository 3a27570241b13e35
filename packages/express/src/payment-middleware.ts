/**
 * Express middleware: asks the gate, and does as it says.
 *
 * @module
 */
import {
  createPaymentsEngine,
  createPaymentsGate,
  type Decision,
  type Payment,
  type PaymentsGate,
  type PaymentsOptions,
  type RoutesConfig,
} from "@farebox/core";
import { exactEvm } from "@farebox/evm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { holdResponse } from "./held-response.js";
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

/** A request that was paid for once passes every further table: it is never charged twice. */
const admitted = new WeakSet<Request>();

/** One set of options, shared by any number of route tables. */
export interface Payments {
  /**
   * Creates the middleware of a route table. Mount it before the routes it prices.
   *
   * @throws ConfigError with every issue at once.
   */
  routes(table: RoutesConfig): RequestHandler;
}

/**
 * Checks the options and prepares to take payments.
 *
 * @throws ConfigError with every issue at once.
 */
export function createPayments(options: PaymentsOptions): Payments {
  const createGate = createPaymentsEngine(options, BUILT_IN);
  return { routes: (table) => toHandler(createGate(table)) };
}

/**
 * Prices the routes of a table: `app.use(paymentMiddleware({ "GET /weather": { … } }, { facilitator: "https://…" }))`.
 *
 * @throws ConfigError with every issue of table and options at once.
 */
export function paymentMiddleware(table: RoutesConfig, options: PaymentsOptions): RequestHandler {
  return toHandler(createPaymentsGate(table, options, BUILT_IN));
}

function toHandler(gate: PaymentsGate): RequestHandler {
  const { holdBytes } = gate;
  return function payments(req, res, next) {
    if (admitted.has(req)) return next();
    gate.decide(readRequest(req)).then((decision) => carryOut(decision, { req, res, next, holdBytes }), next);
  };
}

interface Exchange {
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
  readonly holdBytes: number;
}

function carryOut(decision: Decision, { req, res, next, holdBytes }: Exchange): void {
  switch (decision.kind) {
    case "open":
      next();
      break;
    case "answer":
      if (decision.undelivered !== undefined) onBrokenOff(res, decision.undelivered);
      writeAnswer(res, decision.answer);
      break;
    case "admitted":
      admitted.add(req);
      removePayment(req);
      req.payment = decision.admission.payment;
      holdResponse(res, decision.admission, holdBytes);
      next();
      break;
    default:
      decision satisfies never;
  }
}

function onBrokenOff(res: Response, undelivered: () => Promise<void>): void {
  res.once("close", () => {
    if (!res.writableFinished) void undelivered();
  });
}
