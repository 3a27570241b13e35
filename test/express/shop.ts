/**
 * A shop for tests: a real server with priced routes, on Express 5 or 4.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type Server, type ServerOptions } from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { PaymentPayload } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import { type PaymentsOptions, paymentMiddleware, type RouteConfig, type RoutesConfig } from "@farebox/express";
import { createPayer, type Payer, type PayOptions, type PayResult, pay } from "@farebox/testing";
import express5, { type Express, type RequestHandler, type Response } from "express";
import { expect, onTestFinished } from "vitest";
import { createShopFacilitator, type ShopFacilitator } from "./shop-facilitator.js";

type ExpressModule = typeof express5;

const require = createRequire(import.meta.url);

/** Both versions of Express. Express 4 has no types of its own here. */
export const EXPRESSES: readonly (readonly [name: string, express: ExpressModule])[] = [
  ["Express 5", express5],
  ["Express 4", require("express4")],
];

/** Those that every test of the adapter runs on. `pnpm test` sets the variable to 5, and `test:express4` runs the others. */
export const VERSIONS = EXPRESSES.filter(([name]) => name.endsWith(process.env["FAREBOX_EXPRESS"] ?? ""));

/** For what Express has no part in. */
export const NEWEST = VERSIONS.filter(([name]) => name === "Express 5");

export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** A cent. */
export const PRICED: RouteConfig = {
  accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO },
  description: "Tested",
};

/** Failures are on purpose here. Without a logger they would be on stderr. */
const QUIET = { info() {}, warn() {}, error() {} };

/** The facilitator is in this process: a call that takes long is no failure. */
export const PATIENT = { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 };

/**
 * Where other servers are in this process: their responses come before the first request for the shop, and its tables would seem to be in no
 * app. Findings are for the logger.
 */
export const LENIENT = { strict: false } as const;

export interface ShopPlan {
  /** The handler of `/paid`, for every method. */
  readonly handler?: RequestHandler;
  /** Builds the app. Default: `before`, the payments, `behind`, then `/free` and `/paid`. */
  readonly build?: (app: Express, payments: RequestHandler, shop: { readonly facilitator: ShopFacilitator }) => void;
  readonly before?: readonly RequestHandler[];
  readonly behind?: readonly RequestHandler[];
  readonly routes?: RoutesConfig;
  readonly options?: Partial<PaymentsOptions>;
  readonly server?: ServerOptions;
}

export interface Shop {
  readonly facilitator: ShopFacilitator;
  readonly payer: Payer;
  readonly server: Server;
  readonly url: string;
  /** The codes of the process warnings of the product so far, which are not on stderr during the test. */
  readonly warnings: readonly string[];
  /** Sends a request, and pays if it is challenged. */
  pay(options?: PayOptions): Promise<PayResult>;
  /** Sends a request without a payment, or with the given payment header. */
  ask(options?: PayOptions): Promise<PayResult>;
  /** Signs a payment for a path. */
  sign(path?: string, method?: string): Promise<{ readonly payment: PaymentPayload; readonly header: string }>;
  /** Opens a connection and sends text unchanged. */
  connect(text: string): Promise<Line>;
  /** The text of a request for `/paid`. */
  request(header: string, path?: string): string;
}

/** Opens a shop for the time of the test. */
export async function openShop(express: ExpressModule, plan: ShopPlan = {}): Promise<Shop> {
  return await openServer(
    express,
    (app, shop) => {
      const payments = paymentMiddleware(plan.routes ?? { "GET /paid": PRICED }, {
        facilitator: shop.facilitator,
        logger: QUIET,
        deadlines: PATIENT,
        ...plan.options,
      });
      const build = plan.build ?? ((into) => buildDefault(into, payments, plan));
      build(app, payments, shop);
    },
    plan.server,
  );
}

/** Opens a shop for the time of the test, whose payments are created by the test. */
export async function openServer(
  express: ExpressModule,
  build: (app: Express, shop: { readonly facilitator: ShopFacilitator }) => void,
  options: ServerOptions = {},
): Promise<Shop> {
  const payer = createPayer();
  const facilitator = createShopFacilitator(payer);
  const app = express();
  // Otherwise both versions print the stack, on error pages and on the console.
  app.set("env", "test");
  const warnings = collectWarnings();
  build(app, { facilitator });

  const server = createServer(options, app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return toShop({ payer, facilitator, server, port, warnings });
}

function buildDefault(app: Express, payments: RequestHandler, plan: ShopPlan): void {
  for (const middleware of plan.before ?? []) app.use(middleware);
  app.use(payments);
  for (const middleware of plan.behind ?? []) app.use(middleware);
  app.get("/free", (_req, res) => void res.json({ free: true }));
  if (plan.handler !== undefined) app.all("/paid", plan.handler);
}

function toShop({
  payer,
  facilitator,
  server,
  port,
  warnings,
}: Pick<Shop, "payer" | "facilitator" | "server" | "warnings"> & { readonly port: number }): Shop {
  const url = `http://127.0.0.1:${port}`;
  const ask = (options: PayOptions = {}) => pay(url, { path: "/paid", ...options });
  return {
    facilitator,
    payer,
    server,
    url,
    warnings,
    ask,
    pay: (options) => ask({ payer, ...options }),
    async sign(path = "/paid", method = "GET") {
      const { challenge } = await ask({ path, method });
      const [offer] = challenge?.accepts ?? [];
      if (challenge === undefined || offer === undefined) throw new Error(`${path} is not priced`);
      const payment = await (offer.scheme === "upto" ? payer.signUpto : payer.signExact)(offer, { challenge });
      return { payment, header: encodePaymentSignature(payment) };
    },
    connect: (text) => openLine(port, text),
    request: (header, path = "/paid") =>
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`,
  };
}

/** One connection and the text received on it. */
export interface Line {
  readonly socket: Socket;
  /** Latin-1, so that a character is a byte. */
  received(): string;
  /** Resolves when the text is in what was received; rejects when the connection ends without it. */
  until(text: string): Promise<string>;
  /** Resolves when the connection has ended, with all that was received. */
  readonly ended: Promise<string>;
}

async function openLine(port: number, text: string): Promise<Line> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (data: string) => {
    received += data;
  });
  // A connection that the server resets ends, too.
  socket.on("error", () => {});
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text, "latin1");
  return {
    socket,
    received: () => received,
    ended,
    until: (sought) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!received.includes(sought)) return;
          socket.off("data", look);
          resolve(received);
        };
        socket.on("data", look);
        void ended.then(() => reject(new Error(`never received ${sought}, only ${received}`)));
        look();
      }),
  };
}

/** A middleware that acts as the head is sent, as sessions do with `on-headers`. */
export function onHeaders(listener: (res: Response) => void): RequestHandler {
  return (_req, res, next) => {
    const writeHead = res.writeHead;
    let fired = false;
    res.writeHead = function patched(this: typeof res, ...args: never[]) {
      if (!fired) {
        fired = true;
        listener(res);
      }
      return Reflect.apply(writeHead, this, args);
    } as typeof res.writeHead;
    next();
  };
}

/** Resolves when a condition holds, which something under way will bring about. Only the test's own time limits it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  while (!isOver && !(await holds())) await new Promise(setImmediate);
}

const collectors = new Set<string[]>();
const { emitWarning } = process;

/** Hands the product's warnings to the tests that collect them. */
function collectWarning(...given: readonly unknown[]): void {
  const [, options] = given;
  const { type, code } = (typeof options === "object" ? options : {}) as { type?: string; code?: string };
  if (type !== "FareboxWarning" || code === undefined) Reflect.apply(emitWarning, process, given);
  else for (const collector of collectors) collector.push(code);
}

/** Collects the codes of the product's process warnings, instead of printing them, for the time of the test. */
export function collectWarnings(): readonly string[] {
  const codes: string[] = [];
  collectors.add(codes);
  process.emitWarning = collectWarning;
  onTestFinished(() => {
    collectors.delete(codes);
    if (collectors.size === 0) process.emitWarning = emitWarning;
  });
  return codes;
}

/** Errors without a listener would end the process. Here they fail the test. */
export function expectNoStrayErrors(): void {
  const stray: unknown[] = [];
  const listen = (error: unknown) => stray.push(error);
  process.on("uncaughtException", listen);
  process.on("unhandledRejection", listen);
  onTestFinished(() => {
    process.off("uncaughtException", listen);
    process.off("unhandledRejection", listen);
    expect(stray).toEqual([]);
  });
}
