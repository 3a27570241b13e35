/**
 * Paid tools. Read this file first: it prices tools, registers them on MCP servers, and gates each call.
 *
 *   tools.tool      a tool with a price: its route, its offers, its description                  (tool-price.ts)
 *   tools.route     a priced route as a tool: each call is a request to the app                  (route-tool.ts)
 *   a call          read → gate.decide → pass | respond | run                                    (callTool, below)
 *     read          the tool, its arguments and its payment as a request for the gate            (tool-request.ts)
 *     pass          run the handler: the tool is free, or a hook let the call through
 *     respond       send the gate's response: a challenge, a refusal, an earlier result          (tool-response.ts)
 *     run           run the handler, settle, and put the receipt on the result                   (tool-call.ts)
 *     progress      what a metered tool delivers before it has settled                           (tool-progress.ts)
 *
 * @module
 */
import type { PaymentsEngine, RouteConfig } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { App } from "./in-process.js";
import { createRouteTool, type RouteToolConfig } from "./route-tool.js";
import { CANCELLED, runAndSettle, runSettled, runUnpaid } from "./tool-call.js";
import type {
  CallExtra,
  DeclaredSchema,
  PaidToolHandler,
  ToolConfig,
  ToolExtensions,
  ToolSchema,
} from "./tool-config.js";
import { isHttpUrl } from "./tool-declaration.js";
import { checkName, type PricedTool, priceTool, type ToolRegistration } from "./tool-price.js";
import { Notifier, whileSettling } from "./tool-progress.js";
import { type ToolCall, toGateRequest } from "./tool-request.js";
import { onSent, toResult } from "./tool-response.js";

/** The payments of `@farebox/express`, or an engine of `@farebox/core`. */
export type PaymentsSource = PaymentsEngine | { readonly engine: PaymentsEngine };

/** Options for all tools. */
export interface PaidToolsOptions {
  /**
   * Where clients reach the MCP server, and under which URL catalogs list the tools: `https://api.example.com/mcp`, or `/mcp` below
   * the `publicUrl` of the payments. Without it the resource is `mcp://tool/<name>`: catalogs list it as unverified or not at all, and
   * clients do not learn where the server is.
   */
  readonly serverUrl?: string;
  /** How clients reach the tools. Default `"streamable-http"`. */
  readonly transport?: "streamable-http" | "sse";
}

/** Tools with a price. */
export interface PaidTools {
  /**
   * Prices a tool. Takes the arguments of the SDK's `registerTool`, and the price.
   *
   * @throws ConfigError with every issue at once.
   */
  tool<
    Input extends ToolSchema = undefined,
    Output extends ToolSchema = undefined,
    Extensions extends RouteConfig["extensions"] = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Output> & ToolExtensions<Extensions>,
    handler: PaidToolHandler<Input extends undefined ? DeclaredSchema<Extensions> : Input>,
  ): void;
  /**
   * Makes a tool of a priced route: `route(app, "GET /weather/:city", { name: "get_weather", inputSchema })`. Each call is a
   * request to the app, inside the process. The price is the route's own, set in a table or by `payments.charge`.
   *
   * @throws ConfigError with every issue at once.
   */
  route(app: App, key: string, config: RouteToolConfig): void;
  /**
   * Registers all tools priced so far on a server. With a server per session, call it for each of them.
   *
   * @throws Error of the SDK when the server already has a tool of that name.
   */
  register(server: McpServer): void;
}

/** A tool as it is registered, and as it is called. */
interface PaidTool {
  readonly registration: ToolRegistration;
  call(call: ToolCall): Promise<CallToolResult>;
}

/** Prepares to sell tools, with the facilitators, store, hooks and events of the given payments. */
export function createPaidTools(payments: PaymentsSource, options: PaidToolsOptions = {}): PaidTools {
  const engine = "engine" in payments ? payments.engine : payments;
  checkOptions(options);
  const { transport = "streamable-http" } = options;
  const seller = { engine, transport, serverUrl: serverUrlOf(options, engine) };
  const tools = new Map<string, PaidTool>();
  return {
    tool(name, config, handler) {
      const tool = priceTool({ name, config, handler, isTaken: tools.has(name) }, seller);
      tools.set(name, { registration: tool.registration, call: (call) => callTool(tool, call) });
    },
    route(app, key, config) {
      const { name } = config;
      const issues = createIssues();
      checkName(name, tools.has(name), issues);
      issues.throwIfAny();
      tools.set(name, createRouteTool({ app, key, config }, engine));
    },
    register(server) {
      for (const [name, tool] of tools) registerTool(server, name, tool);
    },
  };
}

/** The SDK passes the arguments to the handler of a tool with an input schema only. */
function registerTool(server: McpServer, name: string, { registration, call }: PaidTool): void {
  const registered: RegisteredTool =
    registration.inputSchema === undefined
      ? server.registerTool(name, registration, (extra: unknown) => handle(undefined, extra))
      : server.registerTool(name, registration, (args: unknown, extra: unknown) => handle(args, extra));
  const handle = (args: unknown, extra: unknown) =>
    call({ server, outputSchema: registered.outputSchema, args, extra: extra as CallExtra });
}

/** Calls a tool that has a price. Rejects only when the handler throws. */
async function callTool(tool: PricedTool, given: ToolCall): Promise<CallToolResult> {
  const { extra, outputSchema } = given;
  const call = { ...given, notifier: new Notifier(given) };
  const request = toGateRequest(tool, call);
  const deciding = tool.gate.decide(request, () => ({ routeTemplate: undefined, pathParams: {} }));
  // Some payments settle before the handler runs, and a copy of a payment waits for the first.
  const maySettle = tool.settlesFirst || request.retryToken !== undefined;
  const settling = { timer: tool.timer };
  const decision = await (maySettle ? whileSettling(Promise.resolve(deciding), call.notifier, settling) : deciding);
  if (extra.signal.aborted) {
    // The client cancelled while the gate was deciding. It can send the same payment again.
    if (decision.kind === "respond") decision.onClosed?.(false);
    if (decision.kind === "run") {
      if (decision.admission.isHeld) decision.admission.handlerEnded();
      void decision.admission.cancel();
    }
    return CANCELLED;
  }
  switch (decision.kind) {
    case "pass":
      return runUnpaid(tool, call);
    case "respond":
      if (decision.onClosed !== undefined) onSent(call.server, extra, decision.onClosed);
      return toResult(decision.response, outputSchema !== undefined);
    case "run":
      return decision.admission.isHeld
        ? runAndSettle(tool, call, decision.admission)
        : runSettled(tool, call, decision.admission);
  }
}

const OPTIONS = Object.keys({ serverUrl: true, transport: true } satisfies Record<keyof PaidToolsOptions, true>);

function checkOptions(options: PaidToolsOptions): void {
  const issues = createIssues();
  const { serverUrl, transport }: PaidToolsOptions = issues.checkKeys("options", options, OPTIONS) ? options : {};
  if (serverUrl !== undefined && !isServerUrl(serverUrl)) {
    const expected =
      "a URL such as https://api.example.com/mcp, or a path such as /mcp, without a query or credentials";
    issues.add("options.serverUrl", expected, serverUrl);
  }
  if (transport !== undefined && transport !== "streamable-http" && transport !== "sse") {
    issues.add("options.transport", '"streamable-http" or "sse"', transport);
  }
  issues.throwIfAny();
}

/** Stands for the origin of a path. */
const ANY_ORIGIN = "https://api.example.com";

/** Catalogs leave out a query, so clients could not reach a server that needs one. */
function isServerUrl(given: unknown): boolean {
  if (typeof given !== "string" || /[\s\\?#]/.test(given)) return false;
  return isHttpUrl(given.startsWith("/") ? ANY_ORIGIN + given : given);
}

/** The URL of the server; `undefined`: the seller did not say. A request's host does not count: the client writes it. */
function serverUrlOf({ serverUrl }: PaidToolsOptions, engine: PaymentsEngine): string | undefined {
  if (serverUrl?.startsWith("/") !== true) return serverUrl;
  const { origin, isCertain } = engine.originOf(undefined);
  return isCertain ? origin + serverUrl : undefined;
}
