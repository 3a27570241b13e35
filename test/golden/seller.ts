/**
 * One process of a seller: an app of Express, whose facilitators, store, hooks and events are written down. Its server and its
 * connections stay for the next sequence.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { Duplex } from "node:stream";
import type {
  Facilitator,
  FacilitatorRequest,
  PaymentContext,
  PaymentEvent,
  PaymentEventType,
  PaymentHooks,
  PaymentStore,
} from "@farebox/core";
import {
  createPayments,
  type Payments,
  type PaymentsOptions,
  type PriceRequest,
  type RouteConfig,
} from "@farebox/express";
import express5, { type ErrorRequestHandler, type RequestHandler } from "express";
import { NETWORK, signedOf } from "./bank.js";
import type { Timers } from "./clock.js";
import { createHooks } from "./hooks.js";
import type { SellerPlan } from "./plan.js";
import { digest } from "./random.js";
import { type Scribe, unquoted } from "./records.js";
import { payerOf, SCHEMES, type Variant } from "./wallet.js";
import type { Network } from "./wire.js";

const EXPRESS = { 5: express5, 4: createRequire(import.meta.url)("express4") as typeof express5 } as const;

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** A server whose app changes. */
export class Place {
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #requestOf = new WeakMap<Duplex, number>();
  readonly port: number;
  #app: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
  /** Told when the first byte of a response goes to the network. */
  onFirstByte: (request: number, status: number) => void = () => {};

  constructor(network: Network) {
    this.#server = createServer((req, res) => {
      this.#watch(req, res);
      if (this.#app === undefined) req.socket.destroy();
      else this.#app(req, res);
    });
    this.#server.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      // A client that leaves may reset its connection.
      socket.on("error", () => {});
      socket.once("close", () => void this.#sockets.delete(socket));
    });
    this.port = network.add(this.#server);
  }

  use(app: (req: IncomingMessage, res: ServerResponse) => void): void {
    this.#app = app;
  }

  /** Ends every connection as the death of a process does. */
  cut(): void {
    this.#app = undefined;
    for (const socket of this.#sockets) socket.destroy(new Error("the process died"));
  }

  #watch(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    const request = Number(req.headers["x-request"] ?? -1);
    if (!this.#requestOf.has(socket)) {
      const { write } = socket;
      // Between the response and the network.
      socket.write = ((...args: Parameters<typeof write>) => {
        const current = this.#requestOf.get(socket) ?? -1;
        if (current >= 0) this.onFirstByte(current, statusOf(args[0]));
        this.#requestOf.set(socket, -1);
        return Reflect.apply(write, socket, args);
      }) as typeof write;
    }
    this.#requestOf.set(socket, request);
    res.on("error", () => {});
  }
}

function statusOf(chunk: unknown): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(chunk).slice(0, 20))?.[1] ?? 0);
}

/** What a process is made of. */
export interface SellerParts {
  readonly place: Place;
  readonly plan: SellerPlan;
  readonly scribe: Scribe;
  readonly facilitators: readonly Facilitator[];
  readonly store: PaymentStore;
  readonly timers: Timers;
  readonly handler: RequestHandler;
}

/** Starts a process. */
export async function startSeller(parts: SellerParts): Promise<Payments> {
  const { place, plan, timers, scribe } = parts;
  const payments = createPayments(toOptions(parts, timers));
  for (const type of EVENTS) payments.on(type, (event) => noteEvent(event, scribe));
  const app = EXPRESS[plan.express]();
  // Without this the error pages of both versions quote the stack, and to the console too.
  app.set("env", "test");
  app.disable("x-powered-by");
  const route: RouteConfig = {
    accepts: { scheme: plan.scheme, network: NETWORK, payTo: PAY_TO, price: priceOf(plan) as "$0.01" },
    settle: plan.settle,
    paymentIdentifier: plan.identifier,
    ...(plan.scheme === "upto" && { unmetered: plan.unmetered }),
    ...(plan.validates && {
      validate: ({ header }: PriceRequest) => (header("x-model") === "2" ? "no such model" : undefined),
    }),
  };
  if (plan.pricing === "by body") app.use(EXPRESS[plan.express].json());
  app.get("/free", (_req, res) => void res.json({ free: true }));
  if (plan.way === "table") {
    app.use(payments.routes({ "POST /goods": route, "POST /more": route }));
    for (const path of ["/goods", "/more"]) app.post(path, parts.handler);
  } else {
    for (const path of ["/goods", "/more"]) app.post(path, payments.charge(route), parts.handler);
  }
  // In place of Express's page, which differs by version.
  app.use(failed);
  place.use(app as (req: IncomingMessage, res: ServerResponse) => void);
  await payments.ready(app);
  return payments;
}

/** Express tells it by its four parameters. */
const failed: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error);
  res.status(500).type("text/plain").send("the shop failed");
};

function priceOf({ pricing }: SellerPlan): string | ((request: PriceRequest) => string) {
  if (pricing === "fixed") return "$0.01";
  return (request) => {
    const wish = pricing === "by body" ? (request.body as Variant).wish : Number(request.header("x-model"));
    return `$0.0${wish}`;
  };
}

function toOptions(parts: SellerParts, timers: Timers): PaymentsOptions {
  const { plan, scribe, store } = parts;
  const silent = () => {};
  const names = parts.facilitators.map((_, at) => `facilitator ${at + 1}`);
  return {
    facilitator: parts.facilitators.map((facilitator, at) => ({
      facilitator: noted(facilitator, names[at] ?? "", scribe),
      name: names[at] ?? "",
    })),
    schemes: SCHEMES,
    deadlines: { verifyMs: 10_000, settleMs: 10_000, supportedMs: 10_000 },
    holdBytes: plan.holdBytes,
    copyWaitMs: plan.copyWaitMs,
    maxRunsPerPayer: plan.maxRuns,
    store,
    hooks: plan.hooks === "none" ? ({} as PaymentHooks) : createHooks(plan, scribe),
    quoteSecret: "the same in all processes of this seller",
    logger: { info: silent, warn: silent, error: silent },
    now: scribe.now,
    timer: timers.start,
  };
}

/** Notes what a facilitator is asked, and what it says. */
function noted(facilitator: Facilitator, name: string, scribe: Scribe): Facilitator {
  const follow = async <T extends object>(
    operation: "verify" | "settle",
    request: FacilitatorRequest,
    call: () => Promise<T>,
  ): Promise<T> => {
    const payment = scribe.nameOf(signedOf(request).nonce);
    const put = (text: string) => {
      const lane = scribe.laneOf(payment);
      if (lane !== undefined) scribe.transcript.note("facilitator", lane, `${name} ${text}`);
    };
    const { scheme, amount } = request.paymentRequirements;
    put(
      `${operation} ${scheme} ${amount} of ${payerOf(signedOf(request).payer)}, ${digest(unquoted(JSON.stringify(request)))}`,
    );
    try {
      const response = await call();
      put(`${operation}: ${JSON.stringify(response)}`);
      return response;
    } catch (error) {
      put(`${operation} fails: ${Reflect.get(Object(error), "code")}`);
      throw error;
    }
  };
  return {
    verify: (request, options) => follow("verify", request, () => facilitator.verify(request, options)),
    settle: (request, options) => follow("settle", request, () => facilitator.settle(request, options)),
    supported: (options) => facilitator.supported(options),
  };
}

const EVENTS: readonly PaymentEventType[] = [
  ...([
    "challenged",
    "malformed",
    "mismatched",
    "price_failed",
    "granted",
    "denied",
    "claimed",
    "replayed",
    "verified",
  ] as const),
  ...([
    "invalid",
    "admitted",
    "responded",
    "cancelled",
    "settled",
    "rejected",
    "unsent",
    "unknown",
    "unresolved",
  ] as const),
  ...(["extension_outcome", "hook_failed", "facilitator_called", "facilitator_up", "facilitator_down"] as const),
];

function noteEvent(event: PaymentEvent, scribe: Scribe): void {
  const { type, atMs: _at, ...fields } = event;
  const {
    payment: identity = "",
    payer,
    network: _n,
    asset: _a,
    ...rest
  } = fields as Partial<PaymentContext> & Record<string, unknown>;
  const lane = scribe.laneOf(scribe.nameOf(String(identity)));
  const written = Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`);
  const who = payer === undefined ? [] : [payerOf(payer)];
  if (lane !== undefined) scribe.transcript.note("event", lane, [type, ...who, ...written].join(" "));
}
