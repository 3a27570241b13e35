/**
 * Declarations for catalogs, in the form of `@x402/extensions/bazaar`. The engine reads them as any other declaration: it adds the
 * method and the path of each request by itself.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import type { JsonObject } from "@farebox/core";

/** The extension's identifier. */
export const BAZAAR: { readonly key: string } = Object.freeze({ key: "bazaar" });

/** Registered or not, the engine has the extension. */
export const bazaarResourceServerExtension: { readonly key: string } = Object.freeze({ key: "bazaar" });

/** An example of the output, and its JSON Schema. */
export interface DiscoveryOutput {
  readonly example?: unknown;
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** A route without a body. */
export interface DeclareQueryDiscoveryExtensionConfig {
  /** `GET`, `HEAD` or `DELETE`. Default: that of the request. */
  readonly method?: string;
  /** An example of the query. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** JSON Schema of the query. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  readonly pathParams?: Readonly<Record<string, unknown>>;
  readonly pathParamsSchema?: Readonly<Record<string, unknown>>;
  readonly output?: DiscoveryOutput;
}

/** A route with a body. */
export interface DeclareBodyDiscoveryExtensionConfig extends Omit<DeclareQueryDiscoveryExtensionConfig, "input"> {
  readonly bodyType: "json" | "form-data" | "text";
  /** An example of the body. */
  readonly input?: unknown;
}

/** An MCP tool. */
export interface DeclareMcpDiscoveryExtensionConfig {
  readonly toolName: string;
  readonly description?: string;
  readonly transport?: "streamable-http" | "sse";
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Example arguments. */
  readonly example?: unknown;
  readonly output?: DiscoveryOutput;
}

/** What {@link declareDiscoveryExtension} takes. */
export type DeclareDiscoveryExtensionInput =
  | DeclareQueryDiscoveryExtensionConfig
  | DeclareBodyDiscoveryExtensionConfig
  | DeclareMcpDiscoveryExtensionConfig;

/** A declaration: the data, and the JSON Schema of the data. */
export interface DiscoveryExtension {
  readonly info: { readonly input: JsonObject; readonly output?: JsonObject };
  readonly schema: JsonObject;
}

/** Declares a route or a tool for catalogs: `extensions: { ...declareDiscoveryExtension({ … }) }`. */
export function declareDiscoveryExtension(
  config: DeclareDiscoveryExtensionInput,
): Record<"bazaar", DiscoveryExtension> {
  const { input, schema } = "toolName" in config ? describeTool(config) : describeRoute(config);
  const { example, schema: exampleSchema = {} } = config.output ?? {};
  const output = example
    ? { type: "object", properties: { type: TEXT, example: { type: "object", ...exampleSchema } }, required: ["type"] }
    : undefined;
  return {
    bazaar: {
      info: { input, ...(output && { output: { type: "json", example } }) },
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { input: { type: "object", ...schema, additionalProperties: false }, ...(output && { output }) },
        required: ["input"],
      },
    },
  };
}

const TEXT = { type: "string" } as const;

/** The input, and its JSON Schema. */
interface Described {
  readonly input: JsonObject;
  readonly schema: { readonly properties: JsonObject; readonly required: readonly string[] };
}

function describeRoute(config: DeclareQueryDiscoveryExtensionConfig | DeclareBodyDiscoveryExtensionConfig): Described {
  const { method, input = {}, inputSchema = { properties: {} }, pathParams, pathParamsSchema } = config;
  const hasBody = "bodyType" in config && config.bodyType !== undefined;
  const content = hasBody ? { bodyType: config.bodyType, body: input } : { queryParams: input };
  const contentSchema = hasBody
    ? { bodyType: { ...TEXT, enum: ["json", "form-data", "text"] }, body: inputSchema }
    : { queryParams: { type: "object", ...inputSchema } };
  const methods = hasBody ? ["POST", "PUT", "PATCH"] : ["GET", "HEAD", "DELETE"];
  return {
    input: { type: "http", ...(method ? { method } : {}), ...content, ...(pathParams && { pathParams }) },
    schema: {
      properties: {
        type: { ...TEXT, const: "http" },
        method: { ...TEXT, enum: methods },
        ...contentSchema,
        ...(pathParamsSchema && { pathParams: { type: "object", ...pathParamsSchema } }),
      },
      required: ["type", "method", ...(hasBody ? ["bodyType", "body"] : [])],
    },
  };
}

function describeTool(config: DeclareMcpDiscoveryExtensionConfig): Described {
  const { toolName, description, transport, inputSchema, example } = config;
  const isKnown = transport === "streamable-http" || transport === "sse";
  const given = <T>(name: string, value: T | undefined, as: unknown = value) =>
    value === undefined ? {} : { [name]: as };
  return {
    input: {
      type: "mcp",
      toolName,
      ...given("description", description),
      ...given("transport", transport),
      inputSchema,
      ...given("example", example),
    },
    schema: {
      properties: {
        type: { ...TEXT, const: "mcp" },
        toolName: TEXT,
        ...given("description", description, TEXT),
        ...given("transport", transport, isKnown ? { ...TEXT, enum: [transport] } : TEXT),
        inputSchema: { type: "object" },
        ...given("example", example, { type: "object" }),
      },
      required: ["type", "toolName", "inputSchema"],
    },
  };
}
