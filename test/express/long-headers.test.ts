/**
 * What a seller is told about a long `PAYMENT-REQUIRED`, and where it stays whole.
 */
import type { PaymentRequired } from "@farebox/core";
import { createPayments, type PaymentsOptions, type RouteConfig } from "@farebox/express";
import { createPayer, pay } from "@farebox/testing";
import type express5 from "express";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../faults/business.js";
import { PATIENT, PAY_TO, VERSIONS } from "./shop.js";
import { createShopFacilitator } from "./shop-facilitator.js";

const NETWORK = "eip155:84532";
const QUIET = { info() {}, warn() {}, error() {} };

/** A declaration with so many parameters. */
function declare(parameters: number) {
  const names = Array.from({ length: parameters }, (_, at) => `parameter${at}`);
  return {
    bazaar: {
      input: Object.fromEntries(names.map((name) => [name, "example"])),
      inputSchema: {
        queryParams: Object.fromEntries(names.map((name) => [name, { type: "string", description: "What it is for" }])),
      },
    },
  };
}

/** Offers of one network that differ in their payee. */
function offers(count: number, price: string | (() => string) = "$0.01") {
  return Array.from({ length: count }, (_, at) => ({
    ...{ network: NETWORK, price },
    payTo: at === 0 ? PAY_TO : (`0x${String(at).padStart(40, "0")}` as const),
  })) as NonNullable<RouteConfig["accepts"]>;
}

const LARGE: RouteConfig = { accepts: offers(10), description: "Large", mimeType: "application/json" };
const SHORTENED: RouteConfig = { accepts: offers(3), description: "Shortened", extensions: declare(10) };
const SMALL: RouteConfig = { accepts: offers(1), extensions: declare(2) };

async function open(
  express: typeof express5,
  routes: Readonly<Record<string, RouteConfig>>,
  options: Partial<PaymentsOptions> = {},
) {
  const payer = createPayer();
  const facilitator = createShopFacilitator(payer);
  const payments = createPayments({ facilitator, deadlines: PATIENT, ...options });
  onTestFinished(() => payments.close());
  const app = express().set("env", "test");
  app.use(payments.routes(routes as never));
  for (const key of Object.keys(routes)) app.get(key.slice(4), (_req, res) => void res.json({ sold: true }));
  const url = await serve(app);
  const ask = async (path: string) => {
    const { headers, challenge, text } = await pay(url, { path });
    const length = String(headers["payment-required"]).length;
    return { length, challenge, truncated: challenge?.extensions?.["farebox"]?.["truncated"], text };
  };
  return { payments, facilitator, payer, app, url, ask };
}

afterEach(() => void vi.restoreAllMocks());

describe.each(VERSIONS)("on %s, a seller without a logger", (_name, express) => {
  test("is told once at the start what headers lack, and which are large, in production, too", async () => {
    vi.stubEnv("NODE_ENV", "production");
    onTestFinished(() => void vi.unstubAllEnvs());
    const printed: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => Boolean(printed.push(String(text))));
    const routes = { "GET /large": LARGE, "GET /shortened": SHORTENED, "GET /small": SMALL };
    const { payments, app, ask } = await open(express, routes);
    const report = await payments.ready(app);
    const told = () => printed.filter((line) => /challenge|CHALLENGE/.test(line)).sort();
    const lines = [
      expect.stringMatching(
        /^\[farebox\] FAREBOX_CHALLENGE_LARGE · GET \/large · Its PAYMENT-REQUIRED header has \d{4} characters · /,
      ),
      "[farebox] challenge_shortened · GET /shortened · extensions.bazaar.schema\n",
    ];
    expect(told()).toEqual(lines);
    for (const path of ["/large", "/shortened", "/small", "/large"]) await ask(path);
    await payments.ready(app);
    expect(told()).toEqual(lines);

    expect(report.routes.map(({ key, leftOut }) => [key, leftOut])).toEqual([
      ["GET /large", []],
      ["GET /shortened", ["extensions.bazaar.schema"]],
      ["GET /small", []],
    ]);
    expect((await ask("/large")).length).toBeGreaterThan(4096);
    expect(await ask("/shortened")).toMatchObject({ truncated: ["extensions.bazaar.schema"] });
  });

  test("is told nothing about a long path that a client asks for", async () => {
    const { payments, app, ask, url, payer } = await open(express, { "GET /f/:name": SMALL }, { logger: QUIET });
    const path = `/f/${"x".repeat(6_000)}`;
    const { length, truncated, challenge } = await ask(path);
    // The URL alone is longer than what fits.
    expect(length).toBeGreaterThan(8192);
    expect(truncated).toEqual(expect.arrayContaining(["resource", "outputSchema"]));
    expect(challenge?.resource.url).toBe(url + path);
    const short = await pay(url, { path: `/f/${"x".repeat(2_500)}`, payer });
    expect(short).toMatchObject({ status: 200, receipt: { success: true } });
    const { findings, routes } = await payments.ready(app);
    expect(findings.filter(({ code }) => code.includes("CHALLENGE"))).toEqual([]);
    expect(routes[0]?.leftOut).toEqual([]);
  });
});

describe.each(VERSIONS)("on %s, a long challenge", (_name, express) => {
  test("keeps the quotes of prices by request, which are honoured, and is a finding before the first request", async () => {
    const routes = { "GET /paid": { ...LARGE, accepts: offers(16, () => "$0.01"), extensions: declare(4) } };
    const { payments, app, url, ask, payer, facilitator } = await open(express, routes, { logger: QUIET });
    const { findings, routes: reported } = await payments.ready(app);
    expect(findings.filter(({ code }) => code.includes("CHALLENGE"))).toMatchObject([
      { code: expect.stringMatching(/^FAREBOX_CHALLENGE_(?:LARGE|TOO_LARGE)$/), route: "GET /paid" },
    ]);
    const { challenge, truncated } = await ask("/paid");
    expect(reported[0]?.leftOut).toEqual(truncated);
    for (const offer of challenge?.accepts ?? []) expect(offer.extra["quote"]).toEqual(expect.any(String));
    expect(await pay(url, { path: "/paid", payer })).toMatchObject({ status: 200, receipt: { success: true } });
    const [request] = facilitator.verified;
    expect(request?.extensions).toHaveProperty("bazaar.schema.properties");
    expect(request?.extensions).not.toHaveProperty("farebox");
  });

  test("has everything in its header up to 8192 characters, where the body is the seller's", async () => {
    const routes = {
      "GET /own": { ...SHORTENED, unpaidBody: () => ({ contentType: "text/plain", body: "pay" }) },
      "GET /usual": SHORTENED,
    };
    const { ask } = await open(express, routes, { logger: QUIET });
    const own = await ask("/own");
    expect(own.text).toBe("pay");
    expect(own.length).toBeGreaterThan(4096);
    expect(own.truncated).toBeUndefined();
    expect(own.challenge?.extensions).toHaveProperty("bazaar.schema.properties");
    expect(await ask("/usual")).toMatchObject({ truncated: ["extensions.bazaar.schema"] });
  });

  test("is whole in the document of a sale by hand, whose header pays as well", async () => {
    const { payments, payer, facilitator } = await open(express, { "GET /small": SMALL }, { logger: QUIET });
    const sale = payments.byHand({ ...SHORTENED, resource: "https://api.example.com/weather" });
    const { headers, document } = await sale.challenge();
    const short: PaymentRequired = JSON.parse(Buffer.from(headers["PAYMENT-REQUIRED"] ?? "", "base64").toString());
    expect(short.extensions).toHaveProperty("farebox.truncated", ["extensions.bazaar.schema"]);
    expect(document).not.toHaveProperty("extensions.farebox");
    const [offer] = short.accepts;
    if (offer === undefined) throw new Error("not for sale");
    const payment = await payer.signExact(offer, { challenge: short });
    expect(payment.extensions).toHaveProperty("farebox");
    const verification = await sale.verify(payment);
    expect(verification.kind).toBe("verified");
    if (verification.kind === "verified") await verification.payment.release();
    expect(facilitator.verified[0]?.extensions).toEqual({ bazaar: document?.extensions?.["bazaar"] });
  });
});
