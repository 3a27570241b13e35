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
