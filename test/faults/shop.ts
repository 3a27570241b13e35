/**
 * A seller, a payer with money, and a facilitator behind HTTP that fails on demand.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPayments, type Payments, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import {
  createPayer,
  type FacilitatorServer,
  type Payer,
  type PayOptions,
  type PayResult,
  pay,
} from "@farebox/testing";
import express, { type Express, type RequestHandler } from "express";
import { onTestFinished } from "vitest";
import { type Bank, openLedger } from "./bank.js";

/** What no answer to a client may ever contain. */
export const SECRET = "facilitator-secret-7f3a";

/** What the payer has before anything is bought. */
const PURSE = 1_000_000n;

/** What `/goods` costs, a cent, in atomic units. */
export const PRICE = 10_000n;

/** Short enough for a test to wait for, and long enough for a busy machine to answer in. */
export const DEADLINES = { verifyMs: 700, settleMs: 700, supportedMs: 700 };

/** What a shop has that is not the usual. */
export interface ShopPlan {
  /** Default: a ledger of the shop's own. */
  readonly bank?: Bank;
  /** Default: `GET /goods` for {@link PRICE}. */
  readonly routes?: RoutesConfig;
  readonly options?: Partial<PaymentsOptions>;
  /** The handler of `/goods`. Default: JSON that says how often it has run. */
  readonly handler?: RequestHandler;
  /** Puts the app together. Default: the payments, then the goods at `/goods`, then `/free`, which is not priced. */
  readonly build?: (app: Express, payments: RequestHandler, goods: RequestHandler[]) => unknown;
}

/** Everything a fault test needs. It is closed with the test. */
export interface Shop {
  readonly url: string;
  readonly payer: Payer;
  readonly payTo: `0x${string}`;
  /** Resolves once the facilitator was asked what it supports. */
  ready(): ReturnType<Payments["ready"]>;
  readonly facilitatorServer: FacilitatorServer;
  /** How often the priced handler has run. */
  readonly runs: () => number;
  /** What has been paid to the seller, in atomic units. */
  income(): Promise<bigint>;
  /** What the payer has paid to anybody, in atomic units. */
  spent(): Promise<bigint>;
  /** How often the facilitator was told to settle. */
  settlements(): number;
  /** Asks for `/goods` without paying for it. */
  ask(options?: PayOptions): Promise<PayResult>;
  /** Asks for `/goods` and pays for it. */
  buy(options?: PayOptions): Promise<PayResult>;
  /** A payment for `/goods` that was not sent. */
  sign(options?: PayOptions): Promise<NonNullable<PayResult["payment"]>>;
}

/** Opens the shop. */
export async function openShop(plan: ShopPlan = {}): Promise<Shop> {
  const bank = plan.bank ?? (await openOwnLedger());
  const [payer, { address: payTo }] = [createPayer(), createPayer()];
  await bank.fund(payer.address, PURSE);
  const payments = createPayments({
    facilitator: bank.server.url,
    networks: ["eip155:84532"],
    payTo: { "eip155:*": payTo },
    ...plan.options,
  });
  onTestFinished(() => payments.close());

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

  const settledBefore = countSettlements(bank);
  const ask: Shop["ask"] = (options) => pay(`${url}/goods`, options);
  return {
    url,
    payer,
    payTo,
    ready: () => payments.ready(app),
    facilitatorServer: bank.server,
    runs: () => runs,
    income: () => bank.balanceOf(payTo),
    spent: async () => PURSE - (await bank.balanceOf(payer.address)),
    settlements: () => countSettlements(bank) - settledBefore,
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

async function openOwnLedger(): Promise<Bank> {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  return bank;
}

async function serve(app: Express): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function countSettlements({ server }: Bank): number {
  return server.requests.filter(({ operation }) => operation === "settle").length;
}
