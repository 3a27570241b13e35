/**
 * Prices a tool: splits what the seller says into what is charged for it and what MCP clients are told.
 *
 * @module
 */
import {
  createIssues,
  type Issues,
  isJsonObject,
  type JsonObject,
  type PaymentsEngine,
  type PriceRequest,
  type RouteConfig,
} from "@farebox/core";
import { normalizeObjectSchema } from "@modelcontextprotocol/sdk/server/zod-compat.js";
import { toJsonSchemaCompat } from "@modelcontextprotocol/sdk/server/zod-json-schema-compat.js";
import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { writePriceLine } from "./price-line.js";
import type { PaidTool } from "./tool-call.js";
import type { ToolSchema } from "./tool-config.js";

/** What the SDK is told of a tool. */
export interface Registration {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Exclude<ToolSchema, undefined>;
  readonly outputSchema?: Exclude<ToolSchema, undefined>;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: Record<string, unknown>;
}

/** A tool that can be sold, and how it is registered. */
export interface PricedTool {
  readonly name: string;
  readonly tool: PaidTool;
  readonly registration: Registration;
}

/** A tool as its seller gives it, by a function whose types have checked it. */
export interface GivenTool {
  readonly name: string;
  readonly config: object;
  readonly handler: unknown;
  /** Whether another one has its name. */
  readonly isTaken: boolean;
}

/** Where it is sold. */
export interface ToolShop {
  readonly engine: PaymentsEngine;
  readonly url?: string;
  readonly transport?: "streamable-http" | "sse";
}

/** @throws ConfigError with every issue at once. */
export function priceTool(given: GivenTool, { engine, url, transport }: ToolShop): PricedTool {
  const { name, handler } = given;
  const { title, description, inputSchema, outputSchema, annotations, _meta, ...rest }: Config = { ...given.config };
  const input = checkTool(given, { inputSchema, outputSchema });
  const about = typeof description === "string" ? description : `Tool: ${name}`;
  const resource = url ?? `mcp://tool/${name}`;
  const declaration = {
    toolName: name,
    description: about.slice(0, MAX_DESCRIPTION),
    transport: transport ?? "streamable-http",
    inputSchema: input,
  };
  const route = {
    mimeType: "application/json",
    ...rest,
    ...pricesBy(rest),
    ...(engine.extensions.includes(BAZAAR) ? { extensions: declare(declaration, rest.extensions) } : {}),
    description: declaration.description,
  };
  const gate = engine.charge(route, { key: `tool ${name}`, url: resource, input: { type: "mcp", ...declaration } });
  const registration = {
    description: `${about}\n\n${writePriceLine(gate.offers)}`,
    ...(title === undefined ? {} : { title }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  const run: PaidTool["run"] = (args, extra) =>
    Reflect.apply(
      handler as (...all: unknown[]) => unknown,
      undefined,
      inputSchema === undefined ? [extra] : [args, extra],
    );
  return { name, tool: { name, url: resource, gate, run, holdBytes: engine.holdBytes }, registration };
}

/** By which services are listed in catalogs. */
const BAZAAR = "bazaar";

type Declared = NonNullable<RouteConfig["extensions"]>;

/** Every tool is declared, by what MCP says of it and what its seller adds; a whole declaration of the seller's stands alone. */
function declare(declaration: object, given: unknown = {}): Declared {
  // What is no object is an issue of the route.
  if (!isJsonObject(given)) return given as Declared;
  const own = given[BAZAAR] ?? {};
  const all = isJsonObject(own) && !("info" in own) ? { ...given, [BAZAAR]: { ...declaration, ...own } } : given;
  return all as Declared;
}

/** Facilitators refuse to verify a payment whose resource has a longer description. */
const MAX_DESCRIPTION = 500;

/** What is ours of a tool's configuration; the rest is as for a route, and checked as that. */
type Config = Registration & Pick<RouteConfig, "extensions"> & JsonObject;

/** As MCP has it. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** Notes what is wrong with a name. */
export function noteName(
  name: unknown,
  { isTaken, issues }: { readonly isTaken: boolean; readonly issues: Issues },
): void {
  if (typeof name !== "string" || !NAME.test(name)) {
    issues.add("name", "1 to 128 letters, digits, underscores, hyphens and dots", name);
  }
  if (isTaken) issues.add("name", "a name that no other tool has", name);
}

/** Yields the JSON Schema of the arguments. */
function checkTool(
  { name, handler, isTaken }: GivenTool,
  schemas: { readonly inputSchema: ToolSchema; readonly outputSchema: ToolSchema },
): JsonObject {
  const issues = createIssues();
  noteName(name, { isTaken, issues });
  if (typeof handler !== "function") issues.add("handler", "a function", handler);
  const input = toJsonSchema(schemas.inputSchema, { path: "inputSchema", pipeStrategy: "input", issues });
  toJsonSchema(schemas.outputSchema, { path: "outputSchema", pipeStrategy: "output", issues });
  issues.throwIfAny();
  return input;
}

const NOTHING: JsonObject = Object.freeze({ type: "object", properties: {} });

/** As `tools/list` has it. What cannot be written so would fail there, for all tools. */
function toJsonSchema(
  schema: ToolSchema,
  {
    path,
    pipeStrategy,
    issues,
  }: { readonly path: string; readonly pipeStrategy: "input" | "output"; readonly issues: Issues },
): JsonObject {
  if (schema === undefined) return NOTHING;
  try {
    const object = normalizeObjectSchema(schema);
    if (object !== undefined) return toJsonSchemaCompat(object, { strictUnions: true, pipeStrategy });
  } catch {
    // There are no words for it, as below.
  }
  issues.add(path, "a Zod object, or its fields, that can be written as JSON Schema", schema);
  return NOTHING;
}

/** Prices by arguments, as prices by request. */
function pricesBy({ accepts, price }: JsonObject): JsonObject {
  return {
    ...(price === undefined ? {} : { price: byArguments(price) }),
    ...(accepts === undefined ? {} : { accepts: Array.isArray(accepts) ? accepts.map(withPrice) : withPrice(accepts) }),
  };
}

function withPrice(option: unknown): unknown {
  return isJsonObject(option) && option["price"] !== undefined
    ? { ...option, price: byArguments(option["price"]) }
    : option;
}

function byArguments(price: unknown): unknown {
  return typeof price === "function"
    ? (request: PriceRequest): unknown => Reflect.apply(price, undefined, [request.body, request])
    : price;
}
