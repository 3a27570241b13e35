/**
 * The extension `bazaar`, for sellers: what is declared of a route is compiled at start, and goes out with its challenges.
 *
 * @see x402 v2 extension `bazaar`, and `docs/discovery.md`
 * @module
 */
import {
  type CompiledDeclaration,
  type DeclarationContext,
  type DeclarationNotice,
  type DeclarationOccasion,
  type Extension,
  isJsonObject,
  type JsonObject,
} from "@farebox/core";
import { BAZAAR, type BazaarDeclaration } from "../declaration.js";
import { BODY_METHODS, type Draft, methodsOf, QUERY_METHODS, type Reading } from "./draft.js";
import { readHttpForm } from "./http-form.js";
import { createInputCheck } from "./input-check.js";
import { isMcpForm, readMcpForm } from "./mcp-form.js";
import { type AtPlace, narrowToMethod, prepareForPlaces } from "./narrow.js";
import { outlineOf } from "./outline.js";
import { hasTemplate, noteTemplates } from "./path-params.js";
import { isReadyForm, readReadyForm } from "./ready-form.js";

/** Creates the extension. `@farebox/express` brings it. */
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
  const reading = {
    ...context,
    note: (code: DeclarationNotice["code"], message: string) => void notices.push({ code, message }),
  };
  if (!isMcpDeclared(form) && !methodsOf(route).some((method) => LISTED.includes(method))) {
    issues.addText(path, `a route for ${LISTED.join(", ")}`, `one for ${route.method}`);
    return undefined;
  }
  const drafts = readForm(form, reading);
  if (drafts.some(({ methods }) => methods !== undefined) && discoverable === true) noteTemplates(reading);
  return {
    at: discoverable === true ? createAt(drafts) : () => undefined,
    outline: (declaration, url) => outlineOf(declaration as BazaarDeclaration, url),
    isPublic: discoverable === true,
    notices,
    ...createInputCheck(drafts),
  };
}

/** Methods that catalogs know. */
const LISTED: readonly string[] = [...QUERY_METHODS, ...BODY_METHODS];

function isMcpDeclared(form: JsonObject): boolean {
  const info = isJsonObject(form["info"]) ? form["info"] : {};
  return isMcpForm(form) || (isJsonObject(info["input"]) && info["input"]["type"] === "mcp");
}

function readForm(form: JsonObject, reading: Reading): readonly Draft[] {
  if (isJsonObject(form[BAZAAR]) && isReadyForm(form[BAZAAR])) {
    const remedy = "extensions: { ...declareDiscoveryExtension(…) }";
    reading.issues.addText(`${reading.path}.${BAZAAR}`, `one level less: ${remedy}`, "a declaration in a declaration");
    return [];
  }
  if (isReadyForm(form)) return readReadyForm(form, reading);
  return isMcpForm(form) ? readMcpForm(form, reading) : readHttpForm(form, reading);
}

/** What goes out for one method: always the same, or by place. */
interface Prepared {
  readonly fixed: BazaarDeclaration;
  readonly atPlace: AtPlace;
}

function createAt(drafts: readonly Draft[]): CompiledDeclaration["at"] {
  const byMethod = new Map<string, Prepared>();
  for (const { declaration, methods = [] } of drafts) {
    for (const method of methods) byMethod.set(method, prepare(narrowToMethod(declaration, method)));
  }
  const tool = drafts.find(({ methods }) => methods === undefined)?.declaration;
  return (occasion) => {
    if (tool !== undefined) return tool;
    const prepared = byMethod.get(occasion.method);
    return prepared === undefined ? undefined : fillIn(prepared, occasion);
  };
}

function prepare(declaration: BazaarDeclaration): Prepared {
  return { fixed: Object.freeze(declaration), atPlace: prepareForPlaces(declaration) };
}

function fillIn({ fixed, atPlace }: Prepared, { locate }: DeclarationOccasion): BazaarDeclaration {
  const { routeTemplate, pathParams } = locate();
  if (routeTemplate === undefined) return fixed;
  const isListed = hasTemplate({ template: routeTemplate, params: Object.keys(pathParams) });
  return isListed ? atPlace(routeTemplate, pathParams) : fixed;
}
