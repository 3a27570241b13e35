/**
 * Connections that break or resume, and other transports: the payer gets the paid result, or can fetch it.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPaymentsEngine } from "@farebox/core/adapter";
import { exactEvm } from "@farebox/evm";
import { createPayments } from "@farebox/express";
import { createPaidTools } from "@farebox/mcp";
import { createPayer, createTestFacilitator } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { createLatch, type Latch } from "../faults/latch.js";
import { challengeOf, openShop, PRICE, receiptOf, type Shop, type ShopPlan, textOf } from "./shop.js";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Sells a tool that signals its start, and then waits for the latch. */
function sellSlowly(started: Latch, release: Latch): NonNullable<ShopPlan["sell"]> {
  return (tools, { count }) => {
    tools.tool("goods", { price: "$0.01" }, async () => {
      const run = count();
      started.open();
      await release.opened;
      return text(`run ${run}`);
    });
  };
}

/** Sends a paid call on a connection of its own, which the test can break. */
async function callRaw(shop: Shop, payment: unknown): Promise<{ breakOff(): Promise<void> }> {
  const controller = new AbortController();
  const { sessionId } = shop.transport;
  const params = { name: "goods", arguments: {}, _meta: { "x402/payment": payment } };
  const response = await fetch(`${shop.url}/mcp`, {
    method: "POST",
    signal: controller.signal,
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...(sessionId === undefined ? {} : { "mcp-session-id": sessionId }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: "raw", method: "tools/call", params }),
  });
  return {
    async breakOff() {
      controller.abort();
      await response.text().catch(() => {});
    },
  };
}

describe("a stream that breaks while the handler runs", () => {
  test("a call whose stream breaks goes on in a session, is charged, and its result is kept for the same payment", async () => {
    const [started, release] = [createLatch(), createLatch()];
    const closed = createLatch();
    const shop = await openShop({
      sell: sellSlowly(started, release),
      app: (app) => app.use((_req, res, next) => next(void started.opened.then(() => res.once("close", closed.open)))),
    });
    const payment = await shop.sign();
    const call = await callRaw(shop, payment);
    await started.opened;
    await call.breakOff();
    await closed.opened;
    const settled = new Promise((tell) => shop.payments.on("settled", tell));
    release.open();
    await settled;
    const again = await shop.ask({ payment });
    expect(textOf(again)).toBe("run 1");
    expect(receiptOf(again)).toMatchObject({ success: true });
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
    expect(textOf(await shop.ask({ payment }))).toBe("run 1");
  });

  test("a call whose stream breaks without sessions is cancelled and not charged", async () => {
    const [started, release] = [createLatch(), createLatch()];
    const shop = await openShop({ sessions: "stateless", sell: sellSlowly(started, release) });
    const payment = await shop.sign();
    const call = await callRaw(shop, payment);
    await started.opened;
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", tell));
    await call.breakOff();
    await cancelled;
    release.open();
    expect([shop.settlements(), await shop.spent()]).toEqual([0, 0n]);
    expect(textOf(await shop.ask({ payment }))).toBe("run 2");
    expect(await shop.spent()).toBe(PRICE);
  });
});

test("a resumed session yields the paid result", async () => {
  const shop = await openShop({
    eventStore: new InMemoryEventStore(),
    sell: (tools, { count }) => {
      tools.tool("goods", { price: "$0.01" }, async ({ closeSSEStream, sendNotification, _meta }) => {
        await sendNotification({
          method: "notifications/progress",
          params: { progressToken: _meta?.progressToken ?? 0, progress: 1 },
        });
        closeSSEStream?.();
        return text(`run ${count()}, ${closeSSEStream === undefined ? "whole" : "resumed"}`);
      });
    },
  });
  const bought = await shop.buy({ request: { onprogress: () => {} } });
  expect(textOf(bought)).toBe("run 1, resumed");
  expect(receiptOf(bought)).toMatchObject({ success: true });
  expect([shop.settlements(), await shop.spent()]).toEqual([1, PRICE]);
});

test("a client with a new session can pay with an earlier signed payment", async () => {
  const shop = await openShop();
  const payment = await shop.sign();
  await shop.transport.terminateSession();
  await shop.client.close();
  const back = await shop.connect();
  expect(textOf(await back.ask({ payment }))).toBe("any 1");
  expect(await shop.spent()).toBe(PRICE);
});

test("progress is reported while the handler runs, and the payment is not shown to it", async () => {
  const seen: unknown[] = [];
  const shop = await openShop({
    sell: (tools) => {
      tools.tool("goods", { price: "$0.01" }, async ({ _meta, sendNotification }) => {
        seen.push(Object.keys(_meta ?? {}));
        const progressToken = _meta!.progressToken!;
        for (const progress of [1, 2, 3]) {
          await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
        }
        return text("done");
      });
    },
  });
  const progress: number[] = [];
  const payment = await shop.sign();
  const bought = await shop.ask({
    payment,
    meta: { "buyer/note": "hello" },
    request: { onprogress: (told) => progress.push(told.progress) },
  });
  expect(textOf(bought)).toBe("done");
  expect(progress).toEqual([1, 2, 3]);
  expect(seen).toEqual([["progressToken", "buyer/note"]]);
});

test("a tool is sold by a server that responds with JSON instead of a stream", async () => {
  const shop = await openShop({ jsonResponse: true });
  expect(textOf(await shop.buy())).toBe("any 1");
  expect(await shop.spent()).toBe(PRICE);
});

/** Buys as a connected client. */
async function buyFrom(client: Client, name: string): Promise<CallToolResult> {
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, PRICE);
  const challenge = challengeOf((await client.callTool({ name })) as CallToolResult);
  const payment = await payer.signExact(challenge.accepts[0]!, { challenge });
  return (await client.callTool({ name, _meta: { "x402/payment": payment } })) as CallToolResult;
}

const facilitator = createTestFacilitator();
const accepts = { price: "$0.01", network: "eip155:84532", payTo: createPayer().address } as const;

test("tools are sold over SSE, the older transport", async () => {
  const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
  const tools = createPaidTools(payments, { transport: "sse" });
  tools.tool("goods", { accepts }, ({ payment }) => text(payment!.amount));
  const open = new Map<string, SSEServerTransport>();
  const app = express();
  app.get("/sse", async (_req, res) => {
    const transport = new SSEServerTransport("/messages", res);
    open.set(transport.sessionId, transport);
    const server = new McpServer({ name: "shop", version: "1.0.0" });
    tools.register(server);
    await server.connect(transport);
  });
  app.post("/messages", (req, res) => void open.get(String(req.query["sessionId"]))?.handlePostMessage(req, res));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    payments.close();
    server.closeAllConnections();
    server.close();
  });
  const client = new Client({ name: "buyer", version: "1.0.0" });
  await client.connect(
    new SSEClientTransport(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`)),
  );
  onTestFinished(() => client.close());
  const { accepts: offers } = challengeOf((await client.callTool({ name: "goods" })) as CallToolResult);
  expect(offers[0]).toHaveProperty("outputSchema.input.transport", "sse");
  const bought = await buyFrom(client, "goods");
  expect(textOf(bought)).toBe("10000");
  expect(receiptOf(bought)).toMatchObject({ success: true });
});

test("tools are sold without Express, with a seller's own engine", async () => {
  const engine = createPaymentsEngine({ facilitator }, { schemes: [exactEvm()] });
  onTestFinished(() => engine.close());
  const tools = createPaidTools(engine);
  tools.tool("goods", { accepts }, ({ payment }) => text(payment!.amount));
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  tools.register(server);
  const client = new Client({ name: "buyer", version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  onTestFinished(() => client.close());
  expect(textOf(await buyFrom(client, "goods"))).toBe("10000");
});
