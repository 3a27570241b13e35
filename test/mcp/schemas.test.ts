/**
 * The schemas of a tool, in Zod or as JSON Schema: what clients see, what is checked, and what catalogs are told.
 */
import { readRegistration } from "@farebox/bazaar/facilitator";
import type { PaidTools } from "@farebox/mcp";
import { declareDiscoveryExtension, validateDiscoveryExtension } from "@x402/extensions/bazaar";
import { expect, test } from "vitest";
import { z } from "zod";
import { PAY_TO } from "../express/shop.js";
import { challengeOf, openShop, PRICE, receiptOf, type Shop, textOf } from "./shop.js";

const price = "$0.01";
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

async function shownBy({ client }: Shop) {
  const { tools } = await client.listTools();
  return tools[0]!;
}

/** The declaration in the challenge for a call. */
async function declaredBy({ ask }: Shop, args: Record<string, unknown>) {
  const challenge = challengeOf(await ask({ name: "get_weather", args }));
  const bazaar = challenge.extensions?.["bazaar"] as { info: object; schema: Record<string, never> };
  expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true });
  const payment = { ...challenge, accepted: challenge.accepts[0], payload: {} };
  expect(
    readRegistration({ paymentPayload: payment, paymentRequirements: challenge.accepts[0] } as never),
  ).toMatchObject({ kind: "registration", registration: { type: "mcp", toolName: "get_weather" } });
  return { ...bazaar, resource: challenge.resource, output: bazaar.schema["properties"]!["output"] };
}

test("the wrapper of an MCP tool, as the catalog's documentation writes it, is sold and declared as it stands", async () => {
  const inputSchema = {
    properties: { city: { type: "string", description: "City name" } },
    required: ["city"],
  };
  const shop = await openShop({
    sell: (tools) =>
      tools.tool(
        "get_weather",
        {
          accepts: [{ scheme: "exact", price, network: "eip155:84532", payTo: PAY_TO }],
          resource: { url: "mcp://tool/get_weather", description: "Get current weather for a city" },
          extensions: {
            bazaar: {
              toolName: "get_weather",
              description: "Get current weather conditions for any city",
              transport: "sse",
              inputSchema,
              example: { city: "San Francisco" },
            },
          },
        },
        ({ city }, { payment }) => text(`sunny in ${city}, for ${payment?.payer}`),
      ),
  });
  expect(await shownBy(shop)).toMatchObject({
    description: `Get current weather for a city\n\nPrice: 0.01 USDC (x402, exact, eip155:84532) per call.`,
    inputSchema: { type: "object", ...inputSchema },
  });
  expect(await declaredBy(shop, { city: "Porto" })).toMatchObject({
    resource: { url: "mcp://tool/get_weather", description: "Get current weather for a city" },
    info: {
      input: {
        type: "mcp",
        toolName: "get_weather",
        description: "Get current weather conditions for any city",
        transport: "sse",
        inputSchema: { type: "object", ...inputSchema },
        example: { city: "San Francisco" },
      },
    },
  });
  const bought = await shop.buy({ name: "get_weather", args: { city: "Porto" } });
  expect(textOf(bought)).toBe(`sunny in Porto, for ${shop.payer.address}`);
  expect(shop.payments.report().findings).toContainEqual(expect.objectContaining({ code: UNKNOWN }));
});

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    city: { $ref: "#/$defs/city" },
    span: { type: "array", prefixItems: [{ type: "integer" }, { type: "integer" }], items: false },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { city: { type: "string", minLength: 2, examples: ["Lisbon"], default: "Rome" } },
  examples: [{ city: "Lisbon" }],
};

function sellByJsonSchema(tools: PaidTools, { count }: { readonly count: () => number }): void {
  const outputSchema = { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] };
  tools.tool(
    "get_weather",
    {
      price: ({ span }) => (Array.isArray(span) ? "$0.02" : price),
      inputSchema: SCHEMA,
      outputSchema,
      example: { city: "Lisbon" },
    },
    ({ city }) => {
      count();
      return { content: [], structuredContent: { celsius: city === "Nowhere" ? "unknown" : 20 } };
    },
  );
}

test("a JSON Schema is shown to clients exactly as it is written, and declared with the output's", async () => {
  const shop = await openShop({ sell: sellByJsonSchema });
  const { inputSchema, outputSchema } = await shownBy(shop);
  expect(inputSchema).toEqual(SCHEMA);
  expect(outputSchema).toMatchObject({ properties: { celsius: { type: "number" } }, required: ["celsius"] });
  // Once more: the SDK's converter must not have changed it.
  expect((await shownBy(shop)).inputSchema).toEqual(SCHEMA);
  const { $schema: _, ...declared } = SCHEMA;
  expect(await declaredBy(shop, { city: "Porto" })).toMatchObject({
    info: { input: { inputSchema: declared, example: { city: "Lisbon" } }, output: { type: "json" } },
    output: { properties: { example: { properties: { celsius: { type: "number" } }, required: ["celsius"] } } },
  });
});

test.each<[what: string, args: Record<string, unknown>, problem: string]>([
  ["lack a required one", {}, "must have required property 'city'"],
  ["break a referenced schema", { city: "x" }, "/city must NOT have fewer than 2 characters"],
  ["have an unknown one", { city: "Porto", days: 1 }, "must NOT have additional properties"],
  ["are very many", { city: "Porto", span: Array(100_000).fill("x") }, "/span/0 must be integer"],
])("arguments that %s get one problem by the JSON Schema, and no challenge", async (_what, args, problem) => {
  const shop = await openShop({ sell: sellByJsonSchema });
  const refused = await shop.ask({ name: "get_weather", args });
  expect(refused.isError).toBe(true);
  expect(textOf(refused)).toContain(problem);
  expect(textOf(refused)!.length).toBeLessThan(300);
  expect(shop.runs()).toBe(0);
});

test("arguments that take a pattern too long are refused unpaid, and the next call is served", async () => {
  const inputSchema = { properties: { s: { type: "string", pattern: "^(a+)+$" } } };
  const shop = await openShop({
    sell: (tools) => tools.tool("get_weather", { price, inputSchema }, ({ s }) => text(`${s}`)),
  });
  const refused = await shop.ask({ name: "get_weather", args: { s: `${"a".repeat(60)}!` } });
  expect(textOf(refused)).toContain("must not take more than 100 ms to check");
  expect(textOf(await shop.ask({ name: "get_weather", args: { s: "b" } }))).toContain("must match pattern");
  expect(textOf(await shop.buy({ name: "get_weather", args: { s: "aa" } }))).toBe("aa");
});

test("a tool with a JSON Schema is priced by its arguments, and not charged for a result that breaks its schema", async () => {
  const shop = await openShop({ sell: sellByJsonSchema });
  const bought = await shop.buy({ name: "get_weather", args: { city: "Porto", span: [1, 2] } });
  expect(bought.structuredContent).toEqual({ celsius: 20 });
  expect(receiptOf(bought)?.amount).toBe("20000");
  const broken = await shop.buy({ name: "get_weather", args: { city: "Nowhere" } });
  expect([broken.isError, textOf(broken)]).toEqual([
    true,
    expect.stringContaining("Output validation error: /celsius must be number"),
  ]);
  expect(await shop.spent()).toBe(2n * PRICE);
});

test("schemas in Zod are declared as JSON Schema 2020-12, the output's as well", async () => {
  const shop = await openShop({
    sell: (tools) =>
      tools.tool(
        "get_weather",
        {
          price,
          inputSchema: { place: z.tuple([z.number(), z.number()]) },
          outputSchema: z.object({ celsius: z.number() }),
        },
        ({ place: [lat] }) => ({ content: [], structuredContent: { celsius: lat } }),
      ),
  });
  expect((await shownBy(shop)).outputSchema).toMatchObject({ properties: { celsius: { type: "number" } } });
  expect(await declaredBy(shop, { place: [41, -8] })).toMatchObject({
    info: {
      input: { inputSchema: { properties: { place: { prefixItems: [{ type: "number" }, { type: "number" }] } } } },
    },
    output: { properties: { example: { properties: { celsius: { type: "number" } }, required: ["celsius"] } } },
  });
});

test("a tool takes its arguments' schema from a complete declaration of the reference's helper, and sends it as it is", async () => {
  const inputSchema = { properties: { city: { type: "string" } }, required: ["city"] };
  const description = "The weather in a city, now";
  const extensions = declareDiscoveryExtension({ toolName: "get_weather", description, transport: "sse", inputSchema });
  const shop = await openShop({
    sell: (tools, { count }) =>
      tools.tool("get_weather", { price, extensions }, ({ city }) => text(`${city} ${count()}`)),
  });
  expect(await shownBy(shop)).toMatchObject({
    description: expect.stringContaining(description),
    inputSchema: { type: "object", ...inputSchema },
  });
  const { info } = await declaredBy(shop, { city: "Porto" });
  expect(info).toEqual(extensions["bazaar"]?.info);
  const refused = await shop.ask({ name: "get_weather", args: {} });
  expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("required property 'city'")]);
  expect(textOf(await shop.buy({ name: "get_weather", args: { city: "Porto" } }))).toBe("Porto 1");
});

test("a tool's own schema checks the arguments, if it stands beside a complete declaration", async () => {
  const declared = { properties: { city: { type: "string" } }, required: ["city"] };
  const extensions = declareDiscoveryExtension({ toolName: "get_weather", transport: "sse", inputSchema: declared });
  const inputSchema = { city: z.string().min(2) };
  const shop = await openShop({
    sell: (tools) => tools.tool("get_weather", { price, inputSchema, extensions }, ({ city }) => text(`${city}`)),
  });
  expect(await declaredBy(shop, { city: "Porto" })).toMatchObject({
    info: { input: { transport: "sse", inputSchema: declared } },
  });
  expect((await shop.ask({ name: "get_weather", args: { city: "x" } })).isError).toBe(true);
});

test("a schema in a complete declaration that is no JSON Schema is an issue with its path at start", async () => {
  const inputSchema = { properties: { city: { type: "town" } } };
  const extensions = declareDiscoveryExtension({ toolName: "get_weather", inputSchema });
  const opened = openShop({ sell: (tools) => tools.tool("get_weather", { price, extensions }, () => text("")) });
  await expect(opened).rejects.toThrow("extensions.bazaar.info.input.inputSchema");
});

const UNKNOWN = "FAREBOX_TOOL_URL_UNKNOWN";
