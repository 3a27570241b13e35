/**
 * Which routes to ask: the one that was named, or those that the server's own documents list.
 *
 * @module
 */
import { isJsonObject, type JsonObject, parseJson } from "@farebox/core/protocol";
import { type Diagnosis, diagnose } from "./diagnoses.js";
import { isCertificateProblem, isHeaderOverflow, type Probe, type Probed } from "./probe.js";

/** One route to ask. */
export interface Target {
  readonly method: string;
  readonly url: string;
}

/** The routes of a server, or why there are none. */
export interface Targets {
  readonly targets: readonly Target[];
  readonly diagnoses: readonly Diagnosis[];
}

const DOCUMENTS = ["/.well-known/x402", "/openapi.json"];

/** The most routes that are asked. */
const MAX_TARGETS = 200;

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Finds the routes behind a URL: of a route, of a document, or of a server. */
export async function findTargets(url: string, probe: Probe): Promise<Targets> {
  const first = await probe({ method: "GET", url });
  const named = { targets: [{ method: "GET", url }], diagnoses: [] };
  // The check of the route says why.
  if (first.kind === "failed" && isHeaderOverflow(first.code)) return named;
  if (first.kind === "failed") return { targets: [], diagnoses: [unreachable(url, first)] };
  const { origin, pathname } = new URL(url);
  const listed = readDocument(first, origin);
  if (listed.length > 0) return { targets: limited(listed), diagnoses: [] };
  if (first.status === 402) return named;
  // A server at its root is asked for its documents. Any other URL is meant as a route.
  if (pathname !== "/") return first.status === 405 ? { targets: [{ method: "POST", url }], diagnoses: [] } : named;
  for (const path of DOCUMENTS) {
    const response = await probe({ method: "GET", url: origin + path });
    const targets = response.kind === "response" ? readDocument(response, origin) : [];
    if (targets.length > 0) return { targets: limited(targets), diagnoses: [] };
  }
  return { targets: [], diagnoses: [diagnose("NO_ROUTES", url)] };
}

function limited(targets: readonly Target[]): readonly Target[] {
  const unique = new Map(targets.map((target) => [`${target.method} ${target.url}`, target]));
  return [...unique.values()].slice(0, MAX_TARGETS);
}

/** Why a server does not respond. */
export function unreachable(subject: string, { code, reason }: Extract<Probed, { kind: "failed" }>): Diagnosis {
  const name = isCertificateProblem(code) ? "CERTIFICATE" : "UNREACHABLE";
  return diagnose(name, subject, { message: `The server does not respond: ${code}, ${reason}` });
}

/** The priced routes that a document lists. Empty: it is none that is known. */
function readDocument({ status, body }: Extract<Probed, { kind: "response" }>, origin: string): readonly Target[] {
  const parsed = status === 200 ? parseJson(body) : undefined;
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return [];
  const document = parsed.value;
  return typeof document["openapi"] === "string" ? readOpenApi(document, origin) : readWellKnown(document, origin);
}

/** Operations with a price. Paths are relative to the server that was asked, whatever the document calls it. */
function readOpenApi({ paths, servers }: JsonObject, origin: string): readonly Target[] {
  const [server] = Array.isArray(servers) ? servers : [];
  const base = isJsonObject(server) && typeof server["url"] === "string" ? pathOf(server["url"], origin) : "";
  return Object.entries(isJsonObject(paths) ? paths : {}).flatMap(([path, item]) => {
    const operations = isJsonObject(item) ? item : {};
    const priced = METHODS.filter((method) => {
      const operation = operations[method];
      return isJsonObject(operation) && operation["x-payment-info"] !== undefined;
    });
    const url = `${origin}${base}${path.replace(/\{[^{}]*\}/g, "1")}`;
    return URL.canParse(url) ? priced.map((method) => ({ method: method.toUpperCase(), url })) : [];
  });
}

/** Items of HTTP, and URLs that no item has. Only those of the server that was asked. */
function readWellKnown({ items, resources }: JsonObject, origin: string): readonly Target[] {
  const fromItems = (Array.isArray(items) ? items : []).flatMap((item) => {
    if (!isJsonObject(item) || typeof item["resource"] !== "string" || item["type"] === "mcp") return [];
    const method = typeof item["method"] === "string" ? item["method"] : "GET";
    return [{ method: method === "ANY" ? "GET" : method, url: fillTemplate(item["resource"]) }];
  });
  const known = new Set(fromItems.map(({ url }) => url));
  const fromList = (Array.isArray(resources) ? resources : []).filter(
    (url): url is string => typeof url === "string" && !known.has(url),
  );
  const all = [...fromItems, ...fromList.map((url) => ({ method: "GET", url }))];
  return all.filter(({ url, method }) => {
    return URL.canParse(url) && new URL(url).origin === origin && METHODS.includes(method.toLowerCase());
  });
}

/** A URL of a template: `https://api.example.com/users/:id` becomes `…/users/1`. */
export function fillTemplate(url: string): string {
  const at = url.indexOf("/", url.indexOf("//") + 2);
  if (at === -1) return url;
  const path = url.slice(at).replace(/[:*]\w+|\*/g, "1");
  return url.slice(0, at) + path;
}

function pathOf(server: string, origin: string): string {
  if (!URL.canParse(server, origin)) return "";
  const { pathname } = new URL(server, origin);
  return pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
}
