/**
 * The documents about priced routes agree with the gate.
 *
 * @module
 */
import { ConfigError, createPayments, type PaymentsOptions } from "@farebox/express";
import { pay } from "@farebox/testing";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import express, { type Express } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { PAY_TO, PRICED } from "./shop.js";

const POINT = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };

function openDocumented(options: Partial<PaymentsOptions> = {}): Express {
  const payments = createPayments({ facilitator: "http://127.0.0.1:1", ...options });
  onTestFinished(() => payments.close());
  const app = express();
  app.get("/.well-known/x402", payments.wellKnown());
  app.get("/openapi.json", payments.openapi({ title: "Weather", version: "2.1.0" }));
  app.get("/llms.txt", payments.llmsTxt({ title: "Weather", description: "Weather,\nsold" }));
  const upto = { scheme: "upto", price: "$0.10", network: "eip155:84532", payTo: PAY_TO } as const;
  const live = { network: "eip155:84532", payTo: PAY_TO, price: () => "$1" as const } as const;
  const table = payments.routes({
    "GET /weather/:city": {
      ...PRICED,
      description: "The weather in a city",
      mimeType: "application/json",
      tags: ["weather"],
      extensions: {
        bazaar: {
          input: { units: "metric" },
          inputSchema: {
            queryParams: { units: { type: "string", description: "metric or imperial", required: true } },
          },
          pathParamsSchema: { properties: { city: { type: "string", description: "Which" } } },
          outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
        },
      },
    },
    "POST /route": {
      accepts: upto,
      extensions: {
        bazaar: {
          inputSchema: { properties: { from: { $ref: "#/$defs/point" } }, required: ["from"], $defs: { point: POINT } },
          input: { from: { x: 1 } },
        },
      },
    },
    "GET /plain": { accepts: live },
    "GET /hidden": { ...PRICED, extensions: { bazaar: { discoverable: false } } },
  });
  const router = express.Router();
  router.use(table);
  router.get("/weather/:city", (_req, res) => void res.json({}));
  router.post("/route", (_req, res) => void res.json({}));
  router.get(["/plain", "/hidden"], (_req, res) => void res.json({}));
  router.get("/report{/:id}", payments.charge(PRICED), (_req, res) => void res.json({}));
  app.use("/v1", router);
  return app;
}

const PATHS = ["/v1/weather/{city}", "/v1/route", "/v1/plain", "/v1/report/{id}", "/v1/report"];

describe("the OpenAPI document", () => {
  const read = async (options?: Partial<PaymentsOptions>) =>
    (await pay(openDocumented(options), { path: "/openapi.json" })).json() as Record<string, never>;

  test("the OpenAPI document is valid by the schema of OpenAPI 3.1", async () => {
    const result = await new Validator().validate(await read());
    expect(result).toMatchObject({ valid: true });
  });

  test("the OpenAPI document has every priced path with its mounts, and none that is hidden", async () => {
    const { paths, openapi, info } = await read();
    expect(Object.keys(paths!)).toEqual(PATHS);
    const license = { name: "Not stated", identifier: "NOASSERTION" };
    expect([openapi, info]).toEqual(["3.1.0", { title: "Weather", version: "2.1.0", license }]);
  });

  test("the OpenAPI document has prices, parameters and responses as they are declared", async () => {
    const { paths } = await read();
    expect(paths!["/v1/weather/{city}"]).toEqual({
      get: {
        operationId: "getV1WeatherByCity",
        summary: "The weather in a city",
        description: "The weather in a city",
        tags: ["weather"],
        security: [{ x402: [] }],
        parameters: [
          { name: "city", in: "path", required: true, description: "Which", schema: { type: "string" } },
          {
            ...{ name: "units", in: "query", required: true, description: "metric or imperial", example: "metric" },
            schema: { type: "string" },
          },
        ],
        responses: {
          "200": {
            description: "Paid",
            headers: { "PAYMENT-RESPONSE": { $ref: "#/components/headers/PaymentResponse" } },
            content: {
              "application/json": { schema: { type: "object", properties: { celsius: { type: "number" } } } },
            },
          },
          "402": {
            description: "Payment required: 0.01 USDC on eip155:84532. The ways to pay are in PAYMENT-REQUIRED.",
            headers: { "PAYMENT-REQUIRED": { $ref: "#/components/headers/PaymentRequired" } },
            content: { "application/json": { schema: { $ref: "#/components/schemas/PaymentRequired" } } },
          },
        },
        "x-payment-info": {
          protocols: ["x402"],
          price: { mode: "fixed", currency: "USD", amount: "0.01" },
          offers: [
            {
              scheme: "exact",
              network: "eip155:84532",
              price: "0.01",
              symbol: "USDC",
              amount: "10000",
              asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
              payTo: PAY_TO,
            },
          ],
        },
      },
    });
  });

  test("the OpenAPI document has a range where less may be taken, and no price where the request decides", async () => {
    const { paths } = await read();
    expect(paths!["/v1/route"]).toHaveProperty("post.x-payment-info.price", {
      mode: "dynamic",
      currency: "USD",
      min: "0",
      max: "0.1",
    });
    expect(paths!["/v1/plain"]).toHaveProperty("get.x-payment-info.price", { mode: "dynamic", currency: "USD" });
  });

  test("the OpenAPI document refers to a declaration's definitions where they are now", async () => {
    const document = await read();
    const content = document["paths"]!["/v1/route"]!["post"]!["requestBody"]!["content"]!["application/json"]!;
    const schema = content["schema"] as { readonly properties: { readonly from: { readonly $ref: string } } };
    expect(schema).not.toHaveProperty("$defs");
    const pointer = schema.properties.from.$ref.slice(2).split("/");
    const found = pointer.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document);
    expect(found).toEqual(POINT);
  });
});

/** A table of every kind of key, in an app that serves them. */
function openWhole(): Express {
  const payments = createPayments({ facilitator: "http://127.0.0.1:1", publicUrl: "https://api.acme.dev/shop" });
  onTestFinished(() => payments.close());
  const app = express();
  app.get("/.well-known/x402", payments.wellKnown());
  app.get("/openapi.json", payments.openapi({ title: "Shop" }));
  app.get("/llms.txt", payments.llmsTxt({ title: "Shop" }));
  const note = {
    ...PRICED,
    extensions: {
      bazaar: {
        inputSchema: {
          properties: { text: { type: "string" }, at: { $ref: "#/$defs/point" } },
          $defs: { point: POINT },
        },
        outputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
      },
    },
  } as const;
  const query = {
    ...PRICED,
    extensions: { bazaar: { input: { q: "a" }, inputSchema: { properties: { q: { type: "string" } } } } },
  };
  app.use(
    payments.routes({
      "GET /notes/:id": query,
      "POST /notes/:note": note,
      "PUT /notes/:id": note,
      "PATCH /notes/:id": note,
      "DELETE /notes/:id": query,
      "HEAD /notes": query,
      "GET /files/*/raw/*": { ...query, description: "" },
      "GET /dl/*rest": query,
      "GET /o{/:id}": PRICED,
      "GET /a-b/:x.json": PRICED,
      "POST /a/b/:x-:y": note,
      "POST /a-b/:x-:y": note,
      "GET /:tenant/notes/:tenant": PRICED,
      "GET /slash/": PRICED,
      "/any": note,
    }),
  );
  app.use((_req, res) => void res.json({}));
  return app;
}

describe("the documents of a table with parameters, wildcards and every method", () => {
  test("the OpenAPI document is clean under Redocly's recommended rules, and valid by the schema of OpenAPI 3.1", async () => {
    const { text } = await pay(openWhole(), { path: "/openapi.json" });
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
    expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  });

  test("the OpenAPI document has one path for a key with wildcards, and one for routes that differ in names", async () => {
    const { text } = await pay(openWhole(), { path: "/openapi.json" });
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Record<string, never>>> };
    const operations = Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods).join(" ")]);
    expect(operations).toEqual([
      ["/notes/{id}", "get post put patch delete"],
      ["/notes", "head"],
      ["/files/{var1}/raw/{var2}", "get"],
      ["/dl/{rest}", "get"],
      ["/o/{id}", "get"],
      ["/o", "get"],
      ["/a-b/{x}.json", "get"],
      ["/a/b/{x}-{y}", "post"],
      ["/a-b/{x}-{y}", "post"],
      ["/{tenant}/notes/{tenant2}", "get"],
      ["/slash", "get"],
      ["/any", "get post put patch delete"],
    ]);
    expect(paths["/notes/{id}"]?.["post"]).toMatchObject({
      operationId: "postNotesByNote",
      parameters: [{ name: "id" }],
    });
    const ids = [paths["/a/b/{x}-{y}"], paths["/a-b/{x}-{y}"]].map((item) => item?.["post"]?.["operationId"]);
    expect(ids).toEqual(["postABByXByY", "postABByXByY2"]);
  });

  test("every document has one URL for a key with wildcards", async () => {
    const app = openWhole();
    const { resources, items } = (await pay(app, { path: "/.well-known/x402" })).json() as {
      resources: string[];
      items: { resource: string; routeTemplate?: string }[];
    };
    expect(resources.filter((url) => /files|dl/.test(url))).toEqual([]);
    expect(items.filter(({ resource }) => /files|dl/.test(resource))).toMatchObject([
      { resource: "https://api.acme.dev/shop/files/:var1/raw/:var2", routeTemplate: "/shop/files/:var1/raw/:var2" },
      { resource: "https://api.acme.dev/shop/dl/:rest", routeTemplate: "/shop/dl/:rest" },
    ]);
    const { text } = await pay(app, { path: "/llms.txt" });
    expect(text.match(/`GET .*?files.*?`/g)).toEqual(["`GET https://api.acme.dev/shop/files/:var1/raw/:var2`"]);
  });
});

describe("/.well-known/x402", () => {
  test("names a handler as its challenges do, and none at a regular expression", async () => {
    const publicUrl = "https://api.example.com";
    const payments = createPayments({ facilitator: "http://127.0.0.1:1", publicUrl });
    onTestFinished(() => payments.close());
    const app = express();
    app.get("/.well-known/x402", payments.wellKnown());
    app.get(/^\/rx\/\d+$/, payments.charge(PRICED), (_req, res) => void res.json({}));
    app.use("/inner", payments.charge(PRICED), (_req, res) => void res.json({}));
    const { items } = (await pay(app, { path: "/.well-known/x402" })).json() as { items: { resource: string }[] };
    expect([...new Set(items.map(({ resource }) => resource))]).toEqual([`${publicUrl}/inner/:var1`]);
  });

  test("/.well-known/x402 has a URL for each route that has one, and an item for each", async () => {
    const response = await pay(openDocumented({ publicUrl: "https://api.example.com" }), { path: "/.well-known/x402" });
    const { version, resources, items } = response.json() as Record<string, never>;
    const at = "https://api.example.com/v1";
    expect([version, resources]).toEqual([1, [`${at}/route`, `${at}/plain`, `${at}/report`]]);
    expect(items).toHaveLength(5);
    expect(items![0]).toMatchObject({
      resource: `${at}/weather/:city`,
      type: "http",
      method: "GET",
      routeTemplate: "/v1/weather/:city",
      accepts: [{ scheme: "exact", amount: "10000", price: "0.01 USDC" }],
      extensions: { bazaar: { info: { input: { method: "GET" } } } },
    });
  });
});

describe("/llms.txt", () => {
  test("/llms.txt says in words what is sold and what it costs", async () => {
    const response = await pay(openDocumented({ publicUrl: "https://api.example.com" }), { path: "/llms.txt" });
    expect(response.text.split("\n")).toEqual([
      "# Weather",
      "",
      "> Weather, sold",
      "",
      expect.stringContaining("x402"),
      expect.stringContaining("PAYMENT-SIGNATURE"),
      "",
      "## Endpoints",
      "",
      "- `GET https://api.example.com/v1/weather/:city`: The weather in a city. Costs 0.01 USDC on eip155:84532.",
      "  - `units` (query, string, required): metric or imperial",
      "- `POST https://api.example.com/v1/route`. Costs up to 0.1 USDC on eip155:84532.",
      "  - `from` (body, required)",
      "- `GET https://api.example.com/v1/plain`. Costs a price by request on eip155:84532.",
      "- `GET https://api.example.com/v1/report/:id`: Tested. Costs 0.01 USDC on eip155:84532.",
      "- `GET https://api.example.com/v1/report`: Tested. Costs 0.01 USDC on eip155:84532.",
      "",
    ]);
  });
});

describe("a document", () => {
  test("a document may be cached where the seller gives the server's URL, and not where it comes from the request", async () => {
    const known = await pay(openDocumented({ publicUrl: "https://a.example" }), { path: "/llms.txt" });
    expect(known.headers["cache-control"]).toBe("public, max-age=300");
    const headers = { Host: "evil.example" };
    const told = await pay(openDocumented(), { path: "/llms.txt", headers });
    expect(told.headers["cache-control"]).toBe("no-store");
    const allowed = await pay(openDocumented({ allowedHosts: ["a.example"] }), { path: "/llms.txt", headers });
    expect(allowed.text).not.toContain("evil");
    expect(allowed.text).toContain("http://a.example/v1/plain");
  });

  test.each([["openapi"], ["llmsTxt"]] as const)("the document at %s must have a title", (name) => {
    const payments = createPayments({ facilitator: "http://127.0.0.1:1" });
    expect(() => payments[name]({} as never)).toThrow(ConfigError);
    expect(() => payments[name](undefined as never)).toThrow(ConfigError);
  });
});
