/**
 * The object that a seller calls, and how a handler says the amount.
 *
 * @module
 */
import type {
  FacilitatorHealth,
  Listing,
  Payment,
  PaymentEventType,
  PaymentListener,
  PaymentsEngine,
  PaymentsReport,
  Recovery,
  RouteConfig,
  RoutesConfig,
} from "@farebox/core";
import type { Application, RequestHandler, Response } from "express";
import type { Documents } from "./documents.js";

declare global {
  namespace Express {
    interface Request {
      /** The payment that a priced handler works for; absent on free routes. */
      payment?: Payment;
    }
  }
}

/** One set of options, shared by any number of tables and routes. */
export interface Payments extends Documents {
  /** What decides, for other adapters to share, such as `@farebox/mcp`: the same facilitators, store, hooks and events. */
  readonly engine: PaymentsEngine;
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
   * deadline for that, and each node of `rpc`, for 8 seconds at most, whether payees can be paid; it does not mind one that
   * is down.
   *
   * @throws ConfigError (as a rejection) with every finding at once, if `strict` is set.
   */
  ready(app: Application): Promise<PaymentsReport>;
  /**
   * What a facilitator said last about listing a route in its catalog: `{ status: "success", … }`, or why not.
   *
   * @param route - Its key, `"GET /weather"`; for `charge`, method and path in the syntax of catalogs.
   * @returns `undefined` as long as no facilitator has said anything, as after a start.
   */
  listing(route: string): Listing | undefined;
  /** How each facilitator is doing right now, in the order of the options. Asks nobody. */
  health(): readonly FacilitatorHealth[];
  /**
   * Listens for what becomes of requests and payments: `on("settled", ({ payer, amount }) => …)`. Yields what ends that. A
   * listener that throws is logged and changes nothing.
   *
   * @throws ConfigError when there are no events of that type.
   */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /**
   * Takes up the settlements that a dead process has left in a durable store, and says what came of them. It happens by
   * itself when the first table or route is created; settlements that stay unknown are tried again until they are known.
   * Rejects when the store fails.
   */
  recover(): Promise<Recovery>;
  /** Ends what happens in the background, for good. What is under way can still be paid. */
  close(): void;
}

/** How much is charged of what was authorized. */
export interface SettlementOverrides {
  /** `"10000"` atomic units, `"12.34%"` of the maximum, or `"$0.0123"`; `"0"` charges nothing. */
  readonly amount: string;
}

/**
 * Says how much is charged for an answer, where the scheme allows less than was authorized (`upto`). The last call counts, up to
 * the end of the answer, or its flushing. Of a request that was served without payment it says nothing.
 *
 * @throws AmountError when it is no amount, or more than was authorized: `req.payment.maxAmount`.
 * @throws StateError when the scheme takes all or nothing, or the answer has gone out.
 */
export function setSettlementOverrides(res: Response, { amount }: SettlementOverrides): void {
  res.req.payment?.settle(amount);
}
