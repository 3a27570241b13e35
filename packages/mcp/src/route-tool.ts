/**
 * A priced route as a tool. Each call becomes a request to the app, and the route's own gate decides: one price, one
 * payment and one claim, over HTTP and MCP alike. A metered route streams (route-stream.ts).
 *
 * @module
 */
import type { PaymentsEngine } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import { decodePaymentResponse, isJsonObject, PAYMENT_RETRY_TOKEN, parseJson } from "@farebox/core/protocol";
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { type App, type AppResponse, connectApp } from "./in-process.js";
import { type CalledRoute, declaredInput, parseCalledRoute, writeRequest } from "./route-request.js";
import { isStreamed, RouteStream, textOf, withTrailers } from "./route-stream.js";
import type { ToolSchema } from "./tool-config.js";
import { describePrice, type ToolRegistration } from "./tool-price.js";
import { Notifier } from "./tool-progress.js";
import { PAYMENT_KEY, RETRY_TOKEN_KEY, retryTokenOf, type ToolCall } from "./tool-request.js";
import { hasChallenge, RECEIPT_KEY, toErrorResult, withoutChallenge } from "./tool-response.js";
import { type ReadSchema, readSchemaOf } from "./tool-schema.js";

/** A tool that is a route. It has the route's price. */
export interface RouteToolConfig {
  /** 1 to 128 letters, digits, underscores, hyphens and dots. */
  readonly name: string;
  readonly title?: string;
  /** For people and models. The price is added, if a table sets it. Default `Tool: <name>`. */
  readonly description?: string;
  /**
   * Arguments named like path parameters go into the path, the others into the query, or into the body as JSON. Default: the
   * input that the route declares under `extensions.bazaar`, and the parameters of its path.
   */
  readonly inputSchema?: Exclude<ToolSchema, undefined>;
  readonly annotations?: ToolAnnotations;
}

/** A route that can be called as a tool. */
export interface RouteTool {
  readonly registration: ToolRegistration;
  call(call: ToolCall): Promise<CallToolResult>;
}

/** A route as the seller wrote it. */
export interface GivenRoute {
  readonly app: App;
  readonly key: string;
  readonly config: RouteToolConfig;
}

/** @throws ConfigError with every issue at once. */
export function createRouteTool({ app, key, config }: GivenRoute, engine: PaymentsEngine): RouteTool {
  const { route, input } = checkRoute(app, key, config);
  const { name, description = `Tool: ${name}`, inputSchema: _, ...rest } = config;
  // A table's key may have been written without the method.
  const path = key.slice(key.indexOf("/"));
  const priced = engine.report().routes.find((one) => one.key === key || one.key === path);
  const declared = engine.declared(key, route.method) ?? engine.declared(path, route.method);
  const inputSchema = input?.registered ?? declaredInput(route, declared?.["bazaar"]);
  const send = connectApp(app);
  return {
    registration: {
      ...rest,
      ...(inputSchema === undefined ? {} : { inputSchema }),
      description: priced === undefined ? description : describePrice(description, priced),
    },
    async call({ server, args, extra }) {
      const written = writeRequest(route, args);
      if (!written.ok)
        return toErrorResult(`The argument ${written.argument} must be a non-empty text other than "." and "..".`);
      const { path, body } = written;
      const host = extra.requestInfo?.headers["host"];
      const payment = extra._meta?.[PAYMENT_KEY];
      const retryToken = retryTokenOf(extra);
      const headers = {
        Host: typeof host === "string" ? host : "localhost",
        Accept: "application/json",
        ...(body === undefined
          ? {}
          : { "Content-Type": "application/json", "Content-Length": `${Buffer.byteLength(body)}` }),
        ...(payment === undefined ? {} : { "PAYMENT-SIGNATURE": toHeader(payment) }),
        // Other texts may not be valid in a header, and none of them is a token.
        ...(retryToken !== undefined && /^[\w-]+$/.test(retryToken) ? { [PAYMENT_RETRY_TOKEN]: retryToken } : {}),
      };
      const notifier = new Notifier({ server, extra });
      const stream = new RouteStream(notifier);
      // What nobody hears of is not delivered before its end.
      const onChunk = notifier.isHeard ? stream.take.bind(stream) : undefined;
      const response = await send({ method: route.method, path, headers, body, signal: extra.signal, onChunk });
      if (response.brokenBy !== undefined && !isStreamed(response)) throw response.brokenBy;
      return toToolResult(response);
    },
  };
}

const KEYS = Object.keys({
  name: true,
  title: true,
  description: true,
  inputSchema: true,
  annotations: true,
} satisfies Record<keyof RouteToolConfig, true>);

interface CheckedRoute {
  readonly route: CalledRoute;
  readonly input: ReadSchema | undefined;
}

function checkRoute(app: unknown, key: unknown, config: RouteToolConfig): CheckedRoute {
  const issues = createIssues();
  const route = parseCalledRoute(key);
  if (typeof app !== "function") issues.add("app", "the Express app that has the route", app);
  if (route === undefined) issues.add("route", 'a method and a path such as "GET /weather/:city"', key);
  const given = issues.checkKeys("config", config, KEYS) ? config : undefined;
  const input = readSchemaOf("input", "config.inputSchema", given?.inputSchema, issues);
  issues.throwIfAny();
  return { route: route ?? { method: "GET", parts: [] }, input };
}

/** Longer headers could exceed the server's limit, and the client would get no reason. */
const MAX_HEADER_BYTES = 12 * 1024;

/** Not base64: the gate refuses it as invalid. */
const INVALID_PAYMENT = "-";

/** Writes a payment as the header that the route reads. */
function toHeader(payment: unknown): string {
  try {
    const bytes = Buffer.from(JSON.stringify(payment));
    return bytes.byteLength > MAX_HEADER_BYTES ? INVALID_PAYMENT : bytes.toString("base64");
  } catch {
    return INVALID_PAYMENT;
  }
}

/** The body of a response. An MCP client reads the challenge there, so it goes before a body of the seller's. */
function readBody(challenge: unknown, text: string) {
  const json = parseJson(text);
  if (typeof challenge !== "string" || (json.ok && isJsonObject(json.value) && "x402Version" in json.value)) {
    return { text, json };
  }
  const challengeText = Buffer.from(challenge, "base64").toString("utf8");
  return { text: challengeText, json: parseJson(challengeText) };
}

function toToolResult(response: AppResponse): CallToolResult {
  const { status, headers } = response;
  const { text, json } = readBody(headers["payment-required"], textOf(response));
  const header = headers["payment-response"];
  const receipt = typeof header === "string" ? decodePaymentResponse(header) : undefined;
  const retryToken = headers[PAYMENT_RETRY_TOKEN.toLowerCase()];
  const _meta = {
    ...(receipt === undefined ? {} : { [RECEIPT_KEY]: receipt }),
    ...(retryToken === undefined ? {} : { [RETRY_TOKEN_KEY]: retryToken }),
  };
  const result: CallToolResult = {
    content: [{ type: "text", text }],
    ...(json.ok && isJsonObject(json.value) ? { structuredContent: { ...json.value } } : {}),
    ...(status >= 200 && status < 300 ? {} : { isError: true }),
    ...(Object.keys(_meta).length === 0 ? {} : { _meta }),
  };
  // Our own challenge has a header.
  if (result.isError === true && headers["payment-required"] === undefined && hasChallenge(result)) {
    return withoutChallenge(result);
  }
  return isStreamed(response) ? withTrailers(result, response) : result;
}
