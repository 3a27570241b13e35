/**
 * The extension `bazaar` on the wire: the seller describes a route, so that catalogs can list it.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";

/** The extension's identifier. */
export const BAZAAR = "bazaar";

/** The dialect of all schemas in the extension. */
export const JSON_SCHEMA_2020_12 = "https://json-schema.org/draft/2020-12/schema";

/** A JSON Schema, unchecked. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The format of a request body. */
export type BodyType = "json" | "form-data" | "text";

/** All body formats. */
export const BODY_TYPES: readonly BodyType[] = ["json", "form-data", "text"];

/** The transport of an MCP tool. */
export type McpTransport = "streamable-http" | "sse";

/** All transports, the default first. */
export const MCP_TRANSPORTS: readonly McpTransport[] = ["streamable-http", "sse"];

/** The input of an HTTP endpoint, as an example. The types are in the schema. */
export interface HttpInput {
  readonly type: "http";
  /** The method of the request: `GET`, … */
  readonly method?: string;
  /** An example: `{ city: "Paris" }`. */
  readonly queryParams?: Readonly<Record<string, unknown>>;
  /** The decoded path parameters of the request: `{ id: "7" }`. Only with a {@link BazaarDeclaration.routeTemplate}. */
  readonly pathParams?: Readonly<Record<string, unknown>>;
  /** For POST, PUT and PATCH. */
  readonly bodyType?: BodyType;
  /** An example. */
  readonly body?: unknown;
  readonly [key: string]: unknown;
}

/** The input of an MCP tool. */
export interface McpInput {
  readonly type: "mcp";
  /** The name of the tool in `tools/call`. */
  readonly toolName: string;
  readonly description?: string;
  /** Default `streamable-http`. */
  readonly transport?: McpTransport;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** Example arguments. */
  readonly example?: unknown;
  readonly [key: string]: unknown;
}

/** The input of a service, and an example of its output. */
export interface DiscoveryInfo {
  readonly input: HttpInput | McpInput;
  readonly output?: { readonly type?: string; readonly format?: string; readonly example?: unknown };
  readonly [key: string]: unknown;
}

/** The discovery info, the JSON Schema of that info, and the template of a route with parameters. */
export interface BazaarDeclaration {
  readonly info: DiscoveryInfo;
  readonly schema: JsonSchema;
  /** `/users/:id`. */
  readonly routeTemplate?: string;
  /** Of a tool whose resource is `mcp://tool/<name>`: where its server is. */
  readonly serverUrl?: string;
  readonly [key: string]: unknown;
}

/** The schema of `info.input`. */
export function inputSchemaOf(schema: JsonSchema): JsonObject {
  return schemaAt(schema, ["input"]) ?? {};
}

/** The schema of `info.output.example`, if declared. */
export function outputSchemaOf(schema: JsonSchema): JsonObject | undefined {
  return schemaAt(schema, ["output", "example"]);
}

/** The schema of a nested property. */
export function schemaAt(schema: JsonObject, names: readonly string[]): JsonObject | undefined {
  return names.reduce<JsonObject | undefined>((found, name) => {
    const properties = found?.["properties"];
    const property = isJsonObject(properties) ? properties[name] : undefined;
    return isJsonObject(property) ? property : undefined;
  }, schema);
}
