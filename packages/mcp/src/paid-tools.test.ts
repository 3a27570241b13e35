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
  ["a URL that is not absolute", () => createPaidTools(engine, { url: "/mcp" }), ["options.url"]],
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
