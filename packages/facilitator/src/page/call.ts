/**
 * How to call a service from a terminal: a line for curl, or the configuration of an MCP client.
 *
 * The parts come from a seller, and a visitor pastes the line into a shell. So every part is quoted, no part can name a file
 * (`@path`), and a part with a control character is left out.
 *
 * @module
 */
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { hasInvisible, visibleJson } from "./markup.js";

/** How to call one method of an HTTP endpoint. */
export interface HttpCall {
  /** A line for a shell. A path parameter without a value is `{id}` in it. */
  readonly curl: string;
  /** The URL with the values; absent while a path parameter has none. */
  readonly url?: string;
}

/** A longer body is left out, and a longer URL has no line. */
const MAX_PART = 3_000;

/** Writes the call; `undefined` when the resource is not a URL. */
export function httpCall(
  { resource, routeTemplate }: CatalogEntry,
  method: string,
  input: JsonObject,
): HttpCall | undefined {
  if (!/^https?:\/\//.test(resource) || !URL.canParse(resource) || hasInvisible(resource)) return undefined;
  const isFixed = routeTemplate === undefined;
  const { url, isWhole } = isFixed ? { url: resource, isWhole: true } : fillIn(resource, fieldsOf(input["pathParams"]));
  const query = queryOf(fieldsOf(input["queryParams"]));
  const whole = `${url}${query === "" ? "" : `?${query}`}`;
  if (whole.length > MAX_PART) return undefined;
  const curl = ["curl", method === "HEAD" ? "-gI" : "-gi", ...methodPart(method), quote(whole), ...bodyPart(input)];
  return { curl: curl.join(" "), ...(isWhole ? { url: whole } : {}) };
}

/** A value that a visitor may change before the call. */
export interface CallField {
  readonly part: "pathParams" | "queryParams";
  readonly name: string;
  /** Its value as text, if it has one. */
  readonly value: string | undefined;
}

/** The values in the URL of a call: those of the path, and those of the query that are texts, numbers or yes and no. */
export function callFields({ resource, routeTemplate }: CatalogEntry, input: JsonObject): readonly CallField[] {
  const path = fieldsOf(input["pathParams"]);
  const names = routeTemplate === undefined ? [] : [...resource.matchAll(PARAMETER)].map(([, name = ""]) => name);
  const query = Object.entries(fieldsOf(input["queryParams"]));
  return [
    ...[...new Set(names)].map((name) => ({ part: "pathParams" as const, name, value: textIn(path, name) })),
    ...query.flatMap(([name, value]) => {
      const text = toText(value);
      return text === undefined ? [] : [{ part: "queryParams" as const, name, value: text }];
    }),
  ];
}

/** A parameter of a template. */
const PARAMETER = /:(\w{1,512})/g;

function textIn(values: JsonObject, name: string): string | undefined {
  return Object.hasOwn(values, name) ? toText(values[name]) : undefined;
}

function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Puts example values into a template: `/users/:id`. A wildcard is called `var1`, and its value may have slashes. */
function fillIn(resource: string, values: JsonObject): { readonly url: string; readonly isWhole: boolean } {
  let isWhole = true;
  const { origin } = new URL(resource);
  const path = resource.slice(origin.length).replace(PARAMETER, (_, name: string) => {
    const value = toSegments(textIn(values, name), /^var\d+$/.test(name));
    isWhole &&= value !== undefined;
    return value ?? `{${name}}`;
  });
  return { url: origin + path, isWhole };
}

function toSegments(text: string | undefined, isWildcard: boolean): string | undefined {
  const segments = isWildcard ? text?.split("/") : text === undefined ? undefined : [text];
  // A segment of dots would lead to another path.
  if (segments === undefined || text === "" || segments.some((segment) => /^\.{1,2}$/.test(segment))) return undefined;
  return segments.map((segment) => encodeURIComponent(segment)).join("/");
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? undefined : value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function queryOf(values: JsonObject): string {
  const pairs = Object.entries(values).flatMap(([name, value]) => {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.map((item) => [name, toText(item) ?? JSON.stringify(item)] as [string, string]);
  });
  return new URLSearchParams(pairs).toString();
}

/** curl chooses GET itself, POST where there is a body, and HEAD by `-I`. */
function methodPart(method: string): readonly string[] {
  return method === "GET" || method === "HEAD" ? [] : ["-X", quote(method)];
}

function bodyPart(input: JsonObject): readonly string[] {
  const parts = bodyParts(input);
  return parts.join(" ").length > MAX_PART ? ["--data-raw", quote("…")] : parts;
}

/** `--data-raw` and `--form-string` take a value as it is. `-d` and `-F` would send a file for `@path`. */
function bodyParts({ body, bodyType }: JsonObject): readonly string[] {
  if (body === undefined) return [];
  if (bodyType === "form-data") {
    const fields = Object.entries(fieldsOf(body)).map(
      ([name, value]) => `${name}=${toText(value) ?? JSON.stringify(value)}`,
    );
    return fields.flatMap((field) => ["--form-string", quote(field)]);
  }
  const isText = bodyType === "text" && typeof body === "string";
  const type = isText ? "text/plain" : "application/json";
  return ["-H", quote(`Content-Type: ${type}`), "--data-raw", quote(isText ? body : visibleJson(body))];
}

/** Quotes for a POSIX shell: nothing is special within single quotes. */
function quote(text: string): string {
  return `'${(hasInvisible(text) ? "…" : text).replaceAll("'", "'\\''")}'`;
}

/** How to connect to the server of a tool; `undefined` when the seller does not say where it is. */
export interface McpConnection {
  readonly url: string;
  readonly transport: "sse" | "streamable-http";
  /** A configuration as MCP clients read it. */
  readonly config: string;
}

/** Reads where the server of a tool is: an `mcp:` identifier names no place, unless the server has confirmed its own. */
export function mcpConnection(entry: CatalogEntry, input: JsonObject): McpConnection | undefined {
  const { resource, serviceName, serverUrl: url = resource } = entry;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return undefined;
  const transport = input["transport"] === "sse" ? "sse" : "streamable-http";
  const name = serviceName ?? new URL(url).hostname;
  const server = { type: transport === "sse" ? "sse" : "http", url };
  return { url, transport, config: visibleJson({ mcpServers: { [name]: server } }, 2) };
}
