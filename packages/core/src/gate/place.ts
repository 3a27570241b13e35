/**
 * Places: where among the seller's routes a request has arrived.
 *
 * @see the brief §2.5, "Dynamic (parameterized) routes"
 * @module
 */
import { compileRegistered } from "../route/path.js";
import { collapseSlashes, encodeTemplate } from "../route/path-form.js";
import type { GateRequest } from "../route/request.js";
import type { RouteCandidate } from "../route/route-table.js";

/** A route's path in the syntax of catalogs, and what a request has in place of its parameters. */
export interface Place {
  /** Public path with its mounts, e.g. `/users/:id`; `undefined` where a route is a regular expression. */
  readonly routeTemplate: string | undefined;
  /** Decoded: `{ id: "a b" }`; the segments of a wildcard are joined by `/`. */
  readonly pathParams: Readonly<Record<string, string>>;
}

/** Where a request is that met a key. */
export function placeOf(
  { form, path, mountPath }: Pick<RouteCandidate<unknown>, "form" | "path" | "mountPath">,
  request: GateRequest,
): Place {
  const params = form.paramsOf(path) ?? {};
  if (mountPath === "") return { routeTemplate: form.template, pathParams: params };
  return withMount({ routeTemplate: form.template, pathParams: params }, request);
}

/** Puts the mount before a place below it. */
function withMount(place: Place, request: GateRequest): Place {
  const mount = mountOf(request);
  const { routeTemplate } = place;
  const below = routeTemplate === "/" ? "" : routeTemplate;
  return {
    routeTemplate: below === undefined ? undefined : collapseSlashes(`${mount.routeTemplate}${below}`) || "/",
    pathParams: Object.freeze({ ...mount.pathParams, ...place.pathParams }),
  };
}

/** Where a request is that a route with this path got, by the framework's own match. */
export function placeOfRoute(path: string, request: GateRequest): Place | undefined {
  const compiled = compileRegistered(path);
  if (!compiled.ok) return undefined;
  for (const form of compiled.forms) {
    const pathParams = form.paramsOf(request.path);
    if (pathParams !== undefined) return withMount({ routeTemplate: form.template, pathParams }, request);
  }
  return undefined;
}

/** Of a mount whose text is not known the request's own path is all there is. */
function mountOf({ mountPath, mountTemplate }: GateRequest): {
  routeTemplate: string;
  pathParams: Place["pathParams"];
} {
  const template = mountTemplate?.() ?? mountPath;
  const compiled = template === mountPath ? undefined : compileRegistered(template);
  const [form] = compiled?.ok ? compiled.forms : [];
  const pathParams = form?.paramsOf(mountPath);
  if (form === undefined || pathParams === undefined)
    return { routeTemplate: encodeTemplate(mountPath), pathParams: {} };
  return { routeTemplate: form.template === "/" ? "" : form.template, pathParams };
}

/** Whether a mount that a seller wrote is the one by which a request came. */
export function matchesMount(template: string, mountPath: string): boolean {
  if (template === "" || mountPath === "") return template === mountPath;
  const compiled = compileRegistered(template);
  return compiled.ok && compiled.forms.some((form) => form.paramsOf(mountPath) !== undefined);
}
