/**
 * The bridge of `examples/mcp-bridge`, as a process: the money that it spends when something fails, and its output.
 */
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { expect, onTestFinished, test } from "vitest";
import { openLedger } from "../faults/bank.js";
import { DEADLINES, openShop, PRICE } from "../faults/shop.js";
import { textOf } from "./shop.js";

const BRIDGE = fileURLToPath(new URL("../../examples/mcp-bridge/dist/server.js", import.meta.url));

/** Calls a shop's `/goods` through the bridge, with a payer's key. */
async function callThroughBridge(path: string, url: string, privateKey: string) {
  const env = { EVM_PRIVATE_KEY: privateKey, RESOURCE_SERVER_URL: url, ENDPOINT_PATH: path };
  const transport = new StdioClientTransport({ command: process.execPath, args: [BRIDGE], env, stderr: "pipe" });
  let said = "";
  transport.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const client = new Client({ name: "an MCP client", version: "1.0.0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const result = (await client.callTool({ name: "call_paid_endpoint", arguments: {} })) as CallToolResult;
  expect(JSON.stringify([said, result])).not.toContain(privateKey.slice(2));
  return result;
}

async function openFundedShop(plan: Parameters<typeof openShop>[0] = {}) {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  const privateKey = generatePrivateKey();
  bank.ledger.fund(privateKeyToAddress(privateKey), 10n * PRICE);
  return { shop: await openShop({ bank, options: { deadlines: DEADLINES }, ...plan }), privateKey };
}

test("the bridge repeats the same payment when the response to a settlement is lost: one charge, one run", async () => {
  const { shop, privateKey } = await openFundedShop();
  shop.facilitatorServer.faults.next("settle", {
    kind: "drop",
    when: "after",
  });
  const result = await callThroughBridge("/goods", shop.url, privateKey);
  expect(result.isError).toBeUndefined();
  expect(textOf(result)).toBe('{"goods":1}');
  expect([shop.runs(), await shop.income()]).toEqual([1, PRICE]);
}, 60_000);

test("the bridge does not send a payment to the target of a seller's redirect", async () => {
  const elsewhere = await openFundedShop();
  const { shop, privateKey } = await openFundedShop({
    handler: (_req, res) => res.redirect(307, `${elsewhere.shop.url}/goods`),
  });
  const result = await callThroughBridge("/goods", shop.url, privateKey);
  expect([result.isError, textOf(result)]).toEqual([undefined, `${elsewhere.shop.url}/goods`]);
  expect([await shop.income(), await elsewhere.shop.income(), elsewhere.shop.runs()]).toEqual([PRICE, 0n, 0]);
});

test("a payer without money gets the reason from the seller, and is not charged", async () => {
  const { shop } = await openFundedShop();
  const poor = generatePrivateKey();
  const result = await callThroughBridge("/goods", shop.url, poor);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^402 .*\n.*insufficient_funds/s);
  expect(shop.runs()).toBe(0);
});
