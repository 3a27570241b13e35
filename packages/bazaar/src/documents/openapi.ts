/**
 * An OpenAPI 3.1 document of all priced routes, with their prices.
 *
 * Crawlers read `x-payment-info`: the protocols, and the price in dollars if there is one.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { DescribedOffer, DescribedRoute, DescribedTool } from "@farebox/core/adapter";
import { isJsonObject, PAYMENT_REQUIRED, PAYMENT_RESPONSE, PAYMENT_SIGNATURE, piecesOf } from "@farebox/core/protocol";
import { type BazaarDeclaration, BODY_TYPES, type BodyType, outputSchemaOf } from "../declaration.js";
import { liftDefinitions, resolveReference } from "../declare/json-schema.js";
import { type DeclaredField, declarationOf, describeOffers, fieldsOf, inputPart } from "./declared.js";
import { describeTools } from "./tools.js";

/** Options of `writeOpenApi`. */
export interface OpenApiOptions {
  /** Name of the API. */
  readonly title: string;
  /** Version of the API, e.g. `"1.4.0"`. Default `"1.0.0"`. */
  readonly version?: string;
  readonly description?: string;
  /** The license of the document, by its URL or its SPDX identifier. Default: none is stated, which is SPDX's `NOASSERTION`. */
  readonly license?: { readonly name: string; readonly identifier?: string; readonly url?: string };
}

/** Writes the document. Paths are relative to the server. */
export function writeOpenApi(
  routes: readonly DescribedRoute[],
  { title, version = "1.0.0", description, license = NO_LICENSE }: OpenApiOptions,
  baseUrl: string,
  tools: readonly DescribedTool[] = [],
): JsonObject {
  const items = new Map<string, PathItem>();
  const ids = new Set<string>();
  const schemas: Record<string, JsonObject> = { PaymentRequired: PAYMENT_REQUIRED_SCHEMA };
  for (const route of routes) {
    const { shape, path, names } = readPath(route.template);
    const item = items.get(shape) ?? { path, names, operations: {} };
    items.set(shape, item);
    const method = route.method.toLowerCase();
    if (item.operations[method] !== undefined) continue;
    const operationId = addUnique(ids, nameOperation(route));
    const named = { ...route, operationId, names: item.names };
    item.operations[method] = describe(named, createMover(named, schemas));
  }
  return {
    openapi: "3.1.0",
    info: { title, version, ...(description === undefined ? {} : { description }), license },
    servers: [{ url: baseUrl }],
    paths: Object.fromEntries([...items.values()].map(({ path, operations }) => [path, operations])),
    ...(items.size === 0 ? {} : { components: { ...COMPONENTS, schemas } }),
    ...describeTools(tools),
  };
}

const NO_LICENSE = { name: "Not stated", identifier: "NOASSERTION" } as const;

/** The operations of one path. */
interface PathItem {
  readonly path: string;
  /** Names of its parameters, from the left. Another route may have other names for the same path. */
  readonly names: readonly string[];
  readonly operations: Record<string, JsonObject>;
}

/** A route with what the document calls it. */
interface NamedRoute extends DescribedRoute {
  readonly operationId: string;
  readonly names: readonly string[];
}

/** Turns `/users/:id/` into `/users/{id}`. A document must not have two paths of one shape, nor two parameters of one name. */
function readPath(template: string): {
  readonly shape: string;
  readonly path: string;
  readonly names: readonly string[];
} {
  const names = new Set<string>();
  const parts = piecesOf(template.length > 1 && template.endsWith("/") ? template.slice(0, -1) : template).map(
    (piece) => (piece.kind === "text" ? piece.text : `{${addUnique(names, piece.name.replaceAll(/[^\w.-]/g, "_"))}}`),
  );
  const shape = parts.map((part) => (part.startsWith("{") ? "{}" : part.toLowerCase())).join("");
  return { shape, path: parts.join(""), names: [...names] };
}

/** Adds a name, with a number if it is taken. */
function addUnique(names: Set<string>, name: string): string {
  let unique = name;
  for (let number = 2; names.has(unique); number++) unique = `${name}${number}`;
  names.add(unique);
  return unique;
}

/** Names the operation of `GET /v1/weather/:city`: `getV1WeatherByCity`. It is the same as long as method and path are. */
function nameOperation({ method, template }: DescribedRoute): string {
  const parts = piecesOf(template).map((piece) =>
    piece.kind === "text" ? toWords(piece.text) : `By${toWords(piece.name)}`,
  );
  return method.toLowerCase() + (parts.join("") || "Root");
}

function toWords(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

const SCHEME = "x402";

const HEADER_SCHEMA = { type: "string", contentEncoding: "base64", contentMediaType: "application/json" } as const;

/** What the documents of all servers share. */
const COMPONENTS: JsonObject = {
  securitySchemes: {
    [SCHEME]: {
      ...{ type: "apiKey", in: "header", name: PAYMENT_SIGNATURE },
      description: "A signed payment for an offer of the 402. See https://www.x402.org.",
    },
  },
  headers: {
    PaymentRequired: { description: "The ways to pay", required: true, schema: HEADER_SCHEMA },
    PaymentResponse: { description: "The receipt", schema: HEADER_SCHEMA },
  },
};

const object = (required: readonly string[], more: JsonObject = {}): JsonObject => ({
  type: "object",
  required,
  properties: { ...Object.fromEntries(required.map((name) => [name, { type: "string" }])), ...more },
});

const OFFER = object(["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds"], {
  amount: { type: "string", description: "Atomic units of the asset" },
  maxTimeoutSeconds: { type: "integer" },
  extra: { type: "object" },
});

/** @see x402 v2 §5.1 "PaymentRequired" */
const PAYMENT_REQUIRED_SCHEMA: JsonObject = object(["x402Version", "resource", "accepts"], {
  x402Version: { const: 2 },
  error: { type: "string" },
  resource: object(["url"]),
  accepts: { type: "array", items: OFFER },
  extensions: { type: "object" },
});

/** Moves a schema of a declaration into the document. The definitions that it refers to become components. */
type Move = (part: JsonObject) => JsonObject;

function createMover(route: NamedRoute, schemas: Record<string, JsonObject>): Move {
  const declared = declarationOf(route)?.schema ?? {};
  const lifted = new Map<string, string>();
  const move: Move = (part) => liftDefinitions(part, lift) as JsonObject;
  const lift = (reference: string): string => {
    const known = lifted.get(reference);
    if (known !== undefined) return known;
    const name = freeName(schemas, route.operationId + toWords(reference.slice(reference.lastIndexOf("/") + 1)));
    const pointer = `#/components/schemas/${name}`;
    lifted.set(reference, pointer);
    // A definition may refer to itself, so its name is taken before it is moved.
    schemas[name] = {};
    const definition = resolveReference(declared, reference);
    if (isJsonObject(definition)) schemas[name] = move(definition);
    return pointer;
  };
  return move;
}

function freeName(schemas: Readonly<Record<string, unknown>>, name: string): string {
  let free = name;
  for (let number = 2; Object.hasOwn(schemas, free); number++) free = `${name}${number}`;
  return free;
}

function describe(route: NamedRoute, move: Move): JsonObject {
  const { operationId, method, template, description } = route;
  const declared = declarationOf(route);
  const parameters = [...describePath(route, declared, move), ...describeQuery(declared, move)];
  const body = declared === undefined ? undefined : describeBody(declared, move);
  const summary = description.split("\n", 1)[0] || `${method} ${template}`;
  return {
    operationId,
    summary: summary.slice(0, 120),
    ...(description === "" ? {} : { description }),
    ...(route.service.tags === undefined ? {} : { tags: route.service.tags }),
    ...(route.isGrantOnly ? {} : { security: [{ [SCHEME]: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      "200": route.isGrantOnly
        ? { ...describeResponse(route, declared, move), description: "Granted" }
        : {
            ...describeResponse(route, declared, move),
            headers: { [PAYMENT_RESPONSE]: { $ref: "#/components/headers/PaymentResponse" } },
          },
      "402": {
        description: route.isGrantOnly
          ? "Not for sale: the seller lets some requests through. PAYMENT-REQUIRED says more."
          : `Payment required: ${describeOffers(route)}. The ways to pay are in PAYMENT-REQUIRED.`,
        headers: { [PAYMENT_REQUIRED]: { $ref: "#/components/headers/PaymentRequired" } },
        content: { "application/json": { schema: { $ref: "#/components/schemas/PaymentRequired" } } },
      },
    },
    ...(route.isGrantOnly ? {} : { "x-payment-info": describePayment(route.offers) }),
  };
}

function describePath(
  { template, names, wildcards }: NamedRoute,
  declared: BazaarDeclaration | undefined,
  move: Move,
): readonly JsonObject[] {
  const known = fieldsOf(declared === undefined ? undefined : inputPart(declared, "pathParams"));
  const own = piecesOf(template).flatMap((piece) => (piece.kind === "param" ? [piece.name] : []));
  return own.map((name, at) => {
    const { schema, description } = known.find((one) => one.name === name) ?? ANY_TEXT;
    const said = description ?? (wildcards.includes(name) ? "One or more segments, joined by slashes" : undefined);
    return { name: names[at], in: "path", required: true, ...describeField({ schema, description: said }, move) };
  });
}

const ANY_TEXT = { schema: { type: "string" }, description: undefined };

function describeQuery(declared: BazaarDeclaration | undefined, move: Move): readonly JsonObject[] {
  if (declared === undefined) return [];
  const { queryParams } = declared.info.input;
  const examples: JsonObject = isJsonObject(queryParams) ? queryParams : {};
  return fieldsOf(inputPart(declared, "queryParams")).map((field) => ({
    name: field.name,
    in: "query",
    required: field.isRequired,
    ...describeField(field, move),
    ...(Object.hasOwn(examples, field.name) ? { example: examples[field.name] } : {}),
  }));
}

function describeField({ schema, description }: Pick<DeclaredField, "schema" | "description">, move: Move): JsonObject {
  return { ...(description === undefined ? {} : { description }), schema: move(schema) };
}

const BODY_MEDIA_TYPES: Readonly<Record<BodyType, string>> = {
  json: "application/json",
  "form-data": "multipart/form-data",
  text: "text/plain",
};

function describeBody(declared: BazaarDeclaration, move: Move): JsonObject | undefined {
  const { input } = declared.info;
  const schema = inputPart(declared, "body");
  const bodyType = BODY_TYPES.find((type) => type === input["bodyType"]);
  if (bodyType === undefined || schema === undefined) return undefined;
  const { body } = input;
  const content = { schema: move(schema), ...(body === undefined ? {} : { example: body }) };
  return { required: true, content: { [BODY_MEDIA_TYPES[bodyType]]: content } };
}

function describeResponse(route: DescribedRoute, declared: BazaarDeclaration | undefined, move: Move): JsonObject {
  const schema = declared === undefined ? undefined : outputSchemaOf(declared.schema);
  const example = declared?.info.output?.example;
  if (route.mimeType === "" && schema === undefined && example === undefined) return { description: "Paid" };
  const content = {
    ...(schema === undefined ? {} : { schema: move(schema) }),
    ...(example === undefined ? {} : { example }),
  };
  return { description: "Paid", content: { [route.mimeType || "application/json"]: content } };
}

/** Crawlers compare prices in dollars; `offers` holds every offer. */
function describePayment(offers: readonly DescribedOffer[]): JsonObject {
  const price = describePrice(offers);
  return {
    protocols: ["x402"],
    ...(price === undefined ? {} : { price }),
    offers: offers.map(({ isMaximum: _, full: __, ...offer }) => offer),
  };
}

function describePrice(offers: readonly DescribedOffer[]): JsonObject | undefined {
  const inDollars = offers.find(({ price, symbol }) => price !== undefined && symbol?.startsWith("USD") === true);
  const isDynamic = offers.some(({ amount }) => amount === undefined);
  if (inDollars === undefined) return isDynamic ? { mode: "dynamic", currency: "USD" } : undefined;
  const { price, isMaximum } = inDollars;
  if (isMaximum) return { mode: "dynamic", currency: "USD", min: "0", max: price };
  return { mode: "fixed", currency: "USD", amount: price };
}
