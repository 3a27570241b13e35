/**
 * An MCP server with one tool at a fixed price, one at a price that depends on its arguments, and one free tool; and the
 * documents that name the paid ones.
 *
 * @module
 */
import { createPayments, type PaymentsOptions } from "@farebox/express";
import { createPaidTools } from "@farebox/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import express, { type Express } from "express";
import { z } from "zod";

/** The address that receives the payments. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"]): Express {
  const payments = createPayments({ facilitator, networks: ["eip155:84532"], payTo: { "eip155:*": PAY_TO } });
  const tools = createPaidTools(payments, { serverUrl: "https://api.example.com/mcp" });
  tools.tool(
    "get_weather",
    {
      price: "$0.001",
      description: "The weather in a city, now.",
      inputSchema: { city: z.string().describe("Name of the city, e.g. Paris") },
      outputSchema: { city: z.string(), weather: z.string() },
    },
    ({ city }, { payment }) => {
      const structuredContent = { city, weather: "sunny" };
      return { content: [{ type: "text", text: `${city}: sunny, paid by ${payment?.payer}` }], structuredContent };
    },
  );
  tools.tool(
    "count_words",
    {
      price: ({ text }) => `$0.00${countWords(text)}` as "$0.001",
      description: "Counts one to nine words.",
      inputSchema: { text: z.string().refine((text) => /^[1-9]$/.test(String(countWords(text)))) },
      example: { text: "one two three" },
    },
    ({ text }) => {
      // An error result is not charged.
      if (/\d/.test(text)) return { isError: true, content: [{ type: "text", text: "these are not only words" }] };
      return { content: [{ type: "text", text: String(countWords(text)) }] };
    },
  );

  const app = express();
  app.get("/llms.txt", payments.llmsTxt({ title: "Weather" }));
  app.get("/.well-known/x402", payments.wellKnown());
  app.post("/mcp", express.json(), async (req, res) => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    server.registerTool("ping", { description: "Free." }, () => ({ content: [{ type: "text", text: "pong" }] }));
    tools.register(server);
    // A new transport for each request: the server keeps no session.
    const transport = new StreamableHTTPServerTransport();
    res.once("close", () => void server.close());
    // The optional fields of the SDK do not compile with `exactOptionalPropertyTypes`.
    await server.connect(transport as Transport);
    await transport.handleRequest(req, res, req.body);
  });
  return app;
}

function countWords(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
