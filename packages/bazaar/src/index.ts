/**
 * Everything exported here is public API.
 *
 * @module
 */
export type {
  BazaarDeclaration,
  BodyType,
  DiscoveryInfo,
  HttpInput,
  JsonSchema,
  McpInput,
  McpTransport,
} from "./declaration.js";
export { bazaarExtension } from "./declare/extension.js";
export type { BazaarForm, HttpForm, InputSchema, McpForm, OutputForm, QueryParameter } from "./declare/forms.js";
export { type LlmsTxtOptions, writeLlmsTxt } from "./documents/llms-txt.js";
export { type OpenApiOptions, writeOpenApi } from "./documents/openapi.js";
export { writeWellKnown } from "./documents/well-known.js";
