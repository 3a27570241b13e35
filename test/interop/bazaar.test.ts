/**
 * Checks our declarations with the validators of the reference implementation, as a facilitator gets them: every form and every
 * method, with and without path parameters.
 *
 * @module
 */

import type { BazaarForm } from "@farebox/bazaar";
import type { CanonicalPayment } from "@farebox/core";
import type { RouteConfig } from "@farebox/express";
import {
  declareDiscoveryExtension,
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from "@x402/extensions/bazaar";
import express from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED } from "../express/shop.js";

const QUERY_METHODS = ["GET", "HEAD", "DELETE"] as const;
const BODY_METHODS = ["POST", "PUT", "PATCH"] as const;
type Method = (typeof QUERY_METHODS)[number] | (typeof BODY_METHODS)[number];

const CITY = { properties: { city: { type: "string", description: "Which city" } }, required: ["city"] };
const OUTPUT = { type: "object", properties: { celsius: { type: "number" } } };
const TOOL = {
  toolName: "get_weather",
  description: "The weather in a city",
  transport: "sse",
  inputSchema: { type: "object", ...CITY },
  example: { city: "Paris" },
} as const;

/** Each form by its name. Each works with every method of its kind. */
const QUERY_FORMS: readonly (readonly [name: string, form: object])[] = [
  ["nothing but that it is discoverable", { discoverable: true }],
  [
    "a map of query parameters",
    {
      discoverable: true,
      input: { city: "Paris" },
      inputSchema: { queryParams: { city: { type: "string", description: "Which city", required: true } } },
      outputSchema: OUTPUT,
    },
  ],
  ["properties and required, without an example", { inputSchema: CITY }],
  ["the reference's helper", helper({ input: { city: "Paris" }, inputSchema: CITY })],
  ["the reference's helper with output", helper({ output: { example: { celsius: 20 }, schema: OUTPUT } })],
];

const BODY_FORMS: readonly (readonly [name: string, form: object])[] = [
  ["nothing but that it is discoverable", { discoverable: true }],
  ["JSON", { input: { city: "Paris" }, inputSchema: CITY, outputSchema: OUTPUT }],
  ["JSON without an example", { inputSchema: CITY }],
  ["a form", { bodyType: "form-data", input: { city: "Paris" }, inputSchema: CITY }],
  ["a text", { bodyType: "text", input: "Paris" }],
  [
    "a query beside a body",
    { input: { city: "Paris", n: 1 }, inputSchema: { queryParams: { n: { type: "integer" } }, ...CITY } },
  ],
  ["the reference's helper", helper({ bodyType: "json", input: { city: "Paris" }, inputSchema: CITY })],
  ["the reference's helper without a body", helper({ input: {}, inputSchema: { properties: {} } })],
];

const TOOL_FORMS: readonly (readonly [name: string, form: object])[] = [
  ["a tool", TOOL],
  ["a tool under its older name", { tool: "get_weather", inputSchema: CITY }],
  ["a tool by the reference's helper", helper({ ...TOOL, output: { example: { celsius: 20 } } })],
];

function helper(config: Parameters<typeof declareDiscoveryExtension>[0]): object {
  const { bazaar } = declareDiscoveryExtension(config);
  return bazaar as object;
}

const PATHS = [
  ["/weather", "/weather", undefined],
  ["/weather/:city/[day]", "/weather/S%C3%A3o%20Paulo/1", "/weather/:city/:day"],
  ["/files/*", "/files/a/b.txt", "/files/:var1"],
] as const;

interface Case {
  readonly method: Method;
  readonly name: string;
  readonly form: object;
}

/** Every method with every form on the first path, and one method of each kind on the others. */
function casesOn(at: number): readonly Case[] {
  const some = <T>(methods: readonly T[]) => (at === 0 ? methods : methods.slice(0, 1));
  return [
    ...some(QUERY_METHODS).flatMap((method) => QUERY_FORMS.map(([name, form]) => ({ method, name, form }))),
    ...some(BODY_METHODS).flatMap((method) => BODY_FORMS.map(([name, form]) => ({ method, name, form }))),
  ];
}

interface Sent {
  readonly challenge: { readonly extensions?: Readonly<Record<string, unknown>> } | undefined;
  readonly payment: CanonicalPayment;
  readonly status: number;
}

/** Opens a seller with a declaration for each route. What it returns pays, and returns what the client and the facilitator received. */
async function sell(forms: Readonly<Record<string, object>>) {
  const routes = Object.entries(forms).map(([key, form]): [string, RouteConfig] => [
    key,
    { ...PRICED, extensions: { bazaar: form } },
  ]);
  const shop = await openShop(express, {
    routes: Object.fromEntries(routes),
    build(app, payments) {
      app.use(payments);
      app.use((_req, res) => void res.json({ celsius: 20 }));
    },
  });
  return async (method: Method, path: string): Promise<Sent> => {
    const before = shop.facilitator.verified.length;
    const { status, challenge } = await shop.pay({ path, method });
    const payment = shop.facilitator.verified[before];
    if (payment === undefined) throw new Error(`nothing was verified: ${status}`);
    return { challenge, payment, status };
  };
}

describe("a declared route", () => {
  test.each(PATHS.map((path, at) => [...path, casesOn(at)] as const))(
    "the reference accepts each declaration of %s",
    async (key, path, template, cases) => {
      const send = await sell(
        Object.fromEntries(cases.map(({ method, form }, at) => [`${method} /${at}${key}`, form])),
      );
      for (const [at, { method, name }] of cases.entries()) {
        const { payment, challenge, status } = await send(method, `/${at}${path}`);
        expect(status, `${method}, ${name}`).toBe(200);
        const declared = payment.extensions?.["bazaar"] as never;
        expect(challenge?.extensions?.["bazaar"], `${method}, ${name}`).toEqual(declared);
        expect(validateDiscoveryExtensionSpec(declared), `${method}, ${name}`).toEqual({ valid: true });
        expect(validateDiscoveryExtension(declared), `${method}, ${name}`).toEqual({ valid: true });
        const found = extractDiscoveryInfo(payment as never, payment.accepted as never);
        expect(found, name).toMatchObject({ method, discoveryInfo: { input: { type: "http", method } } });
        expect(found?.resourceUrl).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/${at}${template ?? path}$`));
      }
    },
  );

  test("the reference accepts the declaration of each tool", async () => {
    const send = await sell(Object.fromEntries(TOOL_FORMS.map(([, form], at) => [`POST /mcp/${at}`, form])));
    for (const [at, [name]] of TOOL_FORMS.entries()) {
      const { payment } = await send("POST", `/mcp/${at}`);
      const declared = payment.extensions?.["bazaar"] as never;
      expect(validateDiscoveryExtensionSpec(declared), name).toEqual({ valid: true });
      expect(validateDiscoveryExtension(declared), name).toEqual({ valid: true });
      const found = extractDiscoveryInfo(payment as never, payment.accepted as never);
      expect(found, name).toMatchObject({ toolName: "get_weather" });
    }
  });

  test("a declaration has decoded path parameters, and the whole value of a wildcard", async () => {
    const send = await sell({ "GET /w/:city/[day]": {}, "GET /files/*": {}, "GET /*": {} });
    const declaredAt = async (path: string) => (await send("GET", path)).payment.extensions?.["bazaar"];
    expect(await declaredAt("/w/S%C3%A3o%20Paulo/1")).toHaveProperty("info.input.pathParams", {
      city: "São Paulo",
      day: "1",
    });
    expect(await declaredAt("/files/a%20b/c")).toHaveProperty("info.input.pathParams", { var1: "a b/c" });
    expect(await declaredAt("/any")).not.toHaveProperty("info.input.pathParams");
  });

  test("the facilitator gets our declaration, not the client's copy", async () => {
    const form: BazaarForm = { inputSchema: CITY };
    const shop = await openShop(express, {
      routes: { "GET /paid": { ...PRICED, extensions: { bazaar: form } } },
      handler: (_req, res) => void res.json({}),
    });
    const { payment } = await shop.sign();
    const poisoned = {
      ...payment,
      resource: { url: "https://evil.example/" },
      extensions: {
        bazaar: { info: { input: { type: "mcp", toolName: "evil" } }, schema: {}, routeTemplate: "/evil" },
      },
    };
    const header = Buffer.from(JSON.stringify(poisoned)).toString("base64");
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 200 });
    expect(JSON.stringify(shop.facilitator.verified[0])).not.toContain("evil");
    expect(shop.facilitator.verified[0]?.extensions).toHaveProperty("bazaar.info.input.method", "GET");
  });
});
