/**
 * The types of a paid tool: its price, as of a route, the rest of its configuration, and its handler.
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

/** A schema as `registerTool` of the SDK takes it: a Zod object, or its fields. */
export type ZodSchema = ZodRawShapeCompat | AnySchema;

/** JSON Schema 2020-12 of an object. `type: "object"` may be left out beside `properties`. */
export interface ToolJsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The schema of the arguments or of the result of a tool. */
export type ToolSchema = undefined | ZodSchema | ToolJsonSchema;

/** The arguments of a call: parsed by Zod, or checked by the JSON Schema. */
export type ToolArguments<Input extends ToolSchema> = Input extends ZodRawShapeCompat
  ? ShapeOutput<Input>
  : Input extends AnySchema
    ? SchemaOutput<Input>
    : Input extends undefined
      ? undefined
      : Readonly<Record<string, unknown>>;

/** The SDK's `extra`: the last argument of every handler. */
export type CallExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/**
 * Gives the client a part of the output before the result, as the message of a progress notification. Without a text, the notification
 * says only what the call has cost so far. Resolves when it is sent, and never rejects.
 *
 * By `settle: "metered"`, a text that follows a charge is sent before it is paid for, and the client pays for it even if it cancels.
 * By `"before"` a text is sent at once, by `"after"` not at all. Nothing is sent to a client that asks for no progress, and nothing once
 * `signal` has aborted. So the result should have the whole output.
 */
export type ToolProgress = (text?: string) => Promise<void>;

/** The last argument of a paid tool's handler. `signal` also aborts when the payment expires, or its maximum is used up. */
export type PaidCallExtra = CallExtra & {
  /** The payment for this call; absent when a hook let the call through without one. */
  readonly payment?: Payment;
  readonly progress: ToolProgress;
};

/**
 * The handler of a paid tool, as `registerTool` takes it. If it throws or returns `isError`, nothing is charged, unless a part of the
 * output was sent by `progress`: then that is charged.
 */
export type PaidToolHandler<Input extends ToolSchema> = Input extends undefined | ZodSchema
  ? BaseToolCallback<CallToolResult, PaidCallExtra, Input>
  : (args: ToolArguments<Input>, extra: PaidCallExtra) => CallToolResult | Promise<CallToolResult>;

/**
 * The price of a call with these arguments. It is signed into the offer, with the arguments, and valid for
 * `maxTimeoutSeconds`.
 */
export type ToolPriceFunction<Input extends ToolSchema> = (
  args: ToolArguments<Input>,
  request: PriceRequest,
) => Price | Promise<Price>;

type WithToolPrice<Option, Input extends ToolSchema> = Option extends unknown
  ? Omit<Option, "price"> & { readonly price?: Price | ToolPriceFunction<Input> }
  : never;

/** One way to pay for a tool. As of a route, but a price function gets the arguments first. */
export type ToolPaymentOption<Input extends ToolSchema> = WithToolPrice<PaymentOption, Input>;

/** What a tool has of its own, and what only HTTP has. */
type NotOfTools = "chargeable" | "resource" | "unpaidBody" | "settlementFailedBody" | "unavailableBody" | "paywall";

type CommonConfig = Omit<RouteConfig, "accepts" | "price" | "description" | NotOfTools>;

/** How catalogs and challenges name a tool. */
export interface ToolResource {
  /**
   * An https URL, or `mcp://tool/<name>`: then the declaration has the `serverUrl`, if it is known. Default: the URL of the server, or
   * `mcp://tool/<name>` if that is unknown.
   */
  readonly url?: string;
  /** At most 500 characters. Default: the tool's description. */
  readonly description?: string;
}

/** A paid tool: the price as of a route, and the configuration that `registerTool` takes. */
export interface ToolConfig<Input extends ToolSchema = undefined, Output extends ToolSchema = undefined>
  extends CommonConfig {
  /** Ways to pay, in order of preference: clients take the first they can. */
  readonly accepts?: ToolPaymentOption<Input> | readonly ToolPaymentOption<Input>[];
  /** The price of each way to pay that has none of its own. */
  readonly price?: Price | ToolPriceFunction<Input>;
  readonly title?: string;
  /** For people and models. The price is added. Catalogs get the first 500 characters. Default: that of `resource`. */
  readonly description?: string;
  /** Default: the JSON Schema in `extensions.bazaar`. */
  readonly inputSchema?: Input;
  /** Told to clients and catalogs. A result that does not match is an error, and is not charged. */
  readonly outputSchema?: Output;
  readonly resource?: ToolResource;
  /** Example arguments, for catalogs. */
  readonly example?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The part of a tool's configuration that declares it for catalogs, with the type that it has. */
export interface ToolExtensions<Extensions extends RouteConfig["extensions"]> {
  readonly extensions?: Extensions;
}

/**
 * The schema of the arguments that `extensions.bazaar` declares, in one of its forms: `{ inputSchema }`, or `{ info, schema }`. Without an
 * `inputSchema` beside it, calls are checked by that schema.
 */
export type DeclaredSchema<Extensions> = "bazaar" extends keyof Extensions
  ? [Extract<Extensions["bazaar"], { readonly inputSchema: object } | { readonly info: object }>] extends [never]
    ? undefined
    : ToolJsonSchema
  : undefined;
