import { ConfigError, type PaymentsEngine } from "@farebox/core";
import { createPaymentsEngine } from "@farebox/core/adapter";
import { exactEvm } from "@farebox/evm";
import { createTestFacilitator } from "@farebox/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createPaidTools, type PaidTools } from "./paid-tools.js";

const accepts = {
  price: "$0.01",
  network: "eip155:84532",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
} as const;

let engine: PaymentsEngine;
let tools: PaidTools;
beforeEach(() => {
  engine = createPaymentsEngine({ facilitator: createTestFacilitator() }, { schemes: [exactEvm()] });
  tools = createPaidTools(engine);
});
afterEach(() => engine.close());

const handler = () => ({ content: [] });

const at = (serverUrl: string) => createPaidTools(engine, { serverUrl });

/** The paths of the issues that are thrown. */
function issuesOf(act: () => void): readonly string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path }) => path);
    throw error;
  }
  return [];
}

test.each<[what: string, act: () => void, issues: readonly string[]]>([
  ["a valid tool", () => tools.tool("a.B-9_", { accepts }, handler), []],
  ["a name with a space", () => tools.tool("a b", { accepts }, handler), ["name"]],
  ["names of properties of every object", () => tools.tool("constructor", { accepts }, handler), ["name"]],
  ["the name of the prototype", () => tools.tool("__proto__", { accepts }, handler), ["name"]],
  ["its own name as its URL", () => tools.tool("a", { accepts, resource: { url: "mcp://tool/a" } }, handler), []],
  ["an https URL", () => tools.tool("a", { accepts, resource: { url: "https://a.example/mcp" } }, handler), []],
  ...[
    ...["mcp://tool/b", "mcp://tool/a/", "javascript:alert(1)", "file:///etc", "https://me:pw@a.example/"],
    ...[`https://a.example/${"a".repeat(2_048)}`, "https://a.example/a b", "/mcp"],
  ].map((url): [string, () => void, readonly string[]] => [
    `the URL ${url.slice(0, 40)}`,
    () => tools.tool("a", { accepts, resource: { url } }, handler),
    ["resource.url"],
  ]),
  ["no handler", () => tools.tool("a", { accepts }, undefined as never), ["handler"]],
  [
    "a schema that JSON Schema cannot express",
    () => tools.tool("a", { accepts, inputSchema: { a: z.date() } }, handler),
    ["inputSchema"],
  ],
  [
    "a schema that is not one",
    () => tools.tool("a", { accepts, outputSchema: "x" as never }, handler),
    ["outputSchema"],
  ],
  ["no price", () => tools.tool("a", {}, handler), ["tool a"]],
  [
    "a bad price",
    () => tools.tool("a", { accepts: [{ ...accepts, price: "$x" as "$1" }] }, handler),
    ["tool a.accepts[0].price"],
  ],
  ["an unknown key", () => tools.tool("a", { accepts, prize: 1 } as never, handler), ["tool a.prize"]],
  ["a name used twice", () => [1, 2].map(() => tools.tool("a", { accepts }, handler)), ["name"]],
  ["a server's URL and its path", () => void [at("https://a.example/mcp"), at("http://localhost:1"), at("/mcp")], []],
  ["a server's URL without a scheme", () => at("a.example/mcp"), ["options.serverUrl"]],
  ["a server's URL with a query, which catalogs leave out", () => at("https://a.example/?k=1"), ["options.serverUrl"]],
  ["a server's URL with credentials", () => at("https://me:pw@a.example/"), ["options.serverUrl"]],
  ["a server's URL that is none of HTTP", () => at("mcp://tool/a"), ["options.serverUrl"]],
  ["a server's URL that is not a text", () => at(1 as never), ["options.serverUrl"]],
  [
    "a JSON Schema of an array, and one with parameters beside properties",
    () => {
      const city = { type: "string" };
      tools.tool("a", { accepts, inputSchema: { type: "array" }, outputSchema: { properties: {}, city } }, handler);
    },
    ["inputSchema.type", "outputSchema.city"],
  ],
  [
    "a JSON Schema that clients of MCP refuse",
    () => tools.tool("a", { accepts, inputSchema: { properties: { city: true as never } } }, handler),
    ["inputSchema.properties.city"],
  ],
  [
    "a JSON Schema that is not valid",
    () => tools.tool("a", { accepts, inputSchema: { properties: {}, required: "city" as never } }, handler),
    ["inputSchema"],
  ],
  [
    "an object that is no schema",
    () => tools.tool("a", { accepts, inputSchema: { city: "string" } }, handler),
    ["inputSchema"],
  ],
  [
    "fields of Zod among others",
    () => tools.tool("a", { accepts, inputSchema: { city: z.string(), days: {} as z.ZodType } }, handler),
    ["inputSchema"],
  ],
  [
    "a resource without an absolute URL, and with a long description",
    () => tools.tool("a", { accepts, resource: { url: "/a", description: "x".repeat(501) } }, handler),
    ["resource.url", "resource.description"],
  ],
  [
    "an unknown key of the resource",
    () => tools.tool("a", { accepts, resource: { uri: "" } as never }, handler),
    ["resource.uri"],
  ],
  [
    "a declared name of another tool",
    () => tools.tool("a", { accepts, extensions: { bazaar: { toolName: "b" } } }, handler),
    ["extensions.bazaar.toolName"],
  ],
  [
    "a complete declaration of another tool",
    () => {
      const input = { type: "mcp", tool: "b", inputSchema: { type: "object" } };
      tools.tool("a", { accepts, extensions: { bazaar: { info: { input }, schema: {} } } }, handler);
    },
    ["extensions.bazaar.info.input.tool"],
  ],
  [
    "an invalid schema that is only declared",
    () => tools.tool("a", { accepts, extensions: { bazaar: { inputSchema: { type: "string" } } } }, handler),
    ["extensions.bazaar.inputSchema.type"],
  ],
  ["an unknown transport", () => createPaidTools(engine, { transport: "stdio" as never }), ["options.transport"]],
  ["an unknown option", () => createPaidTools(engine, { uri: "" } as never), ["options.uri"]],
  ["a malformed route", () => tools.route((() => {}) as never, "GET a", { name: "a" }), ["route"]],
  [
    "an app that is not a function, and an unknown key",
    () => tools.route({} as never, "GET /a", { name: "a", price: "$1" } as never),
    ["app", "config.price"],
  ],
])("the issues are listed for %s", (_what, act, issues) => {
  expect(issuesOf(act)).toEqual(issues);
});
