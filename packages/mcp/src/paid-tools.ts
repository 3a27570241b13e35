/**
 * Paid tools: priced once, put on any number of servers.
 *
 * @module
 */
import { createIssues, type PaymentsEngine } from "@farebox/core";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { App } from "./loopback.js";
import { noteName, type PricedTool, priceTool } from "./price-tool.js";
import { createRouteTool, type RouteTool, type RouteToolConfig } from "./route-tool.js";
import { callTool } from "./tool-call.js";
import type { CallExtra, PaidToolHandler, ToolConfig, ToolSchema } from "./tool-config.js";

/** Who decides: the payments of `@farebox/express`, or an engine. */
export type PaymentsSource = PaymentsEngine | { readonly engine: PaymentsEngine };

/** What is the same for all tools. */
export interface PaidToolsOptions {
  /** Absolute URL under which catalogs list the tools, e.g. `https://api.example.com/mcp`. Default `mcp://tool/<name>`. */
  readonly url?: string;
  /** How clients reach the tools. Default `"streamable-http"`. */
  readonly transport?: "streamable-http" | "sse";
}

/** Tools that cost something. */
export interface PaidTools {
  /**
   * Prices a tool: what `registerTool` of the SDK takes, and what it costs.
   *
   * @throws ConfigError with every issue at once.
   */
  tool<Input extends ToolSchema = undefined, Output extends ToolSchema = undefined>(
    name: string,
    config: ToolConfig<Input, Output>,
    handler: PaidToolHandler<Input>,
  ): void;
  /**
   * Makes a tool of a priced route: `route(app, "GET /weather/:city", { name: "get_weather", inputSchema })`. Each call is a
   * request to the app, within the process, and the route's own price decides: by table or by `payments.charge`.
   *
   * @throws ConfigError with every issue at once.
   */
  route(app: App, key: string, config: RouteToolConfig): void;
  /**
   * Puts all tools that have been priced so far on a server; on each one, where there is one for each session.
   *
   * @throws Error of the SDK when the server has a tool of that name.
   */
  register(server: McpServer): void;
}

/** Prepares to sell tools by the same facilitators, store, hooks and events as everything else. */
export function createPaidTools(payments: PaymentsSource, options: PaidToolsOptions = {}): PaidTools {
  const engine = "engine" in payments ? payments.engine : payments;
  parseOptions(options);
  const tools = new Map<string, PricedTool | RouteTool>();
  return {
    tool(name, config, handler) {
      const isTaken = tools.has(name);
      tools.set(name, priceTool({ name, config, handler, isTaken }, { engine, ...options }));
    },
    route(app, key, config) {
      const { name } = config;
      checkName(name, tools.has(name));
      tools.set(name, createRouteTool({ app, key, config }, engine));
    },
    register(server) {
      for (const tool of tools.values()) registerTool(server, tool);
    },
  };
}

const KEYS = Object.keys({ url: true, transport: true } satisfies Record<keyof PaidToolsOptions, true>);

function parseOptions(options: PaidToolsOptions): void {
  const issues = createIssues();
  const { url, transport }: PaidToolsOptions = issues.checkKeys("options", options, KEYS) ? options : {};
  if (url !== undefined && !(typeof url === "string" && URL.canParse(url))) {
    issues.add("options.url", "an absolute URL such as https://api.example.com/mcp", url);
  }
  if (transport !== undefined && transport !== "streamable-http" && transport !== "sse") {
    issues.add("options.transport", '"streamable-http" or "sse"', transport);
  }
  issues.throwIfAny();
}

function checkName(name: string, isTaken: boolean): void {
  const issues = createIssues();
  noteName(name, { isTaken, issues });
  issues.throwIfAny();
}

function registerTool(server: McpServer, priced: PricedTool | RouteTool): void {
  const { registration } = priced;
  const hasInput = registration.inputSchema !== undefined;
  const registered: RegisteredTool = server.registerTool(
    priced.name,
    registration,
    (first: unknown, second?: CallExtra) => {
      const [args, extra] = hasInput ? [first, second] : [undefined, first];
      const call = { server, outputSchema: registered.outputSchema, args, extra: extra as CallExtra };
      return "tool" in priced ? callTool({ tool: priced.tool, ...call }) : priced.call(args, call.extra);
    },
  );
}
