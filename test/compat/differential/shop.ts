/**
 * One seller's code, which runs on the reference or on Farebox as it is told, and one client.
 *
 * @module
 */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { PaymentPayload, PaymentRequired } from "@farebox/core";
import { createPayer, createTestFacilitator, type Payer, type TestFacilitator } from "@farebox/testing";
import type * as CoreServer from "@x402/core/server";
import type * as ExactServer from "@x402/evm/exact/server";
import type * as UptoServer from "@x402/evm/upto/server";
import type * as ReferenceExpress from "@x402/express";
import type * as Bazaar from "@x402/extensions/bazaar";
import express, { type Express, type RequestHandler } from "express";
import { browse } from "../stage.js";
import { type Observation, observe } from "./compare.js";
import type { FacilitatorPlan, HookName, HookPlan, OptionPlan, Plan } from "./plan.js";

/** The names that the seller's code imports. */
export type Library = Pick<
  typeof ReferenceExpress,
  "paymentMiddlewareFromHTTPServer" | "setSettlementOverrides" | "x402HTTPResourceServer" | "x402ResourceServer"
> &
  Pick<typeof Bazaar, "declareDiscoveryExtension"> &
  Pick<typeof ExactServer, "ExactEvmScheme"> &
  Pick<typeof UptoServer, "UptoEvmScheme">;

const NETWORK = "eip155:84532";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const PURSE = 10_000_000n;

/** A counter on which a shop of any plan is opened. */
export interface Counter {
  /** Opens a shop, lets a client buy, and tells what the client and the ledger saw. */
  trade(plan: Plan): Promise<readonly Observation[]>;
  close(): Promise<void>;
}

/** Opens a server whose app is another one for each plan. */
export async function openCounter(library: Library): Promise<Counter> {
  let serve: RequestListener = () => {};
  const server: Server = createServer((req, res) => serve(req, res));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async trade(plan) {
      const shop = new Shop(library, plan);
      serve = shop.app;
      return shop.started === undefined ? new Client(shop, origin).buy() : [shop.started];
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** A seller. */
class Shop {
  readonly plan: Plan;
  readonly app: Express = express();
  readonly facilitator: TestFacilitator = createTestFacilitator();
  readonly hooks: string[] = [];
  /** What happened at the start, if it failed. */
  readonly started: Observation | undefined;
  served = 0;
  readonly #library: Library;

  constructor(library: Library, plan: Plan) {
    this.plan = plan;
    this.#library = library;
    try {
      this.#open();
    } catch (error) {
      this.started = {
        status: 0,
        headers: {},
        challenge: undefined,
        receipt: undefined,
        body: undefined,
        facts: startOf(error as Error),
      };
    }
  }

  #open(): void {
    const { x402ResourceServer, x402HTTPResourceServer, paymentMiddlewareFromHTTPServer } = this.#library;
    const server = new x402ResourceServer(facilitatorClient(this.facilitator, this.plan.facilitator));
    server.register(NETWORK, new this.#library.ExactEvmScheme());
    server.register(NETWORK, new this.#library.UptoEvmScheme());
    const http = new x402HTTPResourceServer(server, { [this.plan.key]: this.#route() } as never);
    for (const [name, hook] of Object.entries(this.plan.hooks)) {
      if (hook === "none") continue;
      const target = (name === "onProtectedRequest" ? http : server) as unknown as Record<
        string,
        (hook: unknown) => unknown
      >;
      target[name]?.(async () => {
        this.hooks.push(name);
        return resultOf(name as HookName, hook);
      });
    }
    this.app.disable("x-powered-by");
    this.app.use(express.json());
    this.app.use(paymentMiddlewareFromHTTPServer(http));
    this.app.get("/free", (_req, res) => void res.send("free"));
    const handler = this.#handler();
    // Each is a route of its own: a key prices the whole route that it is for.
    this.app.get("/thing", handler);
    this.app.post("/thing", handler);
    this.app.put("/thing", handler);
    this.app.all("/thing/:id", handler);
    this.app.all("/files/*rest", handler);
    const onError: express.ErrorRequestHandler = (_error, _req, res, _next) =>
      void res.status(500).json({ error: "handler" });
    this.app.use(onError);
  }

  #route(): object {
    const { options, route } = this.plan;
    const { description, mimeType, resource } = route;
    return {
      accepts: options.map((option) => optionOf(option)),
      ...(description === undefined ? {} : { description }),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(resource === undefined ? {} : { resource }),
      ...(route.bazaar
        ? { extensions: { ...this.#library.declareDiscoveryExtension({ output: { example: { thing: 7 } } }) } }
        : {}),
      ...(route.page ? { customPaywallHtml: "<p>Pay</p>" } : {}),
      ...(route.unpaidBody
        ? { unpaidResponseBody: () => ({ contentType: "application/json", body: { pay: true } }) }
        : {}),
      ...(route.failedBody
        ? { settlementFailedResponseBody: () => ({ contentType: "application/json", body: { failed: true } }) }
        : {}),
    };
  }

  #handler(): RequestHandler {
    const { status, body, cacheControl, override } = this.plan.handler;
    const overrides = this.plan.options.some(({ scheme }) => scheme === "upto");
    return (_req, res) => {
      this.served++;
      if (body === "throw") throw new TypeError("the handler");
      if (cacheControl !== undefined) res.set("Cache-Control", cacheControl);
      if (override !== undefined && overrides) this.#library.setSettlementOverrides(res, { amount: override });
      if (status === 302) return void res.redirect("/free");
      if (body === "writeHead") return void res.writeHead(status, { "content-type": "text/plain" }).end("head");
      res.status(status);
      if (body === "json") res.json({ thing: 7 });
      else if (body === "text") res.type("text/plain").send("thing");
      else if (body === "empty") res.end();
      else {
        res.write("one ");
        res.end("two");
      }
    };
  }
}

/** The reference lists the mistakes in other words. */
function startOf({ name, message }: Error): Observation["facts"] {
  return name === "RouteConfigurationError" ? { start: name } : { start: name, why: message };
}

function optionOf({ scheme, price, payTo, maxTimeoutSeconds, upfront }: OptionPlan): object {
  const prices: Record<string, unknown> = {
    asset: { asset: USDC, amount: "1234", extra: { name: "USDC", version: "2" } },
    "by the query": (context: { adapter: { getQueryParam(name: string): unknown } }) =>
      context.adapter.getQueryParam("tier") === "premium" ? "$0.005" : "$0.001",
  };
  return {
    scheme,
    network: NETWORK,
    price: prices[price] ?? price,
    payTo: payTo === "fixed" ? PAY_TO : async () => PAY_TO,
    ...(maxTimeoutSeconds === undefined ? {} : { maxTimeoutSeconds }),
    ...(upfront ? { extra: { paymentFlow: "upfront" } } : {}),
  };
}

function resultOf(name: HookName, hook: HookPlan): unknown {
  if (hook === "throw") throw new TypeError("the hook");
  if (hook === "abort") return { abort: true, reason: "not today", message: "closed" };
  if (hook === "grant") return { grantAccess: true };
  if (hook === "skip the handler") {
    return { skipHandler: true, response: { contentType: "application/json", body: { instead: true } } };
  }
  const settled = { success: true, transaction: "0x01", network: NETWORK, payer: PAY_TO };
  const result = name.includes("Settle") ? settled : { isValid: true, payer: PAY_TO };
  if (hook === "skip") return { skip: true, result };
  if (hook === "recover") return { recovered: true, result };
  return undefined;
}

/** The facilitator in the form of the reference's clients. */
function facilitatorClient(facilitator: TestFacilitator, plan: FacilitatorPlan): CoreServer.FacilitatorClient {
  const request = (paymentPayload: unknown, paymentRequirements: unknown) =>
    ({ x402Version: 2, paymentPayload, paymentRequirements }) as never;
  const client = {
    async verify(payload: unknown, requirements: unknown) {
      if (plan === "verify throws") throw new TypeError("the facilitator");
      if (plan === "verify refuses") return { isValid: false, invalidReason: "insufficient_funds", payer: PAY_TO };
      return facilitator.verify(request(payload, requirements));
    },
    async settle(payload: unknown, requirements: unknown) {
      if (plan === "settle throws") throw new TypeError("the facilitator");
      if (plan === "settle refuses") {
        return { success: false, errorReason: "insufficient_funds", transaction: "", network: NETWORK, payer: PAY_TO };
      }
      const settled = await facilitator.settle(request(payload, requirements));
      if (plan === "settle throws after it moved money") throw new TypeError("the facilitator");
      return settled;
    },
    getSupported: () => facilitator.supported(),
  };
  return client as never;
}

/** A client that asks for the price, and then pays as it is told. */
class Client {
  readonly #shop: Shop;
  readonly #origin: string;
  readonly #payer: Payer = createPayer({ privateKey: `0x${"42".repeat(32)}` });

  constructor(shop: Shop, origin: string) {
    this.#shop = shop;
    this.#origin = origin;
  }

  async buy(): Promise<readonly Observation[]> {
    const { payment } = this.#shop.plan;
    if (payment !== "unfunded") this.#shop.facilitator.ledger.fund(this.#payer.address, PURSE);
    const unpaid = await this.#send({});
    if (payment === "none") return [unpaid];
    const headers = await this.#headersFor(unpaid.challenge as PaymentRequired | string);
    if (headers === undefined) return [unpaid];
    if (payment === "at once") return [unpaid, ...(await this.#sendAtOnce(headers))];
    const paid = await this.#send(headers);
    return payment === "twice" ? [unpaid, paid, await this.#send(headers)] : [unpaid, paid];
  }

  /** The order of two requests at once is not known. */
  async #sendAtOnce(headers: Record<string, string>): Promise<readonly Observation[]> {
    const both = await Promise.all([this.#send(headers), this.#send(headers)]);
    return both
      .map((each) => ({ ...each, facts: this.#facts(0, 0, 0n) }))
      .sort((one, other) => one.status - other.status);
  }

  async #send(headers: Record<string, string>): Promise<Observation> {
    const { request, key } = this.#shop.plan;
    const method = key.startsWith("POST") && request.method === "GET" ? "POST" : request.method;
    const before = [this.#shop.served, this.#shop.hooks.length, this.#earned()] as const;
    const url = `${this.#origin}${request.path}${request.query}`;
    const response = request.isBrowser
      ? await browse(url, { method, headers })
      : await fetch(url, { method, redirect: "manual", headers });
    const observation = await observe(response);
    return { ...observation, facts: this.#facts(...before) };
  }

  #facts(served: number, hooks: number, earned: bigint): Observation["facts"] {
    return {
      served: this.#shop.served - served,
      hooks: this.#shop.hooks.slice(hooks),
      earned: String(this.#earned() - earned),
    };
  }

  #earned(): bigint {
    return this.#shop.facilitator.ledger.balanceOf(PAY_TO);
  }

  async #headersFor(challenge: PaymentRequired | string): Promise<Record<string, string> | undefined> {
    const { payment } = this.#shop.plan;
    if (payment === "garbage") return { "PAYMENT-SIGNATURE": "%%%" };
    if (payment === "not a payment") return { "PAYMENT-SIGNATURE": Buffer.from('{"a":1}').toString("base64") };
    if (typeof challenge === "string") return undefined;
    const signed = await this.#sign(challenge);
    if (signed === undefined) return undefined;
    const header = Buffer.from(JSON.stringify(signed)).toString("base64");
    return payment === "by X-PAYMENT" ? { "X-PAYMENT": header } : { "PAYMENT-SIGNATURE": header };
  }

  /** As the reference's clients do it: the first offer, without the fields that it does not know. */
  async #sign(challenge: PaymentRequired): Promise<PaymentPayload | undefined> {
    const { payment } = this.#shop.plan;
    const [first] = challenge.accepts;
    if (first === undefined) return undefined;
    const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = first;
    const changed = {
      amount: payment === "other amount" ? "1" : amount,
      payTo: payment === "other payee" ? this.#payer.address : payTo,
    };
    const offer = { scheme, network, asset, maxTimeoutSeconds, extra, ...changed } as never;
    const options = payment === "expired" ? { challenge, now: () => Date.now() - 3_600_000 } : { challenge };
    const signed =
      scheme === "upto" ? await this.#payer.signUpto(offer, options) : await this.#payer.signExact(offer, options);
    if (payment !== "bad signature") return signed;
    const payload = { ...signed.payload, signature: `0x${"11".repeat(65)}` };
    return { ...signed, payload };
  }
}
