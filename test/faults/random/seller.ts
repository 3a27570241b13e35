/**
 * One process of a seller: an app on a server, which may die.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  createPayments,
  type PaymentsOptions,
  type PriceFunction,
  type PriceRequest,
  type RouteConfig,
} from "@farebox/express";
import type { Express, RequestHandler } from "express";
import type { VERSIONS } from "../../express/shop.js";
import { createLatch, type Latch } from "../latch.js";
import type { Notes, Variant } from "./notes.js";
import type { SellerPlan } from "./plan.js";
import type { Connection } from "./shared-store.js";
import type { Time } from "./time.js";

type ExpressModule = (typeof VERSIONS)[number][1];

const TERMS = { network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" } as const;

/** What a request for this costs, in cents. */
export function centsOf({ pricing }: SellerPlan, { wish, model }: Pick<Variant, "wish" | "model">): number {
  if (pricing === "fixed") return 1;
  return pricing === "by body" ? wish : model;
}

function priceOf(plan: SellerPlan): string | PriceFunction {
  const { pricing } = plan;
  if (pricing === "fixed") return "$0.01";
  const read = (request: PriceRequest) => ({
    wish: pricing === "by body" ? (request.body as Variant).wish : 0,
    model: Number(pricing === "by header" ? request.header("x-model") : 0),
  });
  return (request) => `$0.0${centsOf(plan, read(request))}` as "$0.01";
}

/** As many as a step sends at once: one that is never counted out is missed soon. */
export const MAX_RUNS = 4;

/** What a process is made of. */
export interface SellerParts {
  readonly express: ExpressModule;
  readonly plan: SellerPlan;
  readonly facilitators: readonly string[];
  readonly store: Connection;
  readonly handler: RequestHandler;
  readonly notes: Notes;
  readonly time: Time;
}

export interface Seller {
  readonly port: number;
  /** Resolves when a request has come in. */
  arrived(request: number): Promise<void>;
  /** Resolves when the server knows that the connection of a request is over. */
  left(request: number): Promise<void>;
  /** What it waits for. */
  readonly timers: () => number;
  readonly sockets: () => number;
  recover(): Promise<unknown>;
  /** Ends it as one ends a process that is to end. Yields whether all connections had ended by themselves. */
  close(): Promise<boolean>;
  die(): void;
}

/** Starts a process. */
export async function startSeller(parts: SellerParts): Promise<Seller> {
  const { notes, time, store } = parts;
  const timers = time.createTimers();
  const payments = createPayments(toOptions(parts, timers.start));
  const arrivals = createArrivals(notes);
  const app = parts.express();
  // Without this the error pages of both versions quote the stack, and to the console too.
  app.set("env", "test");
  app.use(arrivals.note);
  addRoutes(app, payments, parts);

  const sockets = new Set<Socket>();
  const server = createServer(app).listen(0, "127.0.0.1");
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await once(server, "listening");
  await payments.ready(app);
  const end = () => {
    payments.close();
    server.close();
  };
  return {
    port: (server.address() as AddressInfo).port,
    arrived: arrivals.arrived,
    left: arrivals.left,
    timers: timers.size,
    sockets: () => sockets.size,
    recover: () => payments.recover(),
    async close() {
      for (let turn = 0; sockets.size > 0 && turn < 200_000; turn++) await new Promise(setImmediate);
      const isEmpty = sockets.size === 0;
      end();
      server.closeAllConnections();
      return isEmpty;
    },
    die() {
      store.cut();
      end();
      timers.drop();
      // As the kernel does it: an error, so that nothing in the process keeps a socket open.
      for (const socket of sockets) socket.destroy(new Error("the process died"));
    },
  };
}

function toOptions(
  { plan, facilitators, store, notes, time }: SellerParts,
  timer: NonNullable<PaymentsOptions["timer"]>,
): PaymentsOptions {
  const log = (event: string, fields: object) => void notes.log.push(JSON.stringify({ event, ...fields }));
  return {
    facilitator: facilitators.map((url, at) => ({ url, name: `facilitator ${at}` })),
    deadlines: { verifyMs: 10_000, settleMs: 10_000, supportedMs: 10_000 },
    holdBytes: plan.holdBytes,
    copyWaitMs: plan.copyWaitMs,
    maxRunsPerPayer: MAX_RUNS,
    store: store.store,
    quoteSecret: "the same in all processes of this seller",
    logger: { info: log, warn: log, error: log },
    now: time.now,
    timer,
  };
}

function addRoutes(
  app: Express,
  payments: ReturnType<typeof createPayments>,
  { express, plan, handler }: SellerParts,
): void {
  const route = { accepts: { ...TERMS, price: priceOf(plan) }, settle: plan.settle } as RouteConfig;
  if (plan.pricing === "by body") app.use(express.json());
  const paths = ["/goods", "/more"] as const;
  if (plan.way === "table") {
    app.use(payments.routes({ "POST /goods": route, "POST /more": route }));
    for (const path of paths) app.post(path, handler);
  } else {
    for (const path of paths) app.post(path, payments.charge(route), handler);
  }
}

/** Notes which requests have come in, and which of their answers were handed to the network. */
function createArrivals({ requests }: Notes) {
  const latches = new Map<number, { readonly arrived: Latch; readonly left: Latch }>();
  const latchesOf = (request: number) => {
    const found = latches.get(request) ?? { arrived: createLatch(), left: createLatch() };
    latches.set(request, found);
    return found;
  };
  const note: RequestHandler = (req, res, next) => {
    const id = Number(req.get("x-request") ?? -1);
    const { arrived, left } = latchesOf(id);
    arrived.open();
    req.socket.once("close", left.open);
    res.once("finish", () => {
      const request = requests[id];
      if (request === undefined || req.socket.destroyed) return;
      request.isHandedOver ||= isPaidReceipt(res.getHeader("PAYMENT-RESPONSE"));
    });
    next();
  };
  return {
    note,
    arrived: (request: number) => latchesOf(request).arrived.opened,
    left: (request: number) => latchesOf(request).left.opened,
  };
}

function isPaidReceipt(header: unknown): boolean {
  return typeof header === "string" && Buffer.from(header, "base64").toString().includes('"success":true');
}
