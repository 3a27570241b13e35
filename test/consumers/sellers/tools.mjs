// Prices a tool, and says what its clients read of it.
import { createPayments } from "@farebox/express";
import { createPaidTools } from "@farebox/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const payments = createPayments({ facilitator: "http://127.0.0.1:1" });
const tools = createPaidTools(payments);
const accepts = { price: "$0.001", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
tools.tool("get_weather", { accepts, inputSchema: { city: z.string() } }, () => ({ content: [] }));
const server = new McpServer({ name: "shop", version: "1.0.0" });
tools.register(server);
const client = new Client({ name: "reader", version: "1.0.0" });
const [ours, theirs] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(ours), client.connect(theirs)]);
const [tool] = (await client.listTools()).tools;
console.log(tool.description.split("\n").at(-1));
await client.close();
payments.close();
