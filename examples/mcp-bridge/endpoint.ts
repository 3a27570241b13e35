/**
 * A paid endpoint: its declaration, and the request that a model's arguments make.
 *
 * @module
 */
import type { JsonObject, PaymentRequired } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";

/** The methods of paid endpoints. */
export const METHODS: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
/** They change nothing. */
export const SAFE_METHODS: readonly string[] = ["GET", "HEAD"];
const MAX_SCHEMA = 20_000;
const MAX_TEXT = 300;

/** Where an endpoint is. */
export interface EndpointPlace {
  readonly method: string;
  /** `https://api.example.com`. */
  readonly origin: string;
  /** `/weather/:city`. */
  readonly template: string;
  /** The template is a path without parameters, even if it looks like a template. */
  readonly isLiteral?: boolean;
  /** A host with a private address is refused, after DNS. */
  readonly isPublicOnly?: boolean;
}

/** A seller's words about an endpoint. */
export interface Declaration {
  readonly description?: string;
  readonly bodyType?: string;
  /** JSON Schemas. */
  readonly pathParams?: JsonObject;
  readonly queryParams?: JsonObject;
  readonly body?: JsonObject | true;
}

/** The arguments of a tool, as a model sends them. */
export type CallArguments = Readonly<Record<string, unknown>>;

/** A request, complete but for its payment. */
export interface EndpointRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isPublicOnly?: boolean;
}

/** Arguments that make no request. Nothing was sent. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/** Reads `GET /weather/:city, POST /notes`. @throws RangeError for anything else */
export function readPlaces(base: URL, text: string): readonly EndpointPlace[] {
  const places = text.split(",").map((part) => {
    const words = part.trim().split(/\s+/);
    const [written, method = "GET"] = words.reverse();
    const path = written?.replaceAll(/\{(\w{1,100})\}/g, ":$1");
    const url = new URL(`${base.pathname.replace(/\/$/, "")}${path}`, base.origin);
    const isPath = words.length <= 2 && METHODS.includes(method) && path !== undefined && /^\/(?!\/)/.test(path);
    if (!isPath || url.origin !== base.origin || url.search + url.hash !== "") throw new RangeError("not a path");
    return { method, origin: url.origin, template: url.pathname };
  });
  const isEachOnce = new Set(places.map(({ method, template }) => `${method} ${template}`)).size === places.length;
  if (!isEachOnce || places.length > 50) throw new RangeError("not such a list");
  if (places.some(hasParamTwice)) throw new RangeError("a parameter twice");
  return places;
}

/** Whether a URL leads to this machine. */
export function isLocalHost({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

/** Parameters of a template: `:city`, `*rest`, and `*`, which is `var1` as in catalogs. */
const PARAM = /[:*]\w{1,100}|\*/g;

function paramsOf({ template, isLiteral = false }: Pick<EndpointPlace, "template" | "isLiteral">): readonly string[] {
  let stars = 0;
  if (isLiteral) return [];
  return (template.match(PARAM) ?? []).map((param) => (param === "*" ? `var${++stars}` : param.slice(1)));
}

/** One argument cannot be the value of two parameters. */
export function hasParamTwice(place: EndpointPlace): boolean {
  const names = paramsOf(place);
  return new Set(names).size < names.length;
}

/** The template of a catalog's entry: of its declaration, or of a resource that looks like one. */
export function templateIn(extensions: unknown, path: string): string | undefined {
  const declared = fieldOf(fieldOf(extensions, "bazaar"), "routeTemplate");
  if (typeof declared === "string") return declared;
  const written = path.replaceAll(/%7B(\w{1,100})%7D/gi, ":$1");
  return /\/(?::\w|\*)/.test(written) ? written : undefined;
}

/** Whether a URL is that of an endpoint, with any names of its parameters. */
export function isSamePlace({ origin, template }: EndpointPlace, url: unknown): boolean {
  const shapeOf = (path: string) => path.replaceAll(PARAM, ":");
  return typeof url === "string" && url.startsWith(origin) && shapeOf(url.slice(origin.length)) === shapeOf(template);
}

/** A name for a tool: `get_weather_city`. */
export function nameOf({ method, template }: EndpointPlace, taken: ReadonlySet<string>): string {
  const words = `${method.toLowerCase()} ${template}`.replaceAll(/[^A-Za-z0-9]/g, " ").split(" ");
  const name = words.filter(Boolean).join("_").slice(0, 56);
  let [unique, count] = [name, 1];
  while (taken.has(unique)) unique = `${name}_${++count}`;
  return unique;
}

/** Reads a declaration: that of a challenge, or of a catalog's entry. Strangers write both. */
export function readDeclaration(description: unknown, extensions: unknown): Declaration {
  const bazaar = fieldOf(extensions, "bazaar");
  const input = fieldOf(fieldOf(fieldOf(fieldOf(bazaar, "schema"), "properties"), "input"), "properties");
  const bodyType = fieldOf(fieldOf(fieldOf(bazaar, "info"), "input"), "bodyType");
  const schemas = (["pathParams", "queryParams", "body"] as const).flatMap((name) => {
    const schema = fieldOf(input, name);
    return isJsonObject(schema) ? [[name, liftReferences(schema)]] : [];
  });
  return {
    ...(typeof description === "string" && description !== "" ? { description: quote(description) } : {}),
    ...(typeof bodyType === "string" ? { bodyType } : {}),
    ...Object.fromEntries(schemas),
  };
}

/** In the declaration the schema is deeper than in the schema of a tool. */
function liftReferences(schema: JsonObject): JsonObject {
  try {
    const text = JSON.stringify(schema);
    if (text.length > MAX_SCHEMA) return {};
    return JSON.parse(text.replaceAll('"#/properties/input/properties/', '"#/properties/')) as JsonObject;
  } catch {
    // It is nested too deeply.
    return {};
  }
}

/** A challenge, and what it declares. */
export interface Challenge extends PaymentRequired {
  /** The extensions in the body: a header leaves out long declarations. They are not sent back. */
  readonly declared: unknown;
}

/** Reads the declaration of a challenge. */
export function declarationOf({ resource, declared }: Challenge): Declaration {
  return readDeclaration(fieldOf(resource, "description"), declared);
}

/** A stranger's text as one line in quotation marks, without invisible letters: it cannot look like text of the bridge. */
export function quote(text: unknown): string {
  const line = JSON.stringify(String(text).slice(0, MAX_TEXT));
  return line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}

/** JSON Schema of a tool's arguments. */
export function inputSchemaOf(place: EndpointPlace, declared: Declaration): JsonObject {
  const { method } = place;
  const names = paramsOf(place);
  const known = propertiesOf(declared.pathParams);
  const params = names.map((name) => [name, Object.hasOwn(known, name) ? known[name] : { type: "string" }]);
  const hasQueryNeeds = requiredIn(declared.queryParams).length > 0;
  const hasBody = !SAFE_METHODS.includes(method);
  const required = [
    ...(names.length > 0 ? ["pathParams"] : []),
    ...(hasQueryNeeds ? ["queryParams"] : []),
    ...(hasBody && declared.body !== undefined ? ["body"] : []),
  ];
  return {
    type: "object",
    properties: {
      ...(names.length === 0
        ? {}
        : { pathParams: { type: "object", properties: Object.fromEntries(params), required: names } }),
      queryParams: declared.queryParams ?? { type: "object", description: "Parameters of the query" },
      ...(hasBody ? { body: declared.body ?? { description: "Sent as JSON" } } : {}),
    },
    required,
    additionalProperties: false,
  };
}

/**
 * Makes the request.
 *
 * @throws ArgumentError when the arguments lack something that the declaration requires, or lead to another path
 */
export function toRequest(place: EndpointPlace, declared: Declaration, args: CallArguments): EndpointRequest {
  const hasBody = !SAFE_METHODS.includes(place.method);
  const allowed = ["pathParams", "queryParams", ...(hasBody ? ["body"] : [])];
  const stranger = Object.keys(args).find((name) => !allowed.includes(name));
  if (stranger !== undefined)
    throw new ArgumentError(`unknown argument ${quote(stranger)}; known: ${allowed.join(", ")}`);
  const url = new URL(place.origin);
  const path = fillPath(place, objectAt(args, "pathParams"));
  url.pathname = path;
  // `..` and the like would lead elsewhere.
  if (url.pathname !== path) throw new ArgumentError("pathParams: the values do not make a path of this endpoint");
  const query = objectAt(args, "queryParams");
  checkRequired("queryParams", declared.queryParams, query);
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) url.searchParams.append(name, toText(item));
    }
  }
  const { method, isPublicOnly = false } = place;
  const { body } = args;
  if (hasBody && declared.body !== undefined && body === undefined) throw new ArgumentError("body is missing");
  if (body === undefined) return { method, url, headers: {}, isPublicOnly };
  if (isJsonObject(declared.body)) checkRequired("body", declared.body, body);
  return { method, url, isPublicOnly, ...writeBody(body, declared.bodyType) };
}

/** A value for each parameter, for a request that only learns the price. */
export function placeholdersOf(place: EndpointPlace): CallArguments {
  const names = paramsOf(place);
  return names.length === 0 ? {} : { pathParams: Object.fromEntries(names.map((name) => [name, name])) };
}

function fillPath(place: EndpointPlace, values: JsonObject): string {
  const { template } = place;
  const names = paramsOf(place);
  if (names.length === 0 && Object.keys(values).length === 0) return template;
  const stranger = Object.keys(values).find((name) => !names.includes(name));
  if (stranger !== undefined) throw new ArgumentError(`pathParams: ${quote(stranger)} is not in ${template}`);
  let at = 0;
  return template.replaceAll(PARAM, (param) => {
    const name = names[at++] ?? "";
    const value = fieldOf(values, name);
    if (value === undefined || value === null) throw new ArgumentError(`pathParams: ${name} is missing`);
    // A wildcard takes several segments. In catalogs it is `:var1`.
    const isWildcard = /^(?:\*|:var\d)/.test(param);
    const segments = isWildcard ? toText(value).split("/") : [toText(value)];
    if (segments.every(isSegment)) return segments.map(encodeURIComponent).join("/");
    throw new ArgumentError(
      `pathParams: ${name} must be text that is not empty and has no ${isWildcard ? "//" : "slash"}`,
    );
  });
}

function isSegment(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/\\]|\p{Surrogate}/u.test(text);
}

function toText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function writeBody(body: unknown, bodyType: string | undefined): Pick<EndpointRequest, "headers" | "body"> {
  if (bodyType === "text") return { headers: { "Content-Type": "text/plain; charset=utf-8" }, body: toText(body) };
  if (bodyType !== "form-data") {
    return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  }
  // The paid request must equal the one before, and the boundary of a FormData is random each time.
  const boundary = "farebox-bridge-9d2f6c0e7b41";
  const parts = Object.entries(isJsonObject(body) ? body : {}).map(([name, value]) => {
    const text = toText(value);
    if (text.includes(boundary)) throw new ArgumentError("body: a value holds the boundary of the form");
    const field = name.replaceAll(/["\r\n]/g, encodeURIComponent);
    return `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${text}\r\n`;
  });
  const headers = { "Content-Type": `multipart/form-data; boundary=${boundary}` };
  return { headers, body: `${parts.join("")}--${boundary}--\r\n` };
}

function objectAt(args: CallArguments, name: string): JsonObject {
  const value = args[name] ?? {};
  if (!isJsonObject(value)) throw new ArgumentError(`${name} must be an object`);
  return value;
}

function checkRequired(name: string, schema: JsonObject | undefined, value: unknown): void {
  for (const key of requiredIn(schema)) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key))
      throw new ArgumentError(`${name}: ${quote(key)} is missing`);
  }
}

function requiredIn(schema: JsonObject | undefined): readonly string[] {
  const required = schema?.["required"];
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function propertiesOf(schema: JsonObject | undefined): JsonObject {
  const properties = schema?.["properties"];
  return isJsonObject(properties) ? properties : {};
}

function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
