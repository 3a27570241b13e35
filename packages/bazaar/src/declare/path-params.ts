/**
 * Path parameters, as a seller declares them. Their values, and the template, come from the route itself.
 *
 * @see the brief §2.5, "Dynamic (parameterized) routes"
 * @module
 */
import { isJsonObject, type JsonObject, type RoutePath } from "@farebox/core";
import type { JsonSchema } from "../declaration.js";
import type { Reading } from "./draft.js";
import { readObject, readSchema } from "./parts.js";

/** Reads `pathParams` and `pathParamsSchema`; yields the schema, if there is one. */
export function readPathParams(form: JsonObject, reading: Reading): JsonSchema | undefined {
  const { path } = reading;
  const example = readObject({ path: `${path}.pathParams`, value: form["pathParams"] }, reading) ?? {};
  const given = form["pathParamsSchema"];
  const schema =
    given === undefined ? undefined : readSchema({ path: `${path}.pathParamsSchema`, value: given }, reading);
  const properties = isJsonObject(schema?.["properties"]) ? Object.keys(schema["properties"]) : [];
  notePathParams(new Set([...Object.keys(example), ...properties]), reading);
  return schema;
}

/** A mount may have parameters too, of which a key knows nothing; so this only looks wrong. */
function notePathParams(names: ReadonlySet<string>, { route: { paths, key }, note }: Reading): void {
  if (paths === undefined) return;
  const known = new Set(paths.flatMap(({ params }) => params));
  for (const name of names) {
    if (known.has(name)) continue;
    note(
      "FAREBOX_PATH_PARAM_UNKNOWN",
      `Its declaration names the path parameter ${JSON.stringify(name)}, which ${key} does not have`,
    );
  }
}

const TEMPLATE = /^\/[\w/:.\-~%]+$/;

/** How often facilitators decode a template before they give up on it. */
const MAX_PASSES = 5;

/** Whether facilitators take a template: some signs only, and nothing hidden in it that leads elsewhere. */
function isListableTemplate(template: string): boolean {
  if (!TEMPLATE.test(template)) return false;
  let decoded = template;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const next = decode(decoded);
    if (next === undefined) return false;
    if (next === decoded) return !decoded.includes("..") && !decoded.includes("://");
    decoded = next;
  }
  return false;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** What `/*` is called. It says nothing about the route, and so many are listed by it that it is no name. */
const ANYTHING = "/:var1";

/** Whether a route is listed by its template: it has parameters, and is not just any path. */
export function hasTemplate({ template, params }: RoutePath): boolean {
  return params.length > 0 && template !== ANYTHING;
}

/** Notes templates that facilitators would ignore. */
export function noteTemplates({ route: { paths = [] }, note }: Reading): void {
  for (const path of paths) {
    if (!hasTemplate(path) || isListableTemplate(path.template)) continue;
    note(
      "FAREBOX_TEMPLATE_NOT_LISTABLE",
      `Facilitators do not take ${path.template} for a template, so each of its paths is listed by itself`,
    );
  }
}
