/**
 * An OpenAPI 3.1 document of all priced routes, with their prices.
 *
 * Crawlers read `x-payment-info`: the protocols, and the price in dollars if there is one.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { DescribedOffer, DescribedRoute, DescribedTool } from "@farebox/core/adapter";
import { isJsonObject } from "@farebox/core/protocol";
import { type BazaarDeclaration, BODY_TYPES, type BodyType, outputSchemaOf } from "../declaration.js";
import { moveSchema } from "../declare/json-schema.js";
import { type DeclaredField, declarationOf, describeOffers, fieldsOf, inputPart } from "./declared.js";
import { describeTools } from "./tools.js";

/** Options of `writeOpenApi`. */
export interface OpenApiOptions {
  /** Name of the API. */
  readonly title: string;
  /** Version of the API, e.g. `"1.4.0"`. Default `"1.0.0"`. */
  readonly version?: string;
  readonly description?: string;
}

/** Writes the document. Paths are relative to the server. */
export function writeOpenApi(
  routes: readonly DescribedRoute[],
  { title, version = "1.0.0", description }: OpenApiOptions,
  baseUrl: string,
  tools: readonly DescribedTool[] = [],
): JsonObject {
  const paths = new Map<string, Record<string, unknown>>();
  const schemas: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = toPath(route);
    const item = paths.get(path) ?? {};
    item[route.method.toLowerCase()] ??= describe(route, createMover(route, schemas));
    paths.set(path, item);
  }
  return {
    openapi: "3.1.0",
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: [{ url: baseUrl }],
    paths: Object.fromEntries(paths),
    ...(Object.keys(schemas).length === 0 ? {} : { components: { schemas } }),
    ...describeTools(tools),
  };
}

/** Moves a schema of a declaration into the document. A schema with references brings the whole declared schema, once. */
type Move = (part: JsonObject) => JsonObject;

function createMover(route: DescribedRoute, schemas: Record<string, JsonObject>): Move {
  const name = `${route.method}${route.template}`.replaceAll(/[^\w.-]+/g, "-");
  const pointer = `#/components/schemas/${name}`;
  return (part) => {
    if (!JSON.stringify(part).includes('"$ref"')) return part;
    schemas[name] ??= moveSchema(declarationOf(route)?.schema ?? {}, pointer);
    return moveSchema(part, pointer);
  };
}

/** Turns `/users/:id` into `/users/{id}`. */
function toPath({ template, params }: DescribedRoute): string {
  const byLength = [...params].sort((a, b) => b.length - a.length);
  return byLength.reduce((path, name) => path.replaceAll(`:${name}`, `{${name}}`), template);
}

function describe(route: DescribedRoute, move: Move): JsonObject {
  const declared = declarationOf(route);
  const parameters = [...describePath(route, declared, move), ...describeQuery(declared, move)];
  const body = declared === undefined ? undefined : describeBody(declared, move);
  const summary = route.description.split("\n", 1)[0] ?? "";
  return {
    ...(summary === "" ? {} : { summary: summary.slice(0, 120), description: route.description }),
    ...(route.service.tags === undefined ? {} : { tags: route.service.tags }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      "200": describeResponse(route, declared, move),
      "402": { description: `Payment required: ${describeOffers(route)}. The ways to pay are in PAYMENT-REQUIRED.` },
    },
    "x-payment-info": describePayment(route.offers),
  };
}

function describePath(
  { params }: DescribedRoute,
  declared: BazaarDeclaration | undefined,
  move: Move,
): readonly JsonObject[] {
  const known = fieldsOf(declared === undefined ? undefined : inputPart(declared, "pathParams"));
  return params.map((name) => {
    const field = known.find((one) => one.name === name);
    return { name, in: "path", required: true, ...describeField(field ?? ANY_TEXT, move) };
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
    offers: offers.map(({ isMaximum: _, ...offer }) => offer),
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
