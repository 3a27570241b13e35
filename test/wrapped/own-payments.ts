/**
 * Shops of the test's own layout, whose `payments` the test has in hand.
 *
 * @module
 */
import { createPayments, type Payments, type PaymentsOptions } from "@farebox/express";
import type express5 from "express";
import type { Express, RequestHandler } from "express";
import { openServer, PATIENT, PAY_TO, type Shop } from "../express/shop.js";
import { outcomeOf } from "./wrapped-shop.js";

export const PRICE = { price: "$0.01" } as const;

/** A response that proves that the handler was reached. */
export const reached: RequestHandler = (req, res) => void res.set("X-Reached", "1").send(req.originalUrl);

export interface OwnShop extends Shop {
  readonly app: Express;
  readonly payments: Payments;
  /** What comes for `POST /all` without a payment. */
  outcome(request: string): Promise<string>;
  /** What comes for it with one. */
  paidOutcome(request: string): Promise<string>;
}

/** Opens a shop for the time of the test. Nothing was asked of it yet. */
export async function openOwnShop(
  express: typeof express5,
  build: (app: Express, payments: Payments) => void,
  options: Partial<PaymentsOptions> = {},
): Promise<OwnShop> {
  let own: Pick<OwnShop, "app" | "payments"> | undefined;
  const shop = await openServer(express, (app, { facilitator }) => {
    const payments = createPaymentsOf({ facilitator, ...options });
    own = { app, payments };
    build(app, payments);
  });
  return Object.assign(shop, own, {
    outcome: async (request: string) => outcomeOf(await shop.ask(requestOf(request))),
    paidOutcome: async (request: string) => outcomeOf(await shop.pay(requestOf(request))),
  }) as OwnShop;
}

export function createPaymentsOf(options: Pick<PaymentsOptions, "facilitator"> & Partial<PaymentsOptions>): Payments {
  return createPayments({
    payTo: { "eip155:*": PAY_TO },
    networks: ["eip155:84532"],
    deadlines: PATIENT,
    logger: { info() {}, warn() {}, error() {} },
    ...options,
  });
}

/** `POST /all`. */
export function requestOf(text: string): { readonly method: string; readonly path: string } {
  const [method = "", path = ""] = text.split(" ");
  return { method, path };
}

/** What comes for each of some requests, in order, without a payment. */
export async function outcomesOf(shop: OwnShop, requests: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const request of requests) found[request] = await shop.outcome(request);
  return found;
}

/** The same for all of them. */
export function each(requests: readonly string[], outcome: string): Record<string, string> {
  return Object.fromEntries(requests.map((request) => [request, outcome]));
}
