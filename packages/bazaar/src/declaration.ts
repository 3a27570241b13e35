/**
 * The extension `bazaar` as it crosses the wire: what a seller says of a route, so that catalogs can list it.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */

/** The extension's identifier. */
export const BAZAAR = "bazaar";

/** The dialect of every schema of the extension. */
export const JSON_SCHEMA_2020_12 = "https://json-schema.org/draft/2020-12/schema";

/** A JSON Schema, unchecked. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** How bodies are written. */
export type BodyType = "json" | "form-data" | "text";

/** Every way to write a body. */
export const BODY_TYPES: readonly BodyType[] = ["json", "form-data", "text"];

/** How an MCP tool is reached. */
export type McpTransport = "streamable-http" | "sse";

/** Every way to reach an MCP tool, the default first. */
export const MCP_TRANSPORTS: readonly McpTransport[] = ["streamable-http", "sse"];

/** What an HTTP endpoint takes. Examples, not types: the types are in the schema. */
export interface HttpInput {
  readonly type: "http";
  /** Filled in from the request: `GET`, … */
  readonly method?: string;
  /** An example: `{ city: "Paris" }`. */
  readonly queryParams?: Readonly<Record<string, unknown>>;
  /** Filled in from the request, decoded: `{ id: "7" }`. Only where there is a {@link BazaarDeclaration.routeTemplate}. */
  readonly pathParams?: Readonly<Record<string, unknown>>;
  /** For POST, PUT and PATCH. */
  readonly bodyType?: BodyType;
  /** An example. */
  readonly body?: unknown;
  readonly [key: string]: unknown;
}

/** What an MCP tool takes. */
export interface McpInput {
  readonly type: "mcp";
  /** Its name in `tools/call`. */
  readonly toolName: string;
  readonly description?: string;
  /** Default `streamable-http`. */
  readonly transport?: McpTransport;
  /** JSON Schema of its arguments. */
  readonly inputSchema: JsonSchema;
  /** Arguments, as an example. */
  readonly example?: unknown;
  readonly [key: string]: unknown;
}

/** The data: what goes in, and an example of what comes out. */
export interface DiscoveryInfo {
  readonly input: HttpInput | McpInput;
  readonly output?: { readonly type?: string; readonly format?: string; readonly example?: unknown };
  readonly [key: string]: unknown;
}

/** The data, the JSON Schema of the data, and the catalog's name of a route with parameters. */
export interface BazaarDeclaration {
  readonly info: DiscoveryInfo;
  readonly schema: JsonSchema;
  /** `/users/:id`. */
  readonly routeTemplate?: string;
  readonly [key: string]: unknown;
}
