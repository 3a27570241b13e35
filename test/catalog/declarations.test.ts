/**
 * What a seller declares is in the 402, and reaches the catalog with the payment.
 *
 * @module
 */
import { readRegistration } from "@farebox/bazaar/facilitator";
import type { Facilitator, JsonObject, PaymentRequired } from "@farebox/core";
import { createPayments, type RouteConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { declareDiscoveryExtension } from "@x402/extensions";
import express, { type Express } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { PAY_TO, PRICED } from "../express/shop.js";

const SVM = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const AVM = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
const SVM_PAYEE = "CmGgLQL36Y9ubtTsy2zmE46TAxwCBm66onZmPPhUWNqv";
const AVM_PAYEE = "A4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DVZ36IB4";

const OUTPUT = {
  type: "object",
  properties: { weather: { type: "string" }, temperature: { type: "number" } },
  required: ["weather"],
} as const;

/** The declaration of the quickstart of a seller. */
const WEATHER = {
  discoverable: true,
  input: { city: "San Francisco" },
  inputSchema: { queryParams: { city: { type: "string", description: "City name", required: true } } },
  outputSchema: OUTPUT,
} as const;

function open(key: string, route: RouteConfig, facilitator: Facilitator): Express {
  const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
  onTestFinished(() => payments.close());
  const app = express();
  app.use(payments.routes({ [key]: route }));
  app.all("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  app.get("/report", async (_req, res) => void res.json((await payments.ready(app)).routes[0]?.leftOut ?? null));
  return app;
}

/** A facilitator, a payer who has funds there, and all that sellers send to it to be settled. */
function openHeard() {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const settled: { readonly paymentPayload: { readonly extensions: { readonly bazaar: JsonObject } } }[] = [];
  const heard: Facilitator = {
    verify: (request, options) => facilitator.verify(request, options),
    supported: (options) => facilitator.supported(options),
    settle(request, options) {
      settled.push(request as never);
      return facilitator.settle(request, options);
    },
  };
  return { facilitator: heard, payer, settled };
}

/** A facilitator of three networks. */
function createWideFacilitator(): Facilitator {
  const kinds = [
    { x402Version: 2, scheme: "exact", network: "eip155:84532" },
    { x402Version: 2, scheme: "exact", network: SVM, extra: { feePayer: SVM_PAYEE } },
    { x402Version: 2, scheme: "exact", network: AVM, extra: { feePayer: AVM_PAYEE } },
  ];
  return {
    ...createTestFacilitator(),
    supported: async () => ({ kinds, extensions: [], signers: {} }) as never,
  };
}

describe("the 402 of a declared route with three networks", () => {
  const route: RouteConfig = {
    accepts: [
      { scheme: "exact", price: "$0.001", network: "eip155:84532", payTo: PAY_TO },
      { scheme: "exact", price: "$0.001", network: SVM, payTo: SVM_PAYEE },
      { scheme: "exact", price: "$0.001", network: AVM, payTo: AVM_PAYEE },
    ],
    description: "Get current weather data for any location",
    mimeType: "application/json",
    extensions: { bazaar: WEATHER },
  };
  const FIELDS = ["maxAmountRequired", "resource", "description", "mimeType", "outputSchema"];

  test.each([1, 6, 10, 16])(
    "with %i parameters, body and header have every field of every offer, and the header lacks the schema for catalogs",
    async (parameters) => {
      const left = ["extensions.bazaar.schema"];
      const more = Array.from({ length: parameters - 1 }, (_, at) => [
        `option${at}`,
        { type: "string", description: "An option" },
      ]);
      const queryParams = { ...WEATHER.inputSchema.queryParams, ...Object.fromEntries(more) };
      const bazaar = { ...WEATHER, inputSchema: { queryParams } };
      const app = open("GET /weather", { ...route, extensions: { bazaar } }, createWideFacilitator());
      const response = await pay(app, { path: "/weather?city=Paris" });
      expect(response.status).toBe(402);
      const body = response.json() as PaymentRequired;
      expect(body.accepts).toHaveLength(3);
      for (const [at, offer] of body.accepts.entries()) {
        expect(Object.keys(offer)).toEqual(expect.arrayContaining(FIELDS));
        expect(offer.outputSchema).toMatchObject({
          input: { type: "http", method: "GET", queryParams: { city: "San Francisco" } },
          output: OUTPUT,
        });
        const { input, ...outputSchema } = response.challenge?.accepts[at]?.outputSchema ?? {};
        expect(input).toMatchObject({ type: "http", method: "GET", resource: offer.resource });
        expect({ ...response.challenge?.accepts[at], outputSchema }).toEqual({
          ...offer,
          outputSchema: { output: OUTPUT },
        });
      }
      expect(String(response.headers["payment-required"]).length).toBeLessThanOrEqual(4096);
      expect((await pay(app, { path: "/report" })).json()).toEqual(left);
      expect(response.challenge?.extensions?.["farebox"]).toEqual({ truncated: left, info: {}, schema: {} });
      expect({ ...response.challenge, accepts: [], extensions: {} }).toEqual({ ...body, accepts: [], extensions: {} });
    },
  );
});

const input = { type: "object", properties: { city: { type: "string" } } } as const;
const { bazaar: helper } = declareDiscoveryExtension({ output: { example: { weather: "sunny" }, schema: OUTPUT } });

describe("a declared schema of the response", () => {
  test.each<[form: string, method: string, bazaar: object]>([
    ["the brief's form of a query", "GET", WEATHER],
    ["the brief's form of a body", "POST", { discoverable: true, inputSchema: input, outputSchema: OUTPUT }],
    ["an example beside it", "GET", { outputSchema: OUTPUT, output: { example: { weather: "sunny" } } }],
    ["output.schema", "PUT", { output: { schema: OUTPUT } }],
    ["the reference's helper", "GET", helper as object],
    ["a tool", "POST", { toolName: "get_weather", inputSchema: input, outputSchema: OUTPUT }],
  ])("a catalog gets the schema of the response from %s with %s", async (_form, method, bazaar) => {
    const { facilitator, payer, settled } = openHeard();
    const app = open(`${method} /weather`, { ...PRICED, extensions: { bazaar } }, facilitator);
    expect(await pay(app, { path: "/weather", method, payer })).toMatchObject({ status: 200 });
    expect(readRegistration(settled[0], { allowLocal: true })).toMatchObject({
      kind: "registration",
      registration: { schema: { properties: { output: { properties: { example: OUTPUT } } } } },
    });
  });
});

describe("a declaration that a catalog does not take", () => {
  const NOT_LISTABLE = "FAREBOX_DECLARATION_NOT_LISTABLE";

  /** Sells once with a declaration, and returns what was found at start, what was sent, and what a catalog says to it. */
  async function sell(form: object, key = "DELETE /weather") {
    const { facilitator, payer, settled } = openHeard();
    const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
    onTestFinished(() => payments.close());
    const app = express();
    app.use(payments.routes({ [key]: { ...PRICED, extensions: { bazaar: form } } }));
    const { findings } = payments.report();
    app.all(["/weather", "/weather/:city"], (_req, res) => void res.json({ weather: "sunny" }));
    const [method = "", path = ""] = key.split(" ");
    expect(await pay(app, { path: path.replace(":city", "x"), method, payer })).toMatchObject({ status: 200 });
    const sent = JSON.stringify(settled[0]?.paymentPayload.extensions.bazaar);
    return {
      findings: findings.filter(({ code }) => code === NOT_LISTABLE),
      bytes: Buffer.byteLength(sent),
      read: readRegistration(settled[0], { allowLocal: true }),
    };
  }

  /** Characters of two bytes, so that characters and bytes differ. */
  const ofBytes = (bytes: number) => "\u00e9".repeat(bytes >> 1) + "x".repeat(bytes & 1);
  const formWith = (text: string) => ({ outputSchema: { type: "object", description: text } });

  test("a declaration of 16,384 bytes is listed, and one more byte is found at start, by the bytes that the catalog counts", async () => {
    const { bytes: least } = await sell(formWith(""));
    const most = await sell(formWith(ofBytes(16_384 - least)));
    expect([most.bytes, most.findings, most.read.kind]).toEqual([16_384, [], "registration"]);
    const over = await sell(formWith(ofBytes(16_385 - least)));
    expect([over.bytes, over.read]).toEqual([
      16_385,
      { kind: "rejected", reason: "the bazaar extension has 16385 bytes, more than 16384" },
    ]);
    expect(over.findings).toEqual([
      {
        code: NOT_LISTABLE,
        route: "DELETE /weather",
        message: "Catalogs do not take the declaration of DELETE /weather, which has 16385 bytes, more than 16384",
        remedy: expect.stringContaining("16 KB"),
      },
    ]);
  });

  test("a declaration that only the template of its path makes too long is found at start", async () => {
    const key = "DELETE /weather/:city";
    const { bytes: least } = await sell(formWith(""), key);
    // The value of the request is one byte.
    const over = await sell(formWith(ofBytes(16_386 - least)), key);
    expect([over.bytes, over.read.kind]).toEqual([16_386, "rejected"]);
    expect(over.findings).toMatchObject([{ message: expect.stringContaining("has 16385 bytes, more than 16384") }]);
  });

  test("a declaration that is too long for one of its route's methods is found at start", async () => {
    const { bytes: least } = await sell(formWith(""), "GET /weather");
    const { bytes, findings, read } = await sell(formWith(ofBytes(16_384 - least)), "GET /weather");
    expect([bytes, read.kind]).toEqual([16_384, "registration"]);
    // The word HEAD stands in it twice.
    expect(findings).toMatchObject([{ message: expect.stringContaining("has 16386 bytes") }]);
  });

  test.each<[what: string, form: object, problem: string, key?: string]>([
    [
      "is nested too deeply",
      { outputSchema: Array.from({ length: 12 }).reduce<object>((inner) => ({ properties: { a: inner } }), {}) },
      "is nested deeper than 24 levels",
    ],
    [
      "has too many values",
      { outputSchema: { type: "object", examples: [Array(2_000).fill(0)] } },
      "has more than 2000 values",
    ],
    [
      "has a key that replaces a built-in property",
      { outputSchema: { properties: { constructor: { type: "string" } } } },
      "has a key constructor",
    ],
    ["names a part of its schema", { outputSchema: { type: "object", $anchor: "result" } }, "has a $anchor"],
    [
      "is for two kinds of methods, and too long for the second",
      { inputSchema: { queryParams: {}, properties: { a: { description: ofBytes(17_000) } } } },
      "more than 16384",
      "POST /weather",
    ],
    [
      "is a tool's",
      { toolName: "get_weather", inputSchema: { type: "object", description: ofBytes(17_000) } },
      "more than 16384",
    ],
  ])("one that %s is found at start, and rejected for it", async (_what, form, problem, key) => {
    const { findings, read } = await sell(form, key);
    expect(read).toEqual({ kind: "rejected", reason: expect.stringContaining(problem) });
    expect(findings).toMatchObject([{ message: expect.stringContaining(problem) }]);
  });

  const TOOL = { toolName: "get_weather", inputSchema: { type: "object" } };

  test.each<[resource: string, form: object, problem: string | undefined]>([
    ["mcp://tool/get_weather", TOOL, undefined],
    ["https://api.example.com/mcp", { ...TOOL, toolName: "weather/get" }, undefined],
    ["mcp://TOOL/get_weather", TOOL, "is not mcp://tool/get_weather, the only identifier of the tool"],
    ["mcp://tool/weather", TOOL, "is not mcp://tool/get_weather, the only identifier of the tool"],
    ["mcp://tool/weather/get", { ...TOOL, toolName: "weather/get" }, "names a tool by other characters than"],
    ["mcp://tool/get_weather", { input: { city: "Porto" } }, "is an mcp: URL, which is only for an MCP tool"],
  ])(
    "one for the resource %s that is sold by hand is found at start as it is rejected: %j",
    async (resource, form, problem) => {
      const { facilitator } = openHeard();
      const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
      onTestFinished(() => payments.close());
      const sale = payments.byHand({ ...PRICED, resource, extensions: { bazaar: form } });
      const { extensions, accepts } = JSON.parse(String((await sale.challenge()).body)) as PaymentRequired;
      const read = readRegistration({
        paymentRequirements: accepts[0],
        paymentPayload: { accepted: accepts[0], resource: { url: resource }, extensions },
      });
      const found = payments.report().findings.filter(({ code }) => code.endsWith("_NOT_LISTABLE"));
      if (problem === undefined) expect([read.kind, found]).toEqual(["registration", []]);
      else {
        expect(found).toMatchObject([
          { code: "FAREBOX_TOOL_NOT_LISTABLE", message: expect.stringContaining(`its resource ${problem}`) },
        ]);
        expect(read).toEqual({ kind: "rejected", reason: expect.stringContaining(`resource.url ${problem}`) });
      }
    },
  );

  test("one that is not discoverable is not found", async () => {
    const facilitator = createTestFacilitator();
    const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
    const bazaar = { ...formWith(ofBytes(17_000)), discoverable: false };
    payments.routes({ "GET /weather": { ...PRICED, extensions: { bazaar } } });
    expect(payments.report().findings.map(({ code }) => code)).not.toContain(NOT_LISTABLE);
    await payments.close();
  });
});
