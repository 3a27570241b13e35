/**
 * Prices a tool: one part of its configuration is charged for as a route, the other part is told to MCP clients.
 *
 * @module
 */
import type { JsonObject, PaymentsEngine, PriceRequest, ReportedOffer, RouteConfig } from "@farebox/core";
import type { RouteGate } from "@farebox/core/adapter";
import { createIssues, type Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { normalizeObjectSchema } from "@modelcontextprotocol/sdk/server/zod-compat.js";
import { toJsonSchemaCompat } from "@modelcontextprotocol/sdk/server/zod-json-schema-compat.js";
import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { PaidCallExtra, ToolSchema } from "./tool-config.js";

/** The configuration that `registerTool` of the SDK takes. */
export interface ToolRegistration {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Exclude<ToolSchema, undefined>;
  readonly outputSchema?: Exclude<ToolSchema, undefined>;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: Record<string, unknown>;
}

/** A tool with a price. */
export interface PricedTool {
  readonly name: string;
  /** Absolute URL of the resource. */
  readonly url: string;
  readonly registration: ToolRegistration;
  readonly gate: RouteGate;
  /** The seller's handler. */
  readonly run: (args: unknown, extra: PaidCallExtra) => unknown;
  /** The largest result that is kept for the same payment sent again, in bytes. */
  readonly holdBytes: number;
}

/** A tool as the seller wrote it. The types of `tools.tool` have checked it; JavaScript has not. */
export interface GivenTool {
  readonly name: string;
  readonly config: object;
  readonly handler: unknown;
  /** Whether another tool has its name. */
  readonly isTaken: boolean;
}

/** The engine that charges, and the options for all tools. */
export interface ToolSeller {
  readonly engine: PaymentsEngine;
  readonly url?: string;
  readonly transport?: "streamable-http" | "sse";
}

/** The tool's own fields, and `extensions`. All other fields are those of a route, and checked as such. */
type Config = ToolRegistration & Pick<RouteConfig, "extensions"> & JsonObject;

/** Facilitators refuse to verify a payment whose resource has a longer description. */
const MAX_DESCRIPTION = 500;

/** The extension by which services are listed in catalogs. */
const BAZAAR = "bazaar";

/** @throws ConfigError with every issue at once. */
export function priceTool(given: GivenTool, { engine, url, transport }: ToolSeller): PricedTool {
  const { name, handler } = given;
  const { title, description, inputSchema, outputSchema, annotations, _meta, ...charged }: Config = { ...given.config };
  const issues = createIssues();
  checkName(name, given.isTaken, issues);
  if (typeof handler !== "function") issues.add("handler", "a function", handler);
  const input = readSchema("inputSchema", inputSchema, issues);
  readSchema("outputSchema", outputSchema, issues);
  issues.throwIfAny();

  const about = typeof description === "string" ? description : `Tool: ${name}`;
  const declaration = {
    toolName: name,
    description: about.slice(0, MAX_DESCRIPTION),
    transport: transport ?? "streamable-http",
    inputSchema: input,
  };
  const { price, accepts } = charged;
  const prices: JsonObject = {
    ...(price === undefined ? {} : { price: byArguments(price) }),
    ...(accepts === undefined ? {} : { accepts: pricesByArguments(accepts) }),
  };
  const route = {
    mimeType: "application/json",
    ...charged,
    ...prices,
    ...(engine.extensions.includes(BAZAAR) ? { extensions: declare(declaration, charged.extensions) } : {}),
    description: declaration.description,
  };
  const resource = url ?? `mcp://tool/${name}`;
  const gate = engine.charge(route, { key: `tool ${name}`, url: resource, input: { type: "mcp", ...declaration } });
  const registration = {
    description: describePrice(about, gate.offers),
    ...(title === undefined ? {} : { title }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  const callHandler = handler as (...all: readonly unknown[]) => unknown;
  const run: PricedTool["run"] = (args, extra) =>
    inputSchema === undefined ? callHandler(extra) : callHandler(args, extra);
  return { name, url: resource, registration, gate, run, holdBytes: engine.holdBytes };
}

/** A tool's name, as MCP defines it. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** Adds an issue if the name is invalid or taken. */
export function checkName(name: unknown, isTaken: boolean, issues: Issues): void {
  if (typeof name !== "string" || !NAME.test(name)) {
    issues.add("name", "1 to 128 letters, digits, underscores, hyphens and dots", name);
  }
  if (isTaken) issues.add("name", "a name that no other tool has", name);
}

/**
 * Appends the price, for clients that read nothing but the description:
 * `Price: 0.001 USDC (x402, exact, eip155:84532) per call.`
 */
export function describePrice(description: string, offers: readonly ReportedOffer[]): string {
  const prices = offers.map(({ scheme, network, price }) => `${price} (x402, ${scheme}, ${network})`);
  return `${description}\n\n${prices.length === 0 ? "Price: free." : `Price: ${prices.join(", or ")} per call.`}`;
}

const NO_FIELDS: JsonObject = Object.freeze({ type: "object", properties: {} });

/** Writes a schema as JSON Schema. `tools/list` does the same, and would fail for all tools if it could not be done. */
function readSchema(path: "inputSchema" | "outputSchema", schema: ToolSchema, issues: Issues): JsonObject {
  if (schema === undefined) return NO_FIELDS;
  const pipeStrategy = path === "inputSchema" ? "input" : "output";
  try {
    const object = normalizeObjectSchema(schema);
    if (object !== undefined) return toJsonSchemaCompat(object, { strictUnions: true, pipeStrategy });
  } catch {
    // JSON Schema cannot express it: an issue, as below.
  }
  issues.add(path, "a Zod object, or its fields, that can be written as JSON Schema", schema);
  return NO_FIELDS;
}

type Extensions = NonNullable<RouteConfig["extensions"]>;

/** Declares the tool for catalogs, with the seller's additions. A complete declaration of the seller's replaces ours. */
function declare(declaration: object, given: unknown = {}): Extensions {
  // The route's own check reports values that are not objects.
  if (!isJsonObject(given)) return given as Extensions;
  const own = given[BAZAAR] ?? {};
  if (!isJsonObject(own) || "info" in own) return given as Extensions;
  return { ...given, [BAZAAR]: { ...declaration, ...own } };
}

function pricesByArguments(accepts: unknown): unknown {
  if (Array.isArray(accepts)) return accepts.map(pricesByArguments);
  if (!isJsonObject(accepts) || accepts["price"] === undefined) return accepts;
  return { ...accepts, price: byArguments(accepts["price"]) };
}

/** A tool's price function gets the arguments first; a route's gets the request only. */
function byArguments(price: unknown): unknown {
  return typeof price === "function" ? (request: PriceRequest): unknown => price(request.body, request) : price;
}
