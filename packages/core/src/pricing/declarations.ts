/**
 * The extension declarations of a route: constants, which are sent as written, and compiled declarations.
 *
 * @module
 */
import type { ExtensionHooks } from "../events/combined-hooks.js";
import { parseHooks } from "../events/hooks.js";
import type {
  CompiledDeclaration,
  DeclarationOccasion,
  Extension,
  InputProblem,
  Outline,
  RequestInput,
  RouteFacts,
} from "../extension.js";
import { LEFT_OUT_EXTENSION, OTHER_NAME } from "../extension.js";
import { type Issues, issuePath } from "../issues.js";
import type { ExtensionDeclaration, Extensions } from "../protocol/documents.js";
import { copyJsonObject, isJsonObject } from "../protocol/json.js";
import { encodeTemplate } from "../protocol/route-template.js";

/** The compiled declarations of a route. */
export interface Declarations {
  /** Declarations that are the same for every request, by identifier. */
  readonly constant: Extensions | undefined;
  readonly compiled: ReadonlyMap<string, CompiledDeclaration>;
  /** The hooks of extensions that have any, in the order of the declarations. */
  readonly hooks: readonly ExtensionHooks[];
}

/** Returns a route's declarations for one request. If the request changes nothing, it returns the same object again. */
export type DeclareAt = (occasion: DeclarationOccasion) => Extensions | undefined;

/** The path of the declarations, and the extensions that can compile them. */
export interface DeclarationsInput {
  readonly path: string;
  readonly route: RouteFacts;
  readonly extensions: readonly Extension[];
  readonly publicUrl: string | undefined;
  /** As in `DeclarationContext`. */
  readonly resource: string | undefined;
  /** As in `DeclarationContext`. */
  readonly ownHosts: readonly string[];
  /** As in `DeclarationContext`. */
  readonly isAuthOnly: boolean;
  /** As in `DeclarationContext`. */
  readonly isPricedPerRequest: boolean;
  readonly issues: Issues;
}

/** Checks and compiles a route's `extensions`. */
export function parseDeclarations(given: unknown, input: DeclarationsInput): Declarations {
  const { path, route, resource, extensions, ownHosts, isAuthOnly, isPricedPerRequest, issues } = input;
  if (given === undefined) return NONE;
  const copy = copyJsonObject(given);
  if (copy === undefined) {
    issues.add(path, "declarations by extension identifier, of JSON values", given);
    return NONE;
  }
  const publicPath = publicPathOf(input.publicUrl);
  const facts = { route, resource, publicPath, ownHosts, isAuthOnly, isPricedPerRequest, issues };
  const compiled = new Map<string, CompiledDeclaration>();
  const constant: [string, ExtensionDeclaration][] = [];
  const hooks: ExtensionHooks[] = [];
  for (const [identifier, declaration] of Object.entries(copy)) {
    const context = { path: issuePath(path, identifier), ...facts };
    if (identifier === LEFT_OUT_EXTENSION) {
      issues.addText(context.path, OTHER_NAME, "a declaration");
      continue;
    }
    const extension = extensions.find(({ key }) => key === identifier);
    if (extension === undefined) {
      if (isComplete(declaration)) constant.push([identifier, declaration]);
      else issues.add(context.path, "{ info, schema }, both objects", declaration);
      continue;
    }
    const result = extension.compile(declaration, context);
    if (result === undefined || !isCallable(result, context.path, issues)) continue;
    compiled.set(identifier, result);
    const own = parseHooks(result.hooks, issues, issuePath(context.path, "hooks"));
    if (Object.keys(own).length > 0) hooks.push({ key: identifier, hooks: own });
  }
  return { constant: constant.length === 0 ? undefined : Object.fromEntries(constant), compiled, hooks };
}

/** Whether the parts that are asked while a request waits can be asked. An extension may be written without types. */
function isCallable(compiled: CompiledDeclaration, path: string, issues: Issues): boolean {
  const before = issues.found.length;
  for (const name of ["challenge", "receipt"] as const) {
    const part: unknown = compiled[name];
    if (part !== undefined && typeof part !== "function") issues.add(issuePath(path, name), "a function", part);
  }
  const fields: unknown = compiled.dynamicFields ?? [];
  if (!Array.isArray(fields) || !fields.every((field) => typeof field === "string")) {
    issues.add(issuePath(path, "dynamicFields"), "names of fields", fields);
  }
  return issues.found.length === before;
}

const NONE: Declarations = Object.freeze({ constant: undefined, compiled: new Map(), hooks: [] });

function isComplete(declaration: unknown): declaration is ExtensionDeclaration {
  return isJsonObject(declaration) && isJsonObject(declaration["info"]) && isJsonObject(declaration["schema"]);
}

/**
 * Creates the function that returns a route's declarations for a request.
 *
 * @param publicUrl - A catalog reads a template from the root of the host, so the path of this URL stands before it.
 * @param resource - The URL that the seller set for the resource. Catalogs refuse a template that does not match its path.
 */
export function createDeclareAt(declarations: Declarations, publicUrl?: string, resource?: string): DeclareAt {
  const prefix = publicPathOf(publicUrl);
  const declareAt = createDeclareAtRoot(declarations);
  if (resource !== undefined) {
    return (occasion) => declareAt(occasion.url === undefined ? occasion : { ...occasion, locate: locateResource });
  }
  return prefix === "" ? declareAt : (occasion) => declareAt({ ...occasion, locate: () => below(prefix, occasion) });
}

const ONE_RESOURCE = Object.freeze({ routeTemplate: undefined, pathParams: {} });

/** All requests to the route are for one resource. */
function locateResource(): ReturnType<DeclarationOccasion["locate"]> {
  return ONE_RESOURCE;
}

function publicPathOf(publicUrl: string | undefined): string {
  const path = publicUrl === undefined ? "" : new URL(publicUrl).pathname;
  return encodeTemplate(path.endsWith("/") ? path.slice(0, -1) : path);
}

function below(prefix: string, { locate }: DeclarationOccasion): ReturnType<DeclarationOccasion["locate"]> {
  const { routeTemplate, pathParams } = locate();
  if (routeTemplate === undefined) return { routeTemplate, pathParams };
  return { routeTemplate: prefix + routeTemplate, pathParams };
}

function createDeclareAtRoot({ constant, compiled }: Declarations): DeclareAt {
  const [only, ...others] = compiled;
  if (only === undefined) return () => constant;
  if (others.length === 0) return createMemo(only, constant);
  return (occasion) => {
    const declared = [...compiled].flatMap(([key, one]) => {
      const declaration = one.at(occasion);
      return declaration === undefined ? [] : [[key, declaration] as const];
    });
    return declared.length === 0 ? constant : { ...constant, ...Object.fromEntries(declared) };
  };
}

/** Most routes have one declaration, which is almost always the same object. */
function createMemo([key, one]: readonly [string, CompiledDeclaration], constant: Extensions | undefined): DeclareAt {
  const joined = new WeakMap<ExtensionDeclaration, Extensions>();
  return (occasion) => {
    const declaration = one.at(occasion);
    if (declaration === undefined) return constant;
    const known = joined.get(declaration) ?? Object.freeze({ ...constant, [key]: declaration });
    joined.set(declaration, known);
    return known;
  };
}

/** The input and output of a route in the form of older clients, from the first declaration that has one. */
export function outlineOf(
  extensions: Extensions | undefined,
  { compiled }: Declarations,
  url: string,
): Outline | undefined {
  for (const [key, { outline }] of compiled) {
    const declaration = extensions?.[key];
    if (outline !== undefined && declaration !== undefined) return outline(declaration, url);
  }
  return undefined;
}

/** Whether a route's declarations can check the input of a request. */
export function canCheckInput({ compiled }: Declarations): boolean {
  return [...compiled.values()].some(({ checkInput }) => checkInput !== undefined);
}

/** The problems of a request's input, by its route's declarations. */
export function checkDeclaredInput({ compiled }: Declarations, input: RequestInput): readonly InputProblem[] {
  return [...compiled.values()].flatMap(({ checkInput }) => checkInput?.(input) ?? []);
}

/** The type in which a request's body is checked. */
export function bodyTypeOf({ compiled }: Declarations, method: string): "json" | "form-data" | "text" | undefined {
  return [...compiled.values()].map(({ bodyType }) => bodyType?.(method)).find((type) => type !== undefined);
}
