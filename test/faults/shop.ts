/**
 * A seller, a payer with money, and a facilitator behind HTTP that fails on demand.
 *
 * @module
 */
import type { Payments, RoutesConfig } from "@farebox/express";
import { type PayOptions, type PayResult, type PlannedFault, pay } from "@farebox/testing";
import express, { type Express, type RequestHandler } from "express";
import { onTestFinished, vi } from "vitest";
import { type Business, type BusinessPlan, openBusiness, serve } from "./business.js";

export { PRICE } from "./business.js";

/** What no answer to a client may ever contain. */
export const SECRET = "facilitator-secret-7f3a";

const DEADLINE_MS = 700;

/** Of a shop in a test whose clock {@link stopClock} has stopped. */
export const DEADLINES = { verifyMs: DEADLINE_MS, settleMs: DEADLINE_MS, supportedMs: DEADLINE_MS };

/** Until the test ends, no deadline passes by itself, however long the machine takes. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets the deadline of a call pass that has reached a facilitator which does not respond. */
export async function passDeadline({ reached }: PlannedFault): Promise<void> {
  await reached;
  // The first bytes of a response that never ends are on their way.
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  vi.advanceTimersByTime(DEADLINE_MS);
}

/** What a shop has that is not the usual. */
export interface ShopPlan extends BusinessPlan {
  /** Default: `GET /goods` for `PRICE`. */
  readonly routes?: RoutesConfig;
  /** The handler of `/goods`. Default: JSON that says how often it has run. */
  readonly handler?: RequestHandler;
  /** Puts the app together. Default: the payments, then the goods at `/goods`, then `/free`, which is not priced. */
  readonly build?: (app: Express, payments: RequestHandler, goods: RequestHandler[]) => unknown;
}

/** Everything a fault test needs. It is closed with the test. */
export interface Shop extends Omit<Business, "payments"> {
  readonly url: string;
  /** Resolves once the facilitator was asked what it supports. */
  ready(): ReturnType<Payments["ready"]>;
  /** How often the priced handler has run. */
  readonly runs: () => number;
  /** Asks for `/goods` without paying for it. */
  ask(options?: PayOptions): Promise<PayResult>;
  /** Asks for `/goods` and pays for it. */
  buy(options?: PayOptions): Promise<PayResult>;
  /** A payment for `/goods` that was not sent. */
  sign(options?: PayOptions): Promise<NonNullable<PayResult["payment"]>>;
}

/** Opens the shop. */
export async function openShop(plan: ShopPlan = {}): Promise<Shop> {
  const { payments, ...business } = await openBusiness(plan);
  const { payer } = business;
  let runs = 0;
  const count: RequestHandler = (_req, _res, next) => {
    runs += 1;
    next();
  };
  const sell: RequestHandler = (_req, res) => void res.set("X-Goods", "yes").json({ goods: runs });
  const app = express().set("env", "test");
  const build = plan.build ?? buildDefault;
  build(app, payments.routes(plan.routes ?? { "GET /goods": { price: "$0.01" } }), [count, plan.handler ?? sell]);
  const url = await serve(app);

  const ask: Shop["ask"] = (options) => pay(`${url}/goods`, options);
  return {
    ...business,
    url,
    ready: () => payments.ready(app),
    runs: () => runs,
    ask,
    buy: (options) => ask({ payer, ...options }),
    async sign(options) {
      const { challenge } = await ask(options);
      return payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
    },
  };
}

function buildDefault(app: Express, payments: RequestHandler, goods: RequestHandler[]): void {
  app.use(payments);
  app.get("/goods", ...goods);
  app.get("/free", (_req, res) => void res.json({ free: true }));
}
