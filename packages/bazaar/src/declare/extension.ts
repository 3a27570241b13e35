/**
 * The extension `bazaar` for sellers: a declaration is compiled at start, and sent with each challenge.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import type {
  CompiledDeclaration,
  DeclarationContext,
  DeclarationNotice,
  DeclarationOccasion,
  Extension,
  JsonObject,
  Outline,
  RoutePath,
} from "@farebox/core";
import { isJsonObject, problemOfTemplate } from "@farebox/core/protocol";
import { BAZAAR, type BazaarDeclaration, outputSchemaOf } from "../declaration.js";
import { MAX_URL, problemOfDeclaration } from "../document-limits.js";
import { problemOfIdentifier } from "../tool-identifier.js";
import { BODY_METHODS, type Draft, type FormContext, methodsOf, QUERY_METHODS } from "./draft.js";
import { readHttpForm } from "./http-form.js";
import { createInputCheck } from "./input-check.js";
import { isMcpForm, readMcpForm } from "./mcp-form.js";
import { isReadyForm, readReadyForm } from "./ready-form.js";
import {
  type FillPath,
  isListedByTemplate,
  isRejected,
  narrowToMethod,
  noteTemplates,
  preparePathFields,
} from "./request-fields.js";

/** Creates the extension. `@farebox/express` includes it. */
export function bazaarExtension(): Extension {
  return { key: BAZAAR, compile };
}

function compile(form: unknown, context: DeclarationContext): CompiledDeclaration | undefined {
  const { path, issues, route } = context;
  if (!isJsonObject(form)) {
    issues.add(path, "an object such as { discoverable: true }", form);
    return undefined;
  }
  const discoverable = form["discoverable"] ?? true;
  if (typeof discoverable !== "boolean") issues.add(`${path}.discoverable`, "true or false", discoverable);
  const notices: DeclarationNotice[] = [];
  const formContext = {
    ...context,
    note: (code: DeclarationNotice["code"], message: string) => void notices.push({ code, message }),
  };
  if (!isMcpDeclared(form) && !methodsOf(route).some((method) => LISTED.includes(method))) {
    issues.addText(path, `a route for ${LISTED.join(", ")}`, `one for ${route.method}`);
    return undefined;
  }
  const drafts = readForm(form, formContext);
  if (drafts.some(({ methods }) => methods !== undefined) && discoverable === true) noteTemplates(formContext);
  const at = discoverable === true ? createAt(drafts) : () => undefined;
  noteLimits(drafts, at, formContext);
  if (discoverable === true) noteIdentifier(drafts, formContext);
  return {
    at,
    outline: (declaration, url) => outlineOf(declaration as BazaarDeclaration, url),
    isPublic: discoverable === true,
    withoutExamples: (declaration) => withoutExamples(declaration as BazaarDeclaration),
    notices,
    ...createInputCheck(drafts),
  };
}

/** The methods that catalogs list. */
const LISTED: readonly string[] = [...QUERY_METHODS, ...BODY_METHODS];

function isMcpDeclared(form: JsonObject): boolean {
  const info = isJsonObject(form["info"]) ? form["info"] : {};
  return isMcpForm(form) || (isJsonObject(info["input"]) && info["input"]["type"] === "mcp");
}

function readForm(form: JsonObject, context: FormContext): readonly Draft[] {
  if (isJsonObject(form[BAZAAR]) && isReadyForm(form[BAZAAR])) {
    const remedy = "extensions: { ...declareDiscoveryExtension(…) }";
    context.issues.addText(`${context.path}.${BAZAAR}`, `one level less: ${remedy}`, "a declaration in a declaration");
    return [];
  }
  if (isReadyForm(form)) return readReadyForm(form, context);
  return isMcpForm(form) ? readMcpForm(form, context) : readHttpForm(form, context);
}

/** Notes a declaration that catalogs do not take. Each method and path sends its own; the values of a path come with a request. */
function noteLimits(
  drafts: readonly Draft[],
  at: CompiledDeclaration["at"],
  { route: { key, paths }, publicPath, note }: FormContext,
): void {
  const methods = drafts.flatMap((draft) => draft.methods ?? [""]);
  const places = (paths ?? []).map(({ template, params }) => ({
    routeTemplate: publicPath + template,
    pathParams: Object.fromEntries(params.map((name) => [name, ""])),
  }));
  const sent = methods.flatMap((method) => [UNPLACED, ...places].map((place) => at({ method, locate: () => place })));
  const problem = sent.map((one) => one && problemOfDeclaration(one)).find((found) => found !== undefined);
  if (problem !== undefined)
    note("FAREBOX_DECLARATION_NOT_LISTABLE", `Catalogs do not take the declaration of ${key}, which ${problem}`);
}

/** Notes an identifier that catalogs do not take: they ask the same function. */
function noteIdentifier(drafts: readonly Draft[], { route: { key }, resource, note }: FormContext): void {
  if (resource === undefined || new URL(resource).protocol !== "mcp:") return;
  for (const { info } of drafts.map(({ declaration }) => declaration)) {
    const problem = problemOfIdentifier(resource, info.input.type === "mcp" ? info.input.toolName : "");
    if (problem !== undefined)
      note("FAREBOX_TOOL_NOT_LISTABLE", `Catalogs do not take the declaration of ${key}: its resource ${problem}`);
  }
}

const UNPLACED = { routeTemplate: undefined, pathParams: {} } as const;

/** The declaration for one method: the same for every request, or with its path filled in. */
interface Prepared {
  readonly fixed: BazaarDeclaration;
  readonly fillPath: FillPath;
  /** Whether facilitators list the route by a template. Most requests have the one of the request before. */
  readonly isListed: (path: RoutePath) => boolean;
}

function createAt(drafts: readonly Draft[]): CompiledDeclaration["at"] {
  const byMethod = new Map<string, Prepared>();
  for (const { declaration, methods = [] } of drafts) {
    for (const method of methods) byMethod.set(method, prepare(narrowToMethod(declaration, method)));
  }
  const tool = drafts.find(({ methods }) => methods === undefined)?.declaration;
  return (occasion) => {
    if (occasion.url !== undefined && occasion.url.length > MAX_URL) return undefined;
    if (tool !== undefined) return tool;
    const prepared = byMethod.get(occasion.method);
    return prepared === undefined ? undefined : fillIn(prepared, occasion);
  };
}

function prepare(declaration: BazaarDeclaration): Prepared {
  return { fixed: Object.freeze(declaration), fillPath: preparePathFields(declaration), isListed: rememberLast() };
}

function rememberLast(): Prepared["isListed"] {
  let last: { readonly template: string; readonly isListed: boolean } | undefined;
  return (path) => {
    if (last?.template !== path.template) last = { template: path.template, isListed: isListedByTemplate(path) };
    return last.isListed;
  };
}

function fillIn(
  { fixed, fillPath, isListed }: Prepared,
  { locate, url }: DeclarationOccasion,
): BazaarDeclaration | undefined {
  const { routeTemplate, pathParams } = locate();
  // A catalog would refuse it, or list a path that this route does not have.
  if (isRejected(pathParams)) return undefined;
  if (routeTemplate === undefined) return fixed;
  const params = Object.keys(pathParams);
  if (isListed({ template: routeTemplate, params })) return fillPath(routeTemplate, pathParams);
  const requested = url?.split("?")[0]?.slice(url.indexOf("/", 8)) ?? routeTemplate;
  // The path begins behind `https://`. `/Plain/` belongs to the entry of `/plain`.
  if (params.length > 0 || requested === routeTemplate || problemOfTemplate(routeTemplate) !== undefined) return fixed;
  return { ...fixed, routeTemplate };
}

/** What of `info.input` is an example. Path parameters are the request's own. */
const EXAMPLES: readonly string[] = ["queryParams", "body", "headers", "cookies", "example"];

function withoutExamples({ info, ...declaration }: BazaarDeclaration): BazaarDeclaration {
  const { input, output, ...rest } = info;
  const kept = Object.fromEntries(Object.entries(input).filter(([name]) => !EXAMPLES.includes(name)));
  const { example: _, ...form } = output ?? {};
  return {
    ...declaration,
    info: { ...rest, input: kept as typeof input, ...(output === undefined ? {} : { output: form }) },
  };
}

/** Writes the outline: the form of older documents, `outputSchema: { input, output }` in each offer. */
function outlineOf({ info, schema }: BazaarDeclaration, url: string): Outline {
  const input = info.input.type === "mcp" ? info.input : { ...info.input, resource: url };
  return { input, output: outputOf(info.output?.example, schema) };
}

/** Older catalogs show the example; without one they get the schema. */
function outputOf(example: unknown, schema: JsonObject): JsonObject | null {
  if (isJsonObject(example)) return example;
  const found = outputSchemaOf(schema);
  return found !== undefined && Object.keys(found).length > 0 ? found : null;
}
