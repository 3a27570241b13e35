/**
 * What a route declares by extensions: constants, which go out as they are, and what an extension has compiled.
 *
 * @module
 */
import type {
  CompiledDeclaration,
  DeclarationOccasion,
  Extension,
  InputProblem,
  Outline,
  RequestInput,
  RouteFacts,
} from "../extension.js";
import { type Issues, issuePath } from "../issues.js";
import type { ExtensionDeclaration, Extensions } from "../protocol/documents.js";
import { copyJsonObject, isJsonObject } from "../protocol/json.js";

/** The declarations of a route, prepared. */
export interface Declarations {
  /** Identifiers and constants: what is the same for every request. */
  readonly constant: Extensions | undefined;
  readonly compiled: ReadonlyMap<string, CompiledDeclaration>;
}

/** What a route declares at one request. Where the request changes nothing, the same object again. */
export type DeclareAt = (occasion: DeclarationOccasion) => Extensions | undefined;

/** Where declarations stand, and who can compile them. */
export interface DeclarationsInput {
  readonly path: string;
  readonly route: RouteFacts;
  readonly extensions: readonly Extension[];
  readonly issues: Issues;
}

/** Checks and compiles a route's `extensions`. */
export function parseDeclarations(given: unknown, input: DeclarationsInput): Declarations {
  const { path, extensions, issues } = input;
  if (given === undefined) return { constant: undefined, compiled: new Map() };
  const copy = copyJsonObject(given);
  if (copy === undefined) {
    issues.add(path, "declarations by extension identifier, of JSON values", given);
    return { constant: undefined, compiled: new Map() };
  }
  const compiled = new Map<string, CompiledDeclaration>();
  const constant: [string, ExtensionDeclaration][] = [];
  for (const [identifier, declaration] of Object.entries(copy)) {
    const context = { path: issuePath(path, identifier), route: input.route, issues };
    const extension = extensions.find(({ key }) => key === identifier);
    if (extension === undefined) {
      if (isComplete(declaration)) constant.push([identifier, declaration]);
      else issues.add(context.path, "{ info, schema }, both objects", declaration);
      continue;
    }
    const result = extension.compile(declaration, context);
    if (result !== undefined) compiled.set(identifier, result);
  }
  return { constant: constant.length === 0 ? undefined : Object.fromEntries(constant), compiled };
}

function isComplete(declaration: unknown): declaration is ExtensionDeclaration {
  return isJsonObject(declaration) && isJsonObject(declaration["info"]) && isJsonObject(declaration["schema"]);
}

/** Says what goes out at a request. */
export function createDeclareAt({ constant, compiled }: Declarations): DeclareAt {
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

/** Almost always there is one; and what it says is almost always the same. */
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

/** What older documents say of input and output, of the first declaration that has a word for it. */
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

/** Whether a route's declarations say what goes into a request. */
export function canCheckInput({ compiled }: Declarations): boolean {
  return [...compiled.values()].some(({ checkInput }) => checkInput !== undefined);
}

/** What is wrong with a request by what its route declares. */
export function checkDeclaredInput({ compiled }: Declarations, input: RequestInput): readonly InputProblem[] {
  return [...compiled.values()].flatMap(({ checkInput }) => checkInput?.(input) ?? []);
}

/** What the body of a request has to be sent as, to be checked. */
export function bodyTypeOf({ compiled }: Declarations, method: string): "json" | "form-data" | "text" | undefined {
  return [...compiled.values()].map(({ bodyType }) => bodyType?.(method)).find((type) => type !== undefined);
}
