/**
 * The call of `x402-express`, the first version of the protocol: `paymentMiddleware(payTo, routes, facilitator)`. The wire is that of
 * version 2, so clients of version 1 have to change over.
 *
 * @see `docs/reference/compat.md`
 * @module
 */
import {
  ConfigError,
  type RouteConfig as NativeRoute,
  type RoutesConfig as NativeRoutes,
  type PaymentOption,
  type PaymentsOptions,
} from "@farebox/core";
import { isJsonObject, type JsonObject, networkByName } from "@farebox/core/protocol";
import { paymentMiddleware as nativeMiddleware } from "@farebox/express";
import type { RequestHandler } from "express";

/** Dollars, as `"$0.01"`, `"0.01"` or `0.01`. */
export type Money = string | number;

/** A network by its name. Names and CAIP-2 identifiers of version 2 work, too. */
export type Network = "base" | "base-sepolia" | "polygon" | "avalanche" | "solana" | "solana-devnet" | (string & {});

/** An address of Solana. */
export type SolanaAddress = string;

/** An absolute URL. */
export type Resource = `${string}://${string}`;

/** An amount of a token, in atomic units. */
export interface TokenAmount {
  amount: string;
  asset: { address: string; decimals: number; eip712?: { name: string; version: string } };
}

/** Dollars, or an amount of a token. */
export type Price = Money | TokenAmount;

/** Describes a route. */
export interface PaymentMiddlewareConfig {
  /** Beyond 500 characters it is cut. */
  description?: string | undefined;
  mimeType?: string | undefined;
  /** Default 60. */
  maxTimeoutSeconds?: number | undefined;
  /** For catalogs: `queryParams`, `bodyType` and `bodyFields`. */
  inputSchema?: Record<string, unknown> | undefined;
  /** For catalogs: JSON Schema of the response, or an example of it. */
  outputSchema?: object | undefined;
  /** Whether catalogs list the route. Default `true`. */
  discoverable?: boolean | undefined;
  /** The page for browsers. */
  customPaywallHtml?: string | undefined;
  /** Absolute URL that replaces that of the request. */
  resource?: string | undefined;
  /** Not used: the challenge of version 2 has reasons of its own. */
  errorMessages?: Record<string, string | undefined> | undefined;
}

/** A priced route. */
export interface RouteConfig {
  price: Price;
  network: Network;
  config?: PaymentMiddlewareConfig | undefined;
}

/** Routes by key: `"GET /weather"`, `"/weather/*"`, `"/users/[id]"`. A price alone is on Base Sepolia, a test network. */
export type RoutesConfig = Record<string, Price | RouteConfig>;

/** The facilitator. */
export interface FacilitatorConfig {
  url: string;
  createAuthHeaders?: () => Promise<
    Partial<Record<"verify" | "settle" | "supported" | "list", Record<string, string>>>
  >;
}

/** Not used: the option `paywall` has the settings of the page. */
export interface PaywallConfig {
  cdpClientKey?: string;
  appName?: string;
  appLogo?: string;
  sessionTokenEndpoint?: string;
}

/**
 * Prices routes: `app.use(paymentMiddleware("0x…", { "GET /weather": { price: "$0.01", network: "base" } }, { url: "https://…" }))`.
 *
 * @param payTo - Recipient on every network of the routes.
 * @param facilitator - Required: no facilitator is chosen for you.
 * @param _paywall - Not used.
 * @param options - Further options of Farebox, e.g. `store` and `publicUrl`.
 * @throws ConfigError with every issue at once.
 */
export function paymentMiddleware(
  payTo: string,
  routes: RoutesConfig,
  facilitator?: FacilitatorConfig,
  _paywall?: PaywallConfig,
  options: Partial<PaymentsOptions> = {},
): RequestHandler {
  const chosen = facilitator === undefined ? options.facilitator : toChoice(facilitator);
  if (chosen === undefined) {
    throw new ConfigError([{ path: "facilitator", expected: FACILITATOR_REMEDY, received: "nothing" }]);
  }
  if (!isJsonObject(routes)) {
    throw new ConfigError([
      { path: "routes", expected: 'an object such as { "GET /weather": "$0.01" }', received: typeof routes },
    ]);
  }
  const table = Object.entries(routes).map(([key, route]) => [toKey(key), toRoute(payTo, route)]);
  return nativeMiddleware(Object.fromEntries(table) as NativeRoutes, { ...options, facilitator: chosen });
}

const FACILITATOR_REMEDY =
  'a facilitator that you chose, such as { url: "https://…" }: x402-express took https://x402.org/facilitator, which is for test networks';

function toChoice({ url, createAuthHeaders }: FacilitatorConfig): PaymentsOptions["facilitator"] {
  if (createAuthHeaders === undefined) return url;
  return {
    url,
    async headers() {
      const { verify = {}, settle = {}, supported = {} } = await createAuthHeaders();
      return { verify, settle, supported };
    },
  };
}

/** `get /x` and `* /x` are `GET /x` and `/x`. A key that is neither is the engine's to refuse. */
function toKey(key: string): string {
  const [verb = "", path, ...rest] = key.trim().split(/\s+/);
  if (path === undefined || rest.length > 0) return key;
  return verb === "*" ? path : `${verb.toUpperCase()} ${path}`;
}

/** The network of a price without one. */
const DEFAULT_NETWORK = "base-sepolia";
const DEFAULT_TIMEOUT_SECONDS = 60;
/** Facilitators refuse a payment for a longer description. */
const MAX_DESCRIPTION = 500;

function toRoute(payTo: string, route: Price | RouteConfig): NativeRoute {
  const { price, network, config = {} } = isRoute(route) ? route : { price: route, network: DEFAULT_NETWORK };
  const {
    description,
    mimeType,
    customPaywallHtml: page,
    resource,
    maxTimeoutSeconds = DEFAULT_TIMEOUT_SECONDS,
  } = config;
  const accepts: PaymentOption = {
    scheme: "exact",
    network: networkByName(network) ?? network,
    payTo,
    price: toPrice(price),
    maxTimeoutSeconds,
  };
  return {
    accepts,
    ...(description === undefined ? {} : { description: description.slice(0, MAX_DESCRIPTION) }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(resource === undefined ? {} : { resource }),
    ...(page === undefined ? {} : { paywall: { html: page } }),
    ...(config.discoverable === false ? {} : { extensions: { bazaar: toDeclaration(config) } }),
  };
}

function isRoute(route: Price | RouteConfig): route is RouteConfig {
  return isJsonObject(route) && "price" in route;
}

/** `0.01`, `"0.01"` and `"$0.01"` are dollars. Texts that are no amount go to the engine, which says what is wrong with them. */
function toPrice(price: Price): NonNullable<PaymentOption["price"]> {
  if (isJsonObject(price)) {
    const { amount, asset } = price as unknown as TokenAmount;
    const { address, eip712 } = asset;
    return { asset: address, amount, ...(eip712 === undefined ? {} : { extra: { ...eip712 } }) };
  }
  const text = String(price);
  return /^\d/.test(text) && !text.includes(" ") ? `$${text}` : text;
}

function toDeclaration({ inputSchema = {}, outputSchema }: PaymentMiddlewareConfig): object {
  const { queryParams, bodyType, bodyFields } = inputSchema;
  const query = isJsonObject(queryParams) ? { queryParams: toProperties(queryParams) } : {};
  const fields = isJsonObject(bodyFields) ? toProperties(bodyFields) : undefined;
  const required = Object.entries(fields ?? {}).flatMap(([name, field]) => (field["required"] === true ? [name] : []));
  const body = fields && { properties: withoutRequired(fields), ...(required.length === 0 ? {} : { required }) };
  const type = toBodyType(bodyType);
  return {
    discoverable: true,
    ...(Object.keys(query).length === 0 && body === undefined ? {} : { inputSchema: { ...query, ...body } }),
    ...(type === undefined ? {} : { bodyType: type }),
    ...toOutput(outputSchema),
  };
}

function toBodyType(bodyType: unknown): "json" | "form-data" | "text" | undefined {
  if (bodyType === "multipart-form-data") return "form-data";
  return bodyType === "json" || bodyType === "form-data" || bodyType === "text" ? bodyType : undefined;
}

const TYPES: readonly unknown[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** Fields were written as `{ city: "string" }`, `{ city: "Name of the city" }` or `{ city: { type, description, required } }`. */
function toProperties(fields: JsonObject): Record<string, JsonObject> {
  const properties = Object.entries(fields).map(([name, field]) => {
    if (isJsonObject(field)) return [name, field];
    return [name, TYPES.includes(field) ? { type: field } : { type: "string", description: String(field) }];
  });
  return Object.fromEntries(properties);
}

/** JSON Schema lists required properties beside them. */
function withoutRequired(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const properties = Object.entries(fields).map(([name, { required, ...field }]) => [
    name,
    typeof required === "boolean" || required === undefined ? field : { ...field, required },
  ]);
  return Object.fromEntries(properties);
}

function toOutput(schema: unknown): object {
  if (!isJsonObject(schema)) return {};
  const isSchema = TYPES.includes(schema["type"]) || isJsonObject(schema["properties"]);
  return isSchema ? { outputSchema: schema } : { output: { example: schema } };
}
