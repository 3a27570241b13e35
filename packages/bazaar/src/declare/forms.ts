/**
 * The forms in which a seller declares, as types.
 *
 * @module
 */
import type { BazaarDeclaration, BodyType, JsonSchema, McpTransport } from "../declaration.js";

/** One query parameter: JSON Schema, and whether it has to be there. */
export interface QueryParameter {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly required?: boolean;
  readonly [keyword: string]: unknown;
}

/** What goes in: JSON Schema with `properties` and `required`; or a map of query parameters; or both, for a body and a query. */
export interface InputSchema {
  readonly queryParams?: Readonly<Record<string, QueryParameter>>;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** What comes out, by example and by schema. */
export interface OutputForm {
  readonly example?: unknown;
  readonly schema?: JsonSchema;
}

/** An HTTP route. */
export interface HttpForm {
  /** Whether catalogs shall list it. Default `true`. */
  readonly discoverable?: boolean;
  /** An example: `{ city: "Paris" }`; for `bodyType: "text"` it may be a text. */
  readonly input?: unknown;
  readonly inputSchema?: InputSchema;
  /** How the body is written, of POST, PUT and PATCH. Default `"json"`. */
  readonly bodyType?: BodyType;
  /** An example, in place of which each request's own parameters go out. */
  readonly pathParams?: Readonly<Record<string, unknown>>;
  readonly pathParamsSchema?: JsonSchema;
  /** JSON Schema of the answer. */
  readonly outputSchema?: JsonSchema;
  readonly output?: OutputForm;
}

/** An MCP tool. */
export interface McpForm {
  /** Whether catalogs shall list it. Default `true`. */
  readonly discoverable?: boolean;
  /** Its name in `tools/call`: 1 to 128 letters, digits and the signs `_ - . /`. */
  readonly toolName: string;
  /** At most 500 characters. */
  readonly description?: string;
  /** Default `"streamable-http"`. */
  readonly transport?: McpTransport;
  /** JSON Schema of its arguments. */
  readonly inputSchema: JsonSchema;
  /** Arguments, as an example. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** JSON Schema of its result. */
  readonly outputSchema?: JsonSchema;
  readonly output?: OutputForm;
}

/** What may stand under `extensions.bazaar`. */
export type BazaarForm = HttpForm | McpForm | (BazaarDeclaration & { readonly discoverable?: boolean });
