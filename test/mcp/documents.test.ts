/**
 * Paid tools in the documents of a server: llms.txt, OpenAPI and .well-known/x402.
 */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PAY_TO } from "../express/shop.js";
import { openShop, type Shop } from "./shop.js";

const SERVER = "https://a.example/mcp";

/** A seller of one route and of four tools, one of them hidden. */
function openDocumented(): Promise<Shop> {
  return openShop({
    options: { publicUrl: "https://a.example" },
    toolsOptions: { serverUrl: "/mcp" },
    sell: (tools) => {
      const empty = () => ({ content: [] });
      tools.tool(
        "get_weather",
        {
          price: "$0.01",
          description: "The weather in a city.",
          inputSchema: { city: z.string().describe("Which city") },
          outputSchema: { celsius: z.number() },
          example: { city: "Lisbon" },
        },
        empty,
      );
      const place = { type: "array", prefixItems: [{ type: "number" }, { type: "number" }] };
      tools.tool(
        "locate",
        {
          accepts: { scheme: "upto", price: "$0.02", network: "eip155:84532", payTo: PAY_TO },
          resource: { url: "mcp://tool/locate" },
          inputSchema: { properties: { at: { $ref: "#/$defs/place" } }, $defs: { place } },
          outputSchema: { properties: { at: { $ref: "#/$defs/place" } }, $defs: { place } },
        },
        empty,
      );
      tools.tool("any", { price: ({ n }) => `$0.0${n}` as "$0.01", inputSchema: { n: z.number() } }, empty);
      tools.tool("secret", { price: "$0.01", extensions: { bazaar: { discoverable: false } } }, empty);
    },
    app: (app, payments) => {
      app.get("/.well-known/x402", payments.wellKnown());
      app.get("/openapi.json", payments.openapi({ title: "Shop" }));
      app.get("/llms.txt", payments.llmsTxt({ title: "Shop" }));
      app.get("/report", payments.charge({ price: "$0.01" }), (_req, res) => void res.json({}));
    },
  });
}

describe("paid tools in the documents", () => {
  const read = async (path: string) => (await fetch(`${(await openDocumented()).url}${path}`)).text();

  test("llms.txt names each paid tool with its server, its price and its arguments", async () => {
    const [endpoints, tools] = (await read("/llms.txt")).split("## MCP tools");
    expect(endpoints).toContain("- `GET https://a.example/report`. Costs");
    expect(tools!.trim().split("\n").slice(3)).toEqual([
      `- \`get_weather\` on \`${SERVER}\` (streamable-http): The weather in a city. Costs 0.01 USDC on eip155:84532.`,
      "  - `city` (argument, string, required): Which city",
      `- \`locate\` as \`mcp://tool/locate\` on \`${SERVER}\` (streamable-http): Tool: locate. Costs up to 0.02 USDC on eip155:84532.`,
      "  - `at` (argument, optional)",
      `- \`any\` on \`${SERVER}\` (streamable-http): Tool: any. Costs a price by request on eip155:84532.`,
      "  - `n` (argument, number, required)",
    ]);
  });

  test("OpenAPI names each paid tool, every reference in it resolves, and it is clean under Redocly's rules", async () => {
    const document = JSON.parse(await read("/openapi.json"));
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    const config = await createConfig({ extends: ["recommended"] });
    expect(await lintFromString({ source: JSON.stringify(document), absoluteRef: "openapi.json", config })).toEqual([]);
    expect(Object.keys(document.paths)).toEqual(["/report"]);
    const [weather, locate, any, ...others] = document["x-mcp-tools"];
    expect(others).toEqual([]);
    expect(weather).toMatchObject({
      toolName: "get_weather",
      resource: SERVER,
      transport: "streamable-http",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
      example: { city: "Lisbon" },
      accepts: [{ scheme: "exact", network: "eip155:84532", amount: "10000", price: "0.01 USDC" }],
    });
    expect(weather).not.toHaveProperty("serverUrl");
    expect(locate).toMatchObject({ resource: "mcp://tool/locate", serverUrl: SERVER });
    expect(locate.inputSchema.properties.at).toEqual({ $ref: "#/x-mcp-tools/1/inputSchema/$defs/place" });
    expect(locate).not.toHaveProperty("outputSchema");
    expect(any.accepts).toMatchObject([{ scheme: "exact", network: "eip155:84532" }]);
  });

  test(".well-known/x402 has each paid tool as an entry, and no URL that does not respond with 402", async () => {
    const { resources, items } = JSON.parse(await read("/.well-known/x402"));
    expect(resources).toEqual(["https://a.example/report"]);
    expect(items.map(({ type, resource, toolName }: Record<string, unknown>) => [type, resource, toolName])).toEqual([
      ["http", "https://a.example/report", undefined],
      ["mcp", SERVER, "get_weather"],
      ["mcp", "mcp://tool/locate", "locate"],
      ["mcp", SERVER, "any"],
    ]);
    expect(items[2]).toHaveProperty("serverUrl", SERVER);
    expect(items[1]).toMatchObject({
      description: "The weather in a city.",
      mimeType: "application/json",
      inputSchema: { properties: { city: { type: "string" } }, required: ["city"] },
      accepts: [{ scheme: "exact", amount: "10000", price: "0.01 USDC", payTo: expect.stringMatching(/^0x/) }],
      extensions: { bazaar: { info: { input: { type: "mcp", toolName: "get_weather" } } } },
    });
  });
});
