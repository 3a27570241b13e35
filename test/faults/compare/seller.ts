/**
 * A seller in a process of its own, which may hang or end: `fork` with a {@link SellerArguments} as JSON.
 *
 * @module
 */

import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { paymentMiddleware, type RoutesConfig, setSettlementOverrides } from "@farebox/express";
import { sqliteStore } from "@farebox/stores/sqlite";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import {
  paymentMiddleware as referenceMiddleware,
  setSettlementOverrides as setReferenceOverrides,
  x402ResourceServer,
} from "@x402/express";
import express, { type RequestHandler } from "express";
import Database from "libsql";
import type { Library, SellerPlan } from "./failure.js";
import { type Floor, GOODS, type Goods } from "./goods.js";

/** What a seller is started with. */
export interface SellerArguments {
  readonly library: Library;
  readonly plan: SellerPlan;
  readonly facilitatorUrl: string;
  readonly payTo: `0x${string}`;
  /** The payments of several processes. Default: they are in memory. */
  readonly storeFile?: string;
  /** Default: there is one facilitator. */
  readonly spareFacilitatorUrl?: string;
}

/** What a seller says of itself when it is asked. */
export interface Usage {
  readonly kind: "usage";
  readonly runs: number;
  readonly produced: number;
  readonly peakKilobytes: number;
}

/** What a seller sends. */
export type SellerMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "did not start" }
  | { readonly kind: "working" }
  | { readonly kind: "answered" }
  | Usage;

const require = createRequire(import.meta.url);
/** Has no types of its own. */
const cors: () => RequestHandler = require("cors");

const given: SellerArguments = JSON.parse(process.argv[2] ?? "");
const { plan } = given;
const floor: Floor = {
  paidRequests: 0,
  produced: 0,
  tell: (kind) => send({ kind }),
  charge: given.library === "farebox" ? setSettlementOverrides : setReferenceOverrides,
};
let runs = 0;

process.on("message", () => {
  send({ kind: "usage", runs, produced: floor.produced, peakKilobytes: process.resourceUsage().maxRSS });
});
process.on("disconnect", () => process.exit());

const table = makeTable();
if (table === undefined) send({ kind: "did not start" });
else open(table);

function send(message: SellerMessage): void {
  process.send?.(message);
}

function makeTable(): RequestHandler | undefined {
  try {
    return given.library === "farebox" ? sellWithFarebox(given) : sellWithReference(given);
  } catch (error) {
    console.error(error);
    return undefined;
  }
}

function sellWithFarebox({ facilitatorUrl, spareFacilitatorUrl, payTo, storeFile }: SellerArguments): RequestHandler {
  const { patienceMs } = plan;
  const deadlines = patienceMs === undefined ? {} : { verifyMs: patienceMs, settleMs: patienceMs };
  const store = storeFile === undefined ? {} : { store: sqliteStore(new Database(storeFile)) };
  // Some prices are refused, and keys are the failures'.
  const routes = Object.entries(routesFor(payTo)).map(([key, route]) => [
    key,
    plan.isMetered ? { ...route, settle: "metered" } : route,
  ]);
  return paymentMiddleware(Object.fromEntries(routes) as RoutesConfig, {
    facilitator: spareFacilitatorUrl === undefined ? facilitatorUrl : [facilitatorUrl, spareFacilitatorUrl],
    deadlines,
    ...store,
  });
}

function sellWithReference({ facilitatorUrl, spareFacilitatorUrl, payTo }: SellerArguments): RequestHandler {
  const { patienceMs } = plan;
  const patience = patienceMs === undefined ? {} : { timeoutMs: patienceMs };
  const urls = spareFacilitatorUrl === undefined ? [facilitatorUrl] : [facilitatorUrl, spareFacilitatorUrl];
  const server = new x402ResourceServer(urls.map((url) => new HTTPFacilitatorClient({ url, ...patience })));
  for (const network of plan.networks) {
    server.register(network, plan.scheme === "upto" ? new UptoEvmScheme() : new ExactEvmScheme());
  }
  return referenceMiddleware(routesFor(payTo), server);
}

function routesFor(payTo: `0x${string}`) {
  const { key, scheme, networks } = plan;
  const price = typeof plan.price === "string" ? plan.price : moving(plan.price);
  return { [key]: { accepts: networks.map((network) => ({ scheme, price, network, payTo })) } };
}

/** A price that moves each time it is asked for, until it stays. */
function moving(prices: readonly `$${number}`[]): () => `$${number}` {
  const left = [...prices];
  return () => (left.length > 1 ? left.shift() : left[0]) ?? "$0.01";
}

function open(payments: RequestHandler): void {
  const goods: Goods = GOODS[plan.goods];
  const app = express();
  app.use((req, _res, next) => {
    if (req.get("payment-signature") !== undefined) floor.paidRequests += 1;
    next();
  });
  app.use(plan.mount, payments);
  if (plan.cors) app.use(cors());
  app.get("/free", (_req, res) => void res.json({ free: true }));
  app.get(
    plan.path,
    (_req, _res, next) => {
      runs += 1;
      next();
    },
    goods(floor),
  );
  const server = app.listen(0, "127.0.0.1", () => {
    send({ kind: "listening", port: (server.address() as AddressInfo).port });
  });
}
