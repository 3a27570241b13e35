/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  createDiscoveryClient,
  type DiscoveryClient,
  type DiscoveryClientOptions,
  type DiscoveryHeaders,
  type DiscoveryListQuery,
  type DiscoverySearchQuery,
} from "./catalog/discovery-client.js";
export { networkName, PRICE_LIMITS, type PriceLimit, type Stablecoin, stablecoinOf } from "./catalog/dollars.js";
export {
  affordable,
  type Budget,
  type CatalogEntry,
  type EntryFilter,
  type EntryMethod,
  type EntryOffer,
  type EntryType,
} from "./catalog/entry.js";
export { DiscoveryError, type DiscoveryProblem } from "./catalog/fetch-json.js";
export type { DiscoveryPage } from "./catalog/read-page.js";
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
export type { SchemaProblem } from "./declare/json-schema.js";
export { type ReadToolSchema, readToolSchema } from "./declare/tool-schema.js";
export { type LlmsTxtOptions, writeLlmsTxt } from "./documents/llms-txt.js";
export { type OpenApiOptions, writeOpenApi } from "./documents/openapi.js";
export { writeWellKnown } from "./documents/well-known.js";
export { hasIdentifier, toolIdentifier } from "./tool-identifier.js";
