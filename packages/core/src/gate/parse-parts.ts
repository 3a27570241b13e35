/**
 * Schemes and extensions: the parts that a seller may add to the built-in ones.
 *
 * @module
 */
import type { Extension } from "../extension.js";
import type { Issues } from "../issues.js";
import { isJsonObject } from "../protocol/json.js";
import type { Scheme } from "../scheme/scheme.js";
import type { PaymentsOptions } from "./options.js";

/** What the packages at hand bring. */
export interface BuiltIn {
  readonly schemes: readonly Scheme[];
  /** Default: none. */
  readonly extensions?: readonly Extension[];
}

/** Both, the seller's own first. */
export function parseParts(
  options: Pick<Partial<PaymentsOptions>, "schemes" | "extensions">,
  { schemes, extensions = [] }: BuiltIn,
  issues: Issues,
): { readonly schemes: readonly Scheme[]; readonly extensions: readonly Extension[] } {
  return {
    schemes: [...parseSchemes(options.schemes, issues), ...schemes],
    extensions: [...parseExtensions(options.extensions, issues), ...extensions],
  };
}

function parseSchemes(schemes: unknown, issues: Issues): readonly Scheme[] {
  if (schemes === undefined) return [];
  if (Array.isArray(schemes) && schemes.every(isScheme)) return schemes;
  issues.add("options.schemes", "an array of schemes", schemes);
  return [];
}

function isScheme(value: unknown): value is Scheme {
  if (!isJsonObject(value) || typeof value["scheme"] !== "string" || typeof value["networks"] !== "string")
    return false;
  const optional = ["findPayment", "completeExtra", "checkPayee", "extensionsFor", "prepareSignatureCheck"];
  if (optional.some((name) => value[name] !== undefined && !isMethod(value, name))) return false;
  if (value["allowsLess"] !== undefined && typeof value["allowsLess"] !== "boolean") return false;
  return ["compileTerms", "sameAddress", "readPayment"].every((name) => isMethod(value, name));
}

function parseExtensions(extensions: unknown, issues: Issues): readonly Extension[] {
  if (extensions === undefined) return [];
  if (Array.isArray(extensions) && extensions.every(isExtension)) return extensions;
  issues.add("options.extensions", "an array of extensions", extensions);
  return [];
}

function isExtension(value: unknown): value is Extension {
  return isJsonObject(value) && typeof value["key"] === "string" && isMethod(value, "compile");
}

/** Whether an object has a method of that name, its own or its class's. */
export function isMethod(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === "function";
}
