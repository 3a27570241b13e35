/**
 * A priced route as a tool: the call becomes a request to the app, and the route's own gate decides. So there is one price,
 * one payment and one claim, however a client comes.
 *
 * @module
 */
import { createIssues, decodePaymentResponse, isJsonObject, type PaymentsEngine, parseJson } from "@farebox/core";
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { declaredInput } from "./declared-input.js";
import { type App, type AskInside, askInside, type InnerResponse } from "./loopback.js";
import { writePriceLine } from "./price-line.js";
import type { Registration } from "./price-tool.js";
import { type CalledRoute, parseCalledRoute, writeRequest } from "./route-request.js";
import { RECEIPT_KEY, toErrorResult } from "./tool-answer.js";
import type { CallExtra, ToolSchema } from "./tool-config.js";
import { PAYMENT_KEY } from "./tool-request.js";

/** What MCP clients are told of a route. What it costs says the route. */
export interface RouteToolConfig {
  /** 1 to 128 letters, digits, underscores, hyphens and dots. */
  readonly name: string;
  readonly title?: string;
  /** For people and models. What the route costs is added, if its price is in a table. Default `Tool: <name>`. */
  readonly description?: string;
  /**
   * Arguments named as the parameters of the path go there; the others go into the query, or the body as JSON. Default: what
   * the route declares under `extensions.bazaar`, and the parameters of its path.
   */
  readonly inputSchema?: Exclude<ToolSchema, undefined>;
  readonly annotations?: ToolAnnotations;
}

/** A route that can be called as a tool. */
export interface RouteTool {
  readonly name: string;
  readonly registration: Registration;
  call(args: unknown, extra: CallExtra): Promise<CallToolResult>;
}

/** A route as its seller gives it. */
export interface GivenRoute {
  readonly app: App;
  readonly key: string;
  readonly config: RouteToolConfig;
}

const KEYS = Object.keys({
  name: true,
  title: true,
  description: true,
  inputSchema: true,
  annotations: true,
} satisfies Record<keyof RouteToolConfig, true>);

/** @throws ConfigError with every issue at once. */
export function createRouteTool({ app, key, config }: GivenRoute, engine: PaymentsEngine): RouteTool {
  const route = checkRoute(app, key, config);
  const { name, description = `Tool: ${name}`, ...rest } = config;
  const ask = askInside(app);
  const priced = engine.report().routes.find((one) => one.key === key || one.key === key.slice(key.indexOf("/")));
  const { inputSchema = declaredInput(route, declaredOf(key, route, engine)) } = rest;
  const about = priced === undefined ? description : `${description}\n\n${writePriceLine(priced.offers)}`;
  return {
    name,
    registration: { ...rest, ...(inputSchema === undefined ? {} : { inputSchema }), description: about },
    call: (args, extra) => callRoute({ route, ask }, args, extra),
  };
}

function checkRoute(app: unknown, key: unknown, config: unknown): CalledRoute {
  const issues = createIssues();
  const route = parseCalledRoute(key);
  if (typeof app !== "function") issues.add("app", "the Express app that has the route", app);
  if (route === undefined) issues.add("route", 'a method and a path such as "GET /weather/:city"', key);
  issues.checkKeys("config", config, KEYS);
  issues.throwIfAny();
  return route ?? { method: "GET", parts: [] };
}

/** Of a key that is written with its method, or without one. */
function declaredOf(key: string, { method }: CalledRoute, engine: PaymentsEngine): unknown {
  const declared = engine.declared(key, method) ?? engine.declared(key.slice(key.indexOf("/")), method);
  return declared?.["bazaar"];
}

async function callRoute(
  { route, ask }: { readonly route: CalledRoute; readonly ask: AskInside },
  args: unknown,
  extra: CallExtra,
): Promise<CallToolResult> {
  const written = writeRequest(route, args);
  if (!written.ok) return toErrorResult(`The argument ${written.argument} must be a text with something in it.`);
  const { path, body } = written;
  const host = extra.requestInfo?.headers["host"];
  const payment = extra._meta?.[PAYMENT_KEY];
  const headers = {
    Host: typeof host === "string" ? host : "localhost",
    Accept: "application/json",
    ...(body === undefined
      ? {}
      : { "Content-Type": "application/json", "Content-Length": `${Buffer.byteLength(body)}` }),
    ...(payment === undefined ? {} : { "PAYMENT-SIGNATURE": toHeader(payment) }),
  };
  return toToolResult(await ask({ method: route.method, path, headers, body, signal: extra.signal }));
}

/** More than a header may have. The server would not even say what is wrong with it. */
const MAX_BYTES = 12 * 1024;
const NO_PAYMENT = "-";

/** What is no payment stays none, so that the gate says so. */
function toHeader(payment: unknown): string {
  try {
    const bytes = Buffer.from(JSON.stringify(payment));
    return bytes.byteLength > MAX_BYTES ? NO_PAYMENT : bytes.toString("base64");
  } catch {
    return NO_PAYMENT;
  }
}

function toToolResult({ status, headers, body }: InnerResponse): CallToolResult {
  const text = body.toString("utf8");
  const json = parseJson(text);
  const structured = json.ok && isJsonObject(json.value) ? { structuredContent: { ...json.value } } : {};
  const header = headers["payment-response"];
  const receipt = typeof header === "string" ? decodePaymentResponse(header) : undefined;
  return {
    content: [{ type: "text", text }],
    ...structured,
    ...(status >= 200 && status < 300 ? {} : { isError: true }),
    ...(receipt === undefined ? {} : { _meta: { [RECEIPT_KEY]: receipt } }),
  };
}
