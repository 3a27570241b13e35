/**
 * An MCP server that sells: one tool for a fixed price, one for a price by its arguments, and one that is free.
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

/** Where this server is paid. */
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Creates the app. */
export function createApp(facilitator: PaymentsOptions["facilitator"]): Express {
  const payments = createPayments({ facilitator, networks: ["eip155:84532"], payTo: { "eip155:*": PAY_TO } });
  const tools = createPaidTools(payments);
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
    },
    ({ text }) => {
      // What is not delivered is not charged for.
      if (/\d/.test(text)) return { isError: true, content: [{ type: "text", text: "these are not only words" }] };
      return { content: [{ type: "text", text: String(countWords(text)) }] };
    },
  );

  const app = express();
  app.post("/mcp", express.json(), async (req, res) => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    server.registerTool("ping", { description: "Free." }, () => ({ content: [{ type: "text", text: "pong" }] }));
    tools.register(server);
    // One for each request: nothing has to be remembered but payments.
    const transport = new StreamableHTTPServerTransport();
    res.once("close", () => void server.close());
    // The SDK's optional fields are written so that exact types refuse them.
    await server.connect(transport as Transport);
    await transport.handleRequest(req, res, req.body);
  });
  return app;
}

function countWords(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
