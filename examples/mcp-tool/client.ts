/**
 * A client of the server, with the MCP SDK, without a network, a chain or a wallet.
 *
 * @module
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { PaymentRequired, SettlementResponse } from "@farebox/core";
import { createPayer, createTestFacilitator } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createApp, PAY_TO } from "./server.js";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 1_000_000n);
const server = createApp(facilitator).listen(0, "127.0.0.1");
await once(server, "listening");
const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
const client = new Client({ name: "buyer", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(url) as Transport);

async function call(name: string, args: Record<string, unknown>, payment?: unknown): Promise<CallToolResult> {
  const _meta = payment === undefined ? {} : { "x402/payment": payment };
  return (await client.callTool({ name, arguments: args, _meta })) as CallToolResult;
}

/** Calls a tool, pays its price, and calls it again. */
async function buy(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
  const [first] = (await call(name, args)).content;
  assert.equal(first?.type, "text");
  const challenge: PaymentRequired = JSON.parse(first.text);
  assert.ok(challenge.accepts[0]);
  return call(name, args, await payer.signExact(challenge.accepts[0], { challenge }));
}

const receiptOf = ({ _meta }: CallToolResult) => _meta?.["x402/payment-response"] as SettlementResponse;

// The price is in the description.
const { tools } = await client.listTools();
assert.match(tools.find(({ name }) => name === "get_weather")?.description ?? "", /Price: 0.001 USDC/);

// So it is in the documents.
const text = await (await fetch(new URL("/llms.txt", url))).text();
assert.match(text, /`get_weather` on `https:\/\/api\.example\.com\/mcp`.*Costs 0\.001 USDC/);

// A free tool needs no payment.
assert.deepEqual((await call("ping", {})).content, [{ type: "text", text: "pong" }]);

// A paid tool responds with a challenge, and after the payment with its result and a receipt.
assert.equal((await call("get_weather", { city: "Paris" })).isError, true);
const weather = await buy("get_weather", { city: "Paris" });
assert.deepEqual(weather.structuredContent, { city: "Paris", weather: "sunny" });
assert.equal(receiptOf(weather).success, true);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 1_000n);

// The price depends on the arguments.
const words = await buy("count_words", { text: "one two three" });
assert.deepEqual(words.content, [{ type: "text", text: "3" }]);
assert.equal(receiptOf(words).amount, "3000");

// An error is not charged.
const failed = await buy("count_words", { text: "route 66" });
assert.equal(failed.isError, true);
assert.equal(receiptOf(failed).success, false);
assert.equal(facilitator.ledger.balanceOf(PAY_TO), 4_000n);

await client.close();
server.close();
console.log("each tool was charged at its price");
