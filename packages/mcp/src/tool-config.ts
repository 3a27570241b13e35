/**
 * What a seller says of a paid tool: what it costs, as of a route, and what MCP clients are told of it.
 *
 * @module
 */
import type { Payment, PaymentOption, Price, PriceRequest, RouteConfig } from "@farebox/core";
import type { BaseToolCallback } from "@modelcontextprotocol/sdk/server/mcp.js";
import type {
  AnySchema,
  SchemaOutput,
  ShapeOutput,
  ZodRawShapeCompat,
} from "@modelcontextprotocol/sdk/server/zod-compat.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type {
  CallToolResult,
  ServerNotification,
  ServerRequest,
  ToolAnnotations,
} from "@modelcontextprotocol/sdk/types.js";

/** What `registerTool` of the SDK takes for a schema: a Zod object, or its fields. */
export type ToolSchema = undefined | ZodRawShapeCompat | AnySchema;

/** The arguments of a call, as the schema makes them. */
export type ToolArguments<Input extends ToolSchema> = Input extends ZodRawShapeCompat
  ? ShapeOutput<Input>
  : Input extends AnySchema
    ? SchemaOutput<Input>
    : undefined;

/** What the SDK hands to the handler of any tool. */
export type CallExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What the handler of a paid tool gets besides. `signal` aborts when the payment runs out, too. */
export type PaidCallExtra = CallExtra & {
  /** The payment that the call is answered for; absent when a hook let the call through without one. */
  readonly payment?: Payment;
};

/** The handler of a paid tool: what `registerTool` takes. One that throws, or answers `isError`, is not charged for. */
export type PaidToolHandler<Input extends ToolSchema> = BaseToolCallback<CallToolResult, PaidCallExtra, Input>;

/**
 * Says what a call with these arguments costs. The price is signed into the offer, with the arguments, and holds for
 * `maxTimeoutSeconds`.
 */
export type ToolPriceFunction<Input extends ToolSchema> = (
  args: ToolArguments<Input>,
  request: PriceRequest,
) => Price | Promise<Price>;

type WithToolPrice<Option, Input extends ToolSchema> = Option extends unknown
  ? Omit<Option, "price"> & { readonly price?: Price | ToolPriceFunction<Input> }
  : never;

/** One way to pay for a tool: that of a route, but that a price function gets the arguments. */
export type ToolPaymentOption<Input extends ToolSchema> = WithToolPrice<PaymentOption, Input>;

type CommonConfig = Omit<RouteConfig, "accepts" | "price" | "chargeable" | "description">;

/** A paid tool. What it costs is said as for a route; the rest is what `registerTool` takes. */
export interface ToolConfig<Input extends ToolSchema = undefined, Output extends ToolSchema = undefined>
  extends CommonConfig {
  /** Ways to pay, the seller's favourite first: clients take the first they can. */
  readonly accepts?: ToolPaymentOption<Input> | readonly ToolPaymentOption<Input>[];
  /** Price of every way to pay that names none itself. */
  readonly price?: Price | ToolPriceFunction<Input>;
  readonly title?: string;
  /** For people and models. What it costs is added. Catalogs get the first 500 characters. Default `Tool: <name>`. */
  readonly description?: string;
  readonly inputSchema?: Input;
  /** A result that does not fit is an error and is not charged for. */
  readonly outputSchema?: Output;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: Readonly<Record<string, unknown>>;
}
