/**
 * Prices a tool: one part of its configuration is charged for as a route, the other part is told to MCP clients.
 *
 * @module
 */
import { hasIdentifier, toolIdentifier } from "@farebox/bazaar";
import type { JsonObject, PaymentsEngine, PriceRequest, ReportedOffer, RouteConfig } from "@farebox/core";
import type { ChargedAs, RouteGate } from "@farebox/core/adapter";
import { createIssues, type Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { PaidCallExtra, ZodSchema } from "./tool-config.js";
import { BAZAAR, declareTool, MAX_DESCRIPTION, readOwnDeclaration, readResource } from "./tool-declaration.js";
import { readSchemaOf } from "./tool-schema.js";

/** The configuration that `registerTool` of the SDK takes. */
export interface ToolRegistration {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: ZodSchema;
  readonly outputSchema?: ZodSchema;
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
  readonly timer: PaymentsEngine["timer"];
  /** Whether a payment may settle before the handler runs. */
  readonly settlesFirst: boolean;
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
  /** Absolute URL of the MCP server; `undefined`: not known. */
  readonly serverUrl: string | undefined;
  readonly transport: "streamable-http" | "sse";
}

/** The tool's own fields, and `extensions`. All other fields are those of a route, and checked as such. */
type Config = Omit<ToolRegistration, "inputSchema" | "outputSchema"> & Pick<RouteConfig, "extensions"> & JsonObject;

/** @throws ConfigError with every issue at once. */
export function priceTool(given: GivenTool, { engine, serverUrl, transport }: ToolSeller): PricedTool {
  const { name, handler } = given;
  const config: Config = { ...given.config };
  const { title, description, inputSchema, outputSchema, resource, example, annotations, _meta, ...charged } = config;
  const issues = createIssues();
  checkName(name, given.isTaken, issues);
  if (typeof handler !== "function") issues.add("handler", "a function", handler);
  const own = readOwnDeclaration(charged.extensions, name, issues);
  const input =
    inputSchema === undefined
      ? readSchemaOf("input", own.inputSchemaPath, own.inputSchema, issues)
      : readSchemaOf("input", "inputSchema", inputSchema, issues);
  const output = readSchemaOf("output", "outputSchema", outputSchema, issues);
  const { url, description: subject } = readResource(resource, name, issues);
  issues.throwIfAny();

  const about = typeof description === "string" ? description : (subject ?? own.description ?? `Tool: ${name}`);
  const described = {
    toolName: name,
    description: about.slice(0, MAX_DESCRIPTION),
    transport,
    inputSchema: input?.declared ?? NO_FIELDS,
    ...(example === undefined ? {} : { example }),
  };
  const listed = url ?? serverUrl ?? toolIdentifier(name);
  // A name does not say where the server is.
  const isName = listed === toolIdentifier(name);
  const server = isName ? (own.serverUrl ?? serverUrl) : undefined;
  const declared = engine.extensions.includes(BAZAAR)
    ? declareTool(described, { outputSchema: output?.declared, server }, own)
    : undefined;
  const { price, accepts, extensions } = charged;
  const prices: JsonObject = {
    ...(price === undefined ? {} : { price: byArguments(price) }),
    ...(accepts === undefined ? {} : { accepts: pricesByArguments(accepts) }),
  };
  const route = {
    mimeType: "application/json",
    ...charged,
    ...prices,
    ...(declared === undefined ? {} : { extensions: { ...extensions, [BAZAAR]: declared } }),
    description: subject ?? described.description,
  };
  const as: ChargedAs = {
    key: `tool ${name}`,
    url: listed,
    serverUrl: server,
    input: { type: "mcp", ...described },
    notices: isName && server === undefined ? [UNKNOWN_SERVER] : [],
  };
  const gate = engine.charge(route, as);
  const registration = {
    description: describePrice(about, { offers: gate.offers, isGrantOnly: gate.offers.length === 0 && gate.prices() }),
    ...(title === undefined ? {} : { title }),
    ...(input === undefined ? {} : { inputSchema: input.registered }),
    ...(output === undefined ? {} : { outputSchema: output.registered }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  const callHandler = handler as (...all: readonly unknown[]) => unknown;
  const run: PricedTool["run"] = (args, extra) => (input === undefined ? callHandler(extra) : callHandler(args, extra));
  const settlesFirst = gate.offers.some(({ settle }) => settle === "before");
  const { holdBytes, timer } = engine;
  return { name, url: as.url, registration, gate, run, holdBytes, timer, settlesFirst };
}

/** A tool without arguments. */
const NO_FIELDS: JsonObject = Object.freeze({ type: "object", properties: {} });

const UNKNOWN_SERVER = {
  code: "FAREBOX_TOOL_URL_UNKNOWN",
  message:
    "It is declared by its name alone, so catalogs cannot say where its server is, or ask it: they do not list the tool, or list it as unverified, for the first seller with that name",
} as const;

/** Adds an issue if the name is invalid or taken. */
export function checkName(name: unknown, isTaken: boolean, issues: Issues): void {
  if (!hasIdentifier(name)) {
    issues.add("name", "1 to 128 letters, digits, underscores, hyphens and dots", name);
  }
  // The SDK keeps tools in an object.
  if (typeof name === "string" && name in {}) issues.add("name", "a name that no object has in JavaScript", name);
  if (isTaken) issues.add("name", "a name that no other tool has", name);
}

/**
 * Appends the price, for clients that read nothing but the description:
 * `Price: 0.001 USDC (x402, exact, eip155:84532) per call.`
 */
export function describePrice(
  description: string,
  { offers, isGrantOnly = false }: { readonly offers: readonly ReportedOffer[]; readonly isGrantOnly?: boolean },
): string {
  const prices = offers.map(({ scheme, network, price }) => `${price} (x402, ${scheme}, ${network})`);
  const unpaid = isGrantOnly ? "Not for sale: the seller grants calls." : "Price: free.";
  return `${description}\n\n${prices.length === 0 ? unpaid : `Price: ${prices.join(", or ")} per call.`}`;
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
