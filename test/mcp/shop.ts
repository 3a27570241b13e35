/**
 * A seller of tools: an MCP server on an Express app, over Streamable HTTP unless a test says otherwise, with a facilitator that fails on
 * demand. Also its clients: those of the MCP SDK, with a payer.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import type { Deadlines, PaymentPayload, PaymentRequired, SettlementResponse, StartTimer } from "@farebox/core";
import type { Payments } from "@farebox/express";
import { createPaidTools, type PaidTools, type PaidToolsOptions } from "@farebox/mcp";
import type { Payer } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { type EventStore, StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { type CallToolResult, CallToolResultSchema, isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import express, { type Express, type RequestHandler } from "express";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { collectWarnings } from "../express/shop.js";
import { type Business, type BusinessPlan, openBusiness, serve } from "../faults/business.js";

export { PRICE } from "../faults/business.js";

/** Whether the server has sessions, or is created anew for each request. */
export type Sessions = "sessions" | "stateless";

/** How clients reach the server. */
export type Way = "streamable-http" | "sse" | "memory";

/** The parts of a shop that a test replaces. */
export interface ShopPlan extends BusinessPlan {
  readonly toolsOptions?: PaidToolsOptions;
  /** Prices the tools. Default: `goods`, which has an argument `kind` and returns the number of its runs. */
  readonly sell?: (tools: PaidTools, shop: { readonly count: () => number; readonly payments: Payments }) => void;
  /** Registers free tools on each server. */
  readonly free?: (server: McpServer) => void;
  readonly app?: (app: Express, payments: Payments) => void;
  /** Default `streamable-http`. */
  readonly way?: Way;
  /** Over Streamable HTTP. Default `sessions`. */
  readonly sessions?: Sessions;
  readonly eventStore?: EventStore;
  readonly jsonResponse?: boolean;
  /** Default: Express 5. */
  readonly express?: typeof express;
}

/** How a tool is called. */
export interface CallPlan {
  readonly name?: string;
  readonly args?: Record<string, unknown>;
  /** Any value: tests send invalid ones too. */
  readonly payment?: unknown;
  readonly meta?: Record<string, unknown>;
  readonly request?: RequestOptions;
}

/** A client of the SDK with a payer. */
export interface Buyer {
  readonly client: Client;
  /** Over Streamable HTTP. */
  readonly transport: StreamableHTTPClientTransport;
  /** Calls a tool, without a payment or with the given one. */
  ask(plan?: CallPlan): Promise<CallToolResult>;
  /** Calls a tool, signs for the first offer, and calls it again. */
  buy(plan?: CallPlan): Promise<CallToolResult>;
  /** Signs a payment without sending it. */
  sign(plan?: CallPlan): Promise<PaymentPayload>;
}

/** A shop with one client. It closes when the test ends. */
export interface Shop extends Buyer, Business {
  readonly url: string;
  readonly runs: () => number;
  /** Connects another client. */
  connect(): Promise<Buyer>;
}

/** Opens the shop. */
export async function openShop(plan: ShopPlan = {}): Promise<Shop> {
  // The app of a tool's route need not be part of the app of the endpoint.
  collectWarnings();
  const options = { timer: startTimer, ...plan.options, deadlines: deadlinesOf(plan) };
  const business = await openBusiness({ ...plan, options });
  const { payer, payments } = business;
  let runs = 0;
  const count = () => ++runs;
  const tools = createPaidTools(payments, plan.toolsOptions);
  (plan.sell ?? sellGoods)(tools, { count, payments });

  const app = (plan.express ?? express)().set("env", "test");
  plan.app?.(app, payments);
  app.use("/mcp", mcpEndpoint(tools, plan));
  addSse(app, tools, plan);
  const url = await serve(app);
  const connect = async () => connectBuyer(await connectTransport(url, tools, plan), payer);
  return {
    ...business,
    ...(await connect()),
    url,
    runs: () => runs,
    connect,
  };
}

/** A settlement that takes long on a slow machine is no reason for progress, unless the test lets the time pass. */
const startTimer: StartTimer = (act, delayMs) => {
  if (delayMs === 500) return () => {};
  const timer = setTimeout(act, delayMs).unref();
  return () => clearTimeout(timer);
};

/** The facilitator is in this process: a call that takes long is no failure, unless it is the subject. */
const deadlinesOf = ({ options }: ShopPlan): Partial<Deadlines> => ({
  verifyMs: 120_000,
  settleMs: 120_000,
  supportedMs: 120_000,
  ...options?.deadlines,
});

const sellGoods: NonNullable<ShopPlan["sell"]> = (tools, { count }) => {
  const config = { price: "$0.01", description: "Goods", inputSchema: { kind: z.string().default("any") } } as const;
  tools.tool("goods", config, ({ kind }) => ({
    content: [{ type: "text", text: `${kind} ${count()}` }],
    _meta: { "shop/shelf": 7 },
  }));
};

function createMcpServer(tools: PaidTools, { free }: ShopPlan): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  tools.register(server);
  free?.(server);
  return server;
}

/** The endpoint of the SDK's examples. */
export function mcpEndpoint(tools: PaidTools, plan: ShopPlan = {}): RequestHandler {
  const { sessions = "sessions", eventStore, jsonResponse = false } = plan;
  const open = new Map<string, StreamableHTTPServerTransport>();
  const begin = async (options: ConstructorParameters<typeof StreamableHTTPServerTransport>[0]) => {
    const transport = new StreamableHTTPServerTransport({ ...options, enableJsonResponse: jsonResponse });
    // The SDK's types for optional fields do not allow exactOptionalPropertyTypes.
    await createMcpServer(tools, plan).connect(transport as never);
    return transport;
  };
  const json = (plan.express ?? express).json({ limit: "4mb" });
  const find = async (req: express.Request) => {
    if (sessions === "stateless") return begin({ sessionIdGenerator: undefined } as never);
    const id = req.get("mcp-session-id");
    if (id !== undefined) return open.get(id);
    if (!isInitializeRequest(req.body)) return undefined;
    const transport = await begin({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void open.set(session, transport),
      ...(eventStore === undefined ? {} : { eventStore, retryInterval: 10 }),
    });
    return transport;
  };
  return (req, res, next) => {
    json(req, res, (error) => {
      if (error !== undefined) return next(error);
      find(req)
        .then((transport) => {
          if (transport === undefined) return void res.status(404).end();
          if (sessions === "stateless") res.once("close", () => void transport.close());
          return transport.handleRequest(req, res, req.body);
        })
        .catch(next);
    });
  };
}

/** The older transport of the SDK: a stream of events, and requests beside it. */
function addSse(app: Express, tools: PaidTools, plan: ShopPlan): void {
  const open = new Map<string, SSEServerTransport>();
  app.get("/sse", (_req, res, next) => {
    const transport = new SSEServerTransport("/messages", res);
    open.set(transport.sessionId, transport);
    createMcpServer(tools, plan).connect(transport).catch(next);
  });
  app.post("/messages", (req, res, next) => {
    open.get(String(req.query["sessionId"]))?.handlePostMessage(req, res).catch(next);
  });
}

async function connectTransport(url: string, tools: PaidTools, plan: ShopPlan): Promise<object> {
  switch (plan.way) {
    case "sse":
      return new SSEClientTransport(new URL(`${url}/sse`));
    case "memory": {
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      await createMcpServer(tools, plan).connect(ours);
      return theirs;
    }
    default:
      return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
        reconnectionOptions: {
          initialReconnectionDelay: 10,
          maxReconnectionDelay: 10,
          reconnectionDelayGrowFactor: 1,
          maxRetries: 20,
        },
      });
  }
}

async function connectBuyer(connected: object, payer: Payer): Promise<Buyer> {
  const transport = connected as StreamableHTTPClientTransport;
  const client = new Client({ name: "buyer", version: "1.0.0" });
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  const ask: Buyer["ask"] = ({ name = "goods", args = {}, payment, meta, request } = {}) => {
    const _meta = { ...meta, ...(payment === undefined ? {} : { "x402/payment": payment }) };
    // The cast is needed because the SDK's default schema allows other kinds of results too.
    return client.callTool({ name, arguments: args, _meta }, CallToolResultSchema, request) as Promise<CallToolResult>;
  };
  const sign: Buyer["sign"] = async (plan) => {
    const challenge = challengeOf(await ask({ ...plan, payment: undefined }));
    const [offer] = challenge.accepts;
    return offer!.scheme === "upto" ? payer.signUpto(offer!, { challenge }) : payer.signExact(offer!, { challenge });
  };
  return { client, transport, ask, sign, buy: async (plan) => ask({ payment: await sign(plan), ...plan }) };
}

/** The challenge in a result. */
export function challengeOf({ content }: CallToolResult): PaymentRequired {
  const [first] = content;
  return JSON.parse(first?.type === "text" ? first.text : "");
}

/** The gate's problem in a result. */
export function problemOf(result: CallToolResult): { error: string; message?: string; retryAfterSeconds?: number } {
  return challengeOf(result) as never;
}

/** The receipt on a result. */
export function receiptOf({ _meta }: CallToolResult): SettlementResponse | undefined {
  return _meta?.["x402/payment-response"] as SettlementResponse | undefined;
}

/** The first text of a result. */
export function textOf({ content: [first] }: CallToolResult): string | undefined {
  return first?.type === "text" ? first.text : undefined;
}
