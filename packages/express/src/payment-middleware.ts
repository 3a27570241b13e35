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
  type Payment,
  type PaymentsGate,
  type PaymentsOptions,
  type RoutesConfig,
} from "@farebox/core";
import { exactEvm } from "@farebox/evm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { isAbandoned, onBrokenOff } from "./delivery.js";
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
  return function payments(req, res, next) {
    if (admitted.has(req)) return next();
    const decided = gate.decide(readRequest(req)).then((decision) => {
      if (decision.kind === "open") next();
      else if (isAnswered(res)) giveBack(decision);
      else if (decision.kind === "answer") answer(res, decision);
      else admit(decision.admission, gate.holdBytes, { req, res, next });
    });
    // Express 4 does not look at what a handler returns.
    decided.catch(next);
  };
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
