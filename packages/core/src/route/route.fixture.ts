/**
 * Keys and paths, compiled for tests.
 *
 * @module
 */

import fc from "fast-check";
import { compilePath } from "./path.js";
import type { PathForm } from "./path-form.js";
import { parseRouteKey } from "./route-key.js";
import type { RouteEntry } from "./route-table.js";

/** The forms of a path that can be compiled. */
export function formsOf(path: string): readonly PathForm[] {
  const compiled = compilePath(path);
  if (!compiled.ok) throw new TypeError(`${path}: ${compiled.expected}`);
  return compiled.forms;
}

/** The first and longest form of a path. */
export function formOf(path: string): PathForm {
  const [form] = formsOf(path);
  if (form === undefined) throw new TypeError(`${path} has no form`);
  return form;
}

/** A key's entry in a table. Its value is the key. */
export function entryOf(key: string): RouteEntry<string> {
  const parsed = parseRouteKey(key);
  if (!parsed.ok) throw new TypeError(`${key}: ${parsed.expected}`);
  return { key, method: parsed.method, value: key, forms: formsOf(parsed.path) };
}

/** Any UTF-16 code unit, lone surrogates too. */
export const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** The seed of this run: `vitest.config.ts` sets it. Goes into the title. */
export const SEED = Number(process.env["FAREBOX_SEED"]);
