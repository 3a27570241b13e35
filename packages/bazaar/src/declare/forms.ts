/**
 * The forms in which a seller may write a declaration.
 *
 * @module
 */
import type { BazaarDeclaration, BodyType, JsonSchema, McpTransport } from "../declaration.js";

/** One query parameter: JSON Schema, and whether it is required. */
export interface QueryParameter {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly required?: boolean;
  readonly [keyword: string]: unknown;
}

/** The input: JSON Schema with `properties` and `required`, a map of query parameters, or both for a body and a query. */
export interface InputSchema {
  readonly queryParams?: Readonly<Record<string, QueryParameter>>;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The output, by example and by schema. */
export interface OutputForm {
  readonly example?: unknown;
  readonly schema?: JsonSchema;
}

/** An HTTP route. */
export interface HttpForm {
  /** Whether catalogs list it. Default `true`. */
  readonly discoverable?: boolean;
  /** An example: `{ city: "Paris" }`, or a string for `bodyType: "text"`. */
  readonly input?: unknown;
  readonly inputSchema?: InputSchema;
  /** The body format of POST, PUT and PATCH. Default `"json"`. */
  readonly bodyType?: BodyType;
  /** An example. Each request replaces it with its own parameters. */
  readonly pathParams?: Readonly<Record<string, unknown>>;
  readonly pathParamsSchema?: JsonSchema;
  /** JSON Schema of the response. */
  readonly outputSchema?: JsonSchema;
  readonly output?: OutputForm;
}

/** An MCP tool. */
export interface McpForm {
  /** Whether catalogs list it. Default `true`. */
  readonly discoverable?: boolean;
  /** The name in `tools/call`: 1 to 128 letters, digits and the characters `_ - . /`. */
  readonly toolName: string;
  /** At most 500 characters. */
  readonly description?: string;
  /** Default `"streamable-http"`. */
  readonly transport?: McpTransport;
  /** The URL of the MCP server, where the tool's resource is `mcp://tool/<name>` and does not say it. */
  readonly serverUrl?: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** Example arguments. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** JSON Schema of the result. */
  readonly outputSchema?: JsonSchema;
  readonly output?: OutputForm;
}

/** The value of `extensions.bazaar`. */
export type BazaarForm = HttpForm | McpForm | (BazaarDeclaration & { readonly discoverable?: boolean });
