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
  PaidCallExtra,
  PaidToolHandler,
  ToolArguments,
  ToolConfig,
  ToolPaymentOption,
  ToolPriceFunction,
  ToolSchema,
} from "./tool-config.js";
