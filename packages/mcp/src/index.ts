/**
 * Everything exported here is public API.
 *
 * @module
 */
export type { App } from "./in-process.js";
export { createPaidTools, type PaidTools, type PaidToolsOptions, type PaymentsSource } from "./paid-tools.js";
export type { RouteToolConfig } from "./route-tool.js";
export type {
  CallExtra,
  DeclaredSchema,
  PaidCallExtra,
  PaidToolHandler,
  ToolArguments,
  ToolConfig,
  ToolExtensions,
  ToolJsonSchema,
  ToolPaymentOption,
  ToolPriceFunction,
  ToolProgress,
  ToolResource,
  ToolSchema,
  ZodSchema,
} from "./tool-config.js";
