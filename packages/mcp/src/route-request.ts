/**
 * The arguments of a call as a request to a route: some in the path, the rest in the query or the body.
 *
 * @module
 */
import { isJsonObject } from "@farebox/core";

/** A route by its key: `GET /weather/:city`. */
export interface CalledRoute {
  readonly method: string;
  /** Texts, and names of parameters, in turns; it begins with a text. */
  readonly parts: readonly string[];
}

const KEY = /^(GET|POST|PUT|PATCH|DELETE) (\/[\w\-.~!$&'()+,;=@%/:]*)$/;

/** Reads a key. `undefined`: it has no method, or signs in its path that stand for more than one parameter each. */
export function parseCalledRoute(key: unknown): CalledRoute | undefined {
  const [, method, path] = (typeof key === "string" && KEY.exec(key)) || [];
  if (method === undefined || path === undefined) return undefined;
  const parts = path.split(/:([A-Za-z_]\w*)/);
  return parts.some((part, at) => at % 2 === 0 && /[:()]/.test(part)) ? undefined : { method, parts };
}

/** What is asked for, or the name of the argument that has no place in a path. */
export type WrittenRequest =
  | { readonly ok: true; readonly path: string; readonly body: string | undefined }
  | { readonly ok: false; readonly argument: string };

/** Writes a call as a request. */
export function writeRequest({ method, parts }: CalledRoute, given: unknown): WrittenRequest {
  const args = new Map(Object.entries(isJsonObject(given) ? given : {}));
  const names = parts.filter((_, at) => at % 2 === 1);
  const misplaced = names.find((name) => !hasPlace(toText(args.get(name))));
  if (misplaced !== undefined) return { ok: false, argument: misplaced };
  const path = parts.map((part, at) => (at % 2 === 0 ? part : encodeURIComponent(toText(args.get(part))))).join("");
  const rest = [...args].filter(([name]) => !names.includes(name));
  return method === "GET" || method === "DELETE"
    ? { ok: true, path: path + writeQuery(rest), body: undefined }
    : { ok: true, path, body: JSON.stringify(Object.fromEntries(rest)) };
}

/** Routers make nothing of an empty segment, and something else of the others. */
function hasPlace(text: string): boolean {
  return text !== "" && text !== "." && text !== "..";
}

function writeQuery(args: readonly (readonly [name: string, value: unknown])[]): string {
  const query = new URLSearchParams();
  for (const [name, value] of args) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values) if (one !== undefined) query.append(name, toText(one));
  }
  return query.size === 0 ? "" : `?${query}`;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
