/**
 * The seller's API: `Payments`, the documents, `req.payment` and settlement overrides.
 *
 * @module
 */
import type { Server } from "node:http";
import type { LlmsTxtOptions, OpenApiOptions } from "@farebox/bazaar";
import type {
  Listing,
  Payment,
  PaymentEventType,
  PaymentListener,
  PaymentsEngine,
  PaymentsHealth,
  PaymentsLedger,
  PaymentsReport,
  Recovery,
  RouteByHand,
  RouteConfig,
  RoutesConfig,
  SaleByHand,
} from "@farebox/core";
import type { Application, RequestHandler, Response } from "express";

declare global {
  namespace Express {
    interface Request {
      /** The payment for this request. Absent on free routes. */
      payment?: Payment;
    }
  }
}

/** How a table is used. */
export interface TableOptions {
  /**
   * Prices only requests that pass the middleware, as other middleware does: a route before it is free, and a router beside it.
   * The middleware returns a promise that resolves when the response is over. Default `false`: a table prices each handler that one
   * of its keys names, wherever both stand.
   */
  readonly onlyPassing?: boolean;
}

/** One set of options, shared by any number of tables and routes. */
export interface Payments extends Documents {
  /** The engine behind this object, for other adapters such as `@farebox/mcp`: the same facilitators, store, hooks and events. */
  readonly engine: PaymentsEngine;
  /**
   * Creates the middleware of a route table. Mount it before the routes it prices.
   *
   * @throws ConfigError with every issue at once.
   */
  routes(table: RoutesConfig, options?: TableOptions): RequestHandler;
  /**
   * Creates a handler that prices the route it stands in: `app.get("/report/:id", payments.charge({ … }), handler)`. Express
   * matches the path, so every path that Express accepts works.
   *
   * @throws ConfigError with every issue at once.
   */
  charge(route: RouteConfig): RequestHandler;
  /**
   * Sells a resource by hand, for code that responds with 402, verifies and settles by itself: other frameworks, WebSockets,
   * queues. One payment buys once, as with the middleware.
   *
   * @throws ConfigError with every issue at once.
   */
  byHand(route: RouteByHand): SaleByHand;
  /**
   * Reports the prices and findings about them.
   *
   * @param app - The app whose routes are compared with the prices. Default: the app that was checked last, by `ready` or by its
   *   first request. Before that, only the prices are reported.
   */
  report(app?: Application): PaymentsReport;
  /**
   * Compares the prices with the routes of an app and logs what is priced. Call it when all routes are registered; otherwise
   * the first request does. It first asks every facilitator what it supports, and every node of `rpc`, for up to 8 seconds,
   * whether payees can be paid. A facilitator or node that is down is no error.
   *
   * Rejects if the store cannot be used: no connection, no table, a server that is too old.
   *
   * @throws ConfigError (as a rejection) with every finding by which a priced route may be free, or because several processes have
   *   no store in common; with `strict: true` every finding; with `strict: false` none.
   */
  ready(app: Application): Promise<PaymentsReport>;
  /**
   * Returns what a facilitator last said about listing a route in its catalog.
   *
   * @param route - The key, `"GET /weather"`; for `charge`, method and path in the syntax of catalogs.
   * @returns `undefined` until a facilitator has said something.
   */
  listing(route: string): Listing | undefined;
  /**
   * Creates a handler that responds with the receipts of metered responses, for sellers without a table at the top of their app:
   * `app.get("/.well-known/x402/receipts/:name", payments.receipts())`. A table there responds by itself.
   */
  receipts(): RequestHandler;
  /**
   * Forgets what a payer owes for metered responses, so that it gets more of them. Returns for how many payments. They still settle, if they
   * can. Rejects if the store fails.
   *
   * @param payer - Its address.
   */
  forgive(payer: string): Promise<number>;
  /**
   * What was sold: one entry for each settled payment, as durable as the store. Of tables, routes, sales by hand and MCP tools.
   *
   * @example for await (const { settledAtMs, payer, amount } of payments.ledger.entries({ since: "2026-11-01" })) …
   */
  readonly ledger: PaymentsLedger;
  /**
   * Returns all metrics in the text format of Prometheus, for sellers without a collector. The option `metrics` counts them.
   *
   * @example app.get("/metrics", (_req, res) => void res.type("text/plain; version=0.0.4").send(payments.metrics()));
   * @throws ConfigError without the option `metrics`.
   */
  metrics(): string;
  /**
   * Returns how the store, each facilitator (in the order of the options) and the settlements are doing. Asks the store, at most once a
   * second; sends no request to a facilitator. Never rejects.
   *
   * @example { status: "ok", store: { ok: true }, facilitators: […], settlements: { inFlight: 3, unknown: 0 } }
   */
  health(): Promise<PaymentsHealth>;
  /**
   * Creates a handler that responds with the health, for load balancers: `app.get("/healthz", payments.healthz())`. 200 for `ok` and
   * `degraded`, 503 for `failing` and `draining`. Put it in front of tables that price all paths.
   */
  healthz(): RequestHandler;
  /**
   * Listens to events: `on("settled", ({ payer, amount }) => …)`. Returns a function that removes the listener. A listener
   * that throws is logged and changes nothing.
   *
   * @throws ConfigError when no event has that type.
   */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /**
   * Finishes the settlements that a dead process left in a durable store, and returns their outcomes. It also starts by itself when
   * the first table or route is created. Unknown outcomes are retried until they are known. Rejects when the store fails.
   */
  recover(): Promise<Recovery>;
  /**
   * Stops all background work for good. From now on the health is `draining`. Requests in flight can still be paid. Resolves when the store
   * has what was written behind responses; the log says what is still under way. Call it before the store's client is closed.
   *
   * @param options - `drainMs`: waits so long at most, 0 to 3600000, for payments under way. Once a load balancer was told, or at once
   * if none asks, new payments get 503 with `Retry-After`. Default: they are taken, and not waited for.
   * @throws ConfigError if `drainMs` is not such a number.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
  /**
   * Ends a server and its payments, in order: the load balancer is told, the listener and idle connections close, payments and responses
   * under way end, background work stops, and the store closes what it has opened. Connections that are left after `drainMs` are cut off.
   * Then close the store's client.
   *
   * @example process.once("SIGTERM", () => payments.shutdown(server).then(() => client.close()));
   * @param server - Of `app.listen()`, `http.createServer` or `https.createServer`.
   * @param options - `drainMs`: 0 to 3600000, default 30000.
   * @throws ConfigError (as a rejection) if it is no server, or `drainMs` is not such a number.
   */
  shutdown(server: Server, options?: { readonly drainMs?: number }): Promise<void>;
}

/** Documents about the priced routes and MCP tools. Each is served only where the seller registers its handler. */
export interface Documents {
  /** A list of the priced routes, for `app.get("/.well-known/x402", …)`. */
  wellKnown(): RequestHandler;
  /**
   * An OpenAPI 3.1 document, for `app.get("/openapi.json", …)`.
   *
   * @throws ConfigError when it has no title.
   */
  openapi(options: OpenApiOptions): RequestHandler;
  /**
   * A text for agents, for `app.get("/llms.txt", …)`.
   *
   * @throws ConfigError when it has no title.
   */
  llmsTxt(options: LlmsTxtOptions): RequestHandler;
}

/** The amount to charge, of what was authorized. */
export interface SettlementOverrides {
  /** `"10000"` atomic units, `"12.34%"` of the maximum, or `"$0.0123"` if the price is in dollars. `"0"` charges nothing. */
  readonly amount: string;
}

/**
 * Sets the amount to charge for a response, where the scheme allows less than was authorized (`upto`). The last call before the
 * response ends or streams counts. On a request without a payment it does nothing.
 *
 * @throws AmountError when the amount is invalid, or more than was authorized: `req.payment.maxAmount`.
 * @throws StateError when the scheme takes all or nothing and this is not all, or the response has gone out.
 */
export function setSettlementOverrides(res: Response, overrides: SettlementOverrides): void {
  // A value that has no amount is refused like any other bad amount.
  const { amount }: Partial<SettlementOverrides> = Object(overrides);
  res.req.payment?.settle(amount as string);
}
