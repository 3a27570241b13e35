/**
 * Errors that a seller has to see: on stderr in every environment, in the log, and at `ready()`.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createPayments,
  type PaymentEvent,
  type PaymentsOptions,
  type PriceFunction,
  type RouteConfig,
} from "@farebox/express";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";
import type express5 from "express";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../faults/business.js";
import { NEWEST, PAY_TO, PRICED } from "./shop.js";

let printed: string[];

beforeEach(() => {
  printed = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
});

afterEach(() => void vi.restoreAllMocks());

/** The lines of stderr with an event. */
const linesOf = (event: string) => printed.filter((line) => line.startsWith(`[farebox] ${event}`));

async function openShop(
  express: typeof express5,
  { price, facilitator, ...options }: Partial<PaymentsOptions> & { readonly price?: PriceFunction },
) {
  const payments = createPayments({ facilitator: facilitator ?? createTestFacilitator(), ...options });
  onTestFinished(() => payments.close());
  const events: PaymentEvent[] = [];
  payments.on("price_failed", (event) => events.push(event));
  const app = express().set("env", "test");
  const route: RouteConfig =
    price === undefined ? PRICED : { accepts: { price, network: "eip155:84532", payTo: PAY_TO } };
  app.use(payments.routes({ "GET /paid": route }));
  app.get("/paid", (_req, res) => void res.json({ paid: true }));
  const url = `${await serve(app)}/paid`;
  return { payments, app, events, url, buy: () => pay(url, { payer: createPayer() }) };
}

/** The URL of a server that answers 404, or of a port on which nothing listens. */
async function openWrongFacilitator(how: "answers 404" | "is unreachable"): Promise<string> {
  const server = createServer((_req, res) => res.writeHead(404, { "Content-Type": "text/html" }).end("<h1>no</h1>"));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise((resolve) => void server.close(resolve));
  if (how === "is unreachable") await close();
  else onTestFinished(async () => void (await close()));
  return `http://127.0.0.1:${port}`;
}

describe.each(NEWEST)("%s", (_name, express) => {
  describe.each([
    ["answers 404", "status 404"],
    ["is unreachable", "ECONNREFUSED"],
  ] as const)("a facilitator that %s", (how, why) => {
    test.each(["production", "test", "staging"])(
      "is on stderr once, with its host and the cause, when NODE_ENV is %s",
      async (environment) => {
        vi.stubEnv("NODE_ENV", environment);
        onTestFinished(() => void vi.unstubAllEnvs());
        const facilitator = await openWrongFacilitator(how);
        const { payments, app, buy } = await openShop(express, { facilitator });
        const { findings } = await payments.ready(app);
        const { host } = new URL(facilitator);
        expect(findings).toMatchObject([
          { code: "FAREBOX_FACILITATOR_DOWN", route: undefined, message: expect.stringContaining(host) },
        ]);
        expect(findings[0]!.message).toContain(why);
        for (let time = 0; time < 4; time++) expect((await buy()).status).toBe(503);
        for (const event of ["FAREBOX_FACILITATOR_DOWN", "facilitator_down", "verification_failed"]) {
          expect(linesOf(event)).toHaveLength(1);
          expect(linesOf(event)[0]).toContain(host);
          expect(linesOf(event)[0]).toContain(why);
        }
      },
    );
  });

  test("a seller's logger gets the status and the host of a facilitator that fails, and stderr nothing", async () => {
    const server = await startFacilitatorServer({ facilitator: createTestFacilitator() });
    onTestFinished(() => server.close());
    server.faults.always("verify", { kind: "status", status: 418 });
    const log: object[] = [];
    const note = (event: string, fields: object) => void log.push({ event, ...fields });
    const { buy } = await openShop(express, {
      facilitator: server.url,
      logger: { info: () => {}, warn: note, error: note },
    });
    expect((await buy()).status).toBe(503);
    expect(log).toContainEqual(
      expect.objectContaining({
        event: "verification_failed",
        facilitator: new URL(server.url).host,
        status: 418,
        code: "ERR_FAREBOX_FACILITATOR_STATUS",
      }),
    );
    expect(printed).toEqual([]);
  });

  test("a price function that throws is an event and a line with its message and stack, and no payment is spoken of", async () => {
    const price = (): never => {
      throw new RangeError("no rate for EUR\u001b[31m\nfor https://key@rates.example");
    };
    const { url, events } = await openShop(express, { price });
    const response = await pay(url);
    expect([response.status, response.headers["retry-after"]]).toEqual([503, "5"]);
    expect(response.text).not.toContain("same payment");
    expect(response.text).not.toContain("EUR");
    expect(response.json()).toMatchObject({ message: expect.stringContaining("price") });
    expect(events).toMatchObject([{ type: "price_failed", route: "GET /paid" }]);
    expect(Object.keys(events[0]!).sort()).toEqual(["atMs", "route", "type"]);
    const [line] = linesOf("price_failed");
    for (const part of ["GET /paid", "RangeError", "no rate for EUR", "seen-errors.test"]) expect(line).toContain(part);
    for (const part of ["\u001b", "key@"]) expect(line).not.toContain(part);
    await pay(url);
    expect(linesOf("price_failed")).toHaveLength(1);
    expect(events).toHaveLength(2);
  });

  test("a client that sent a payment is told to repeat it when the price function throws", async () => {
    let isBroken = false;
    const price = (): "$0.01" => {
      if (isBroken) throw new TypeError("broken");
      return "$0.01";
    };
    const { url } = await openShop(express, { price });
    const { challenge } = await pay(url);
    const payment = await createPayer().signExact(challenge!.accepts[0]!, { challenge: challenge! });
    isBroken = true;
    const { extra: _quote, ...accepted } = payment.accepted;
    const response = await pay(url, { payment: { ...payment, accepted: { ...accepted, extra: {} } } });
    expect(response.status).toBe(503);
    expect(response.text).toContain("same payment");
  });
});
