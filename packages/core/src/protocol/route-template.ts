/**
 * Route templates: the paths of routes as catalogs write them, e.g. `/users/:id`. Sellers write templates and facilitators check
 * them by this one file, so a facilitator accepts what a seller declares.
 *
 * `:name` is a segment, or a part of one. `:var1`, `:var2`, … are wildcards: any number of segments, or none. Another name is a
 * wildcard if its declared value has a slash or is empty, as a `*rest` of Express 5 may be.
 *
 * @see x402 v2 extension `bazaar`, "Dynamic routes"
 * @module
 */
import type { JsonObject } from "./json.js";

const TEMPLATE = /^\/[\w/:.\-~%]+$/;
const MAX_TEMPLATE = 512;

/** Readers of a catalog may decode a template more than once. */
const MAX_DECODINGS = 5;

/** Why a catalog must not list a template, as the end of a sentence; `undefined` if it may. Never throws. */
export function problemOfTemplate(template: unknown): string | undefined {
  if (typeof template !== "string") return "is not a string";
  if (template.length > MAX_TEMPLATE) return `is longer than ${MAX_TEMPLATE} characters`;
  if (!TEMPLATE.test(template)) return "is not a path of letters, digits and :param segments";
  const decoded = decodeFully(template);
  if (decoded === undefined) return "is not percent-encoded properly";
  if (decoded.includes("..") || decoded.split("/").includes(".")) return "leads out of its own path";
  if (decoded.includes("://") || decoded.includes("//") || decoded.includes("\\")) return "leads to another origin";
  return /[?#\s]/.test(decoded) ? "has more than a path" : undefined;
}

function decodeFully(text: string): string | undefined {
  let decoded = text;
  for (let pass = 0; pass < MAX_DECODINGS; pass++) {
    const next = decode(decoded);
    if (next === undefined || next === decoded) return next;
    decoded = next;
  }
  return undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Percent-encodes what a template cannot hold. A colon is encoded, because it starts a parameter. */
export function encodeTemplate(text: string): string {
  return text.replace(/[^\w/.~%-]+/g, (part) => [...Buffer.from(part)].map(percentEncode).join(""));
}

function percentEncode(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

/** A piece of a template: text, or the name of a parameter. Both are as the template has them. */
export type TemplatePiece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "param"; readonly name: string };

/** A parameter, a text, or a colon that starts no parameter. */
const PIECES = /:((?:\w|%[0-9a-fA-F]{2})+)|[^:]+|:/g;

/** Splits a template into text and parameters. */
export function piecesOf(template: string): readonly TemplatePiece[] {
  return [...template.matchAll(PIECES)].map(([text, name]) =>
    name === undefined ? { kind: "text", text } : { kind: "param", name: decode(name) ?? name },
  );
}

/** Whether a name stands for a wildcard in every template. */
export function isWildcardName(name: string): boolean {
  return /^var\d+$/.test(name);
}

/** One step of a pattern: a character, or one of the marks below. */
type Step = string | typeof PARAM | typeof ANY | typeof OPTIONAL_SLASH;

/** One character or more of a segment. */
const PARAM = Symbol("param");
/** Any characters, or none. */
const ANY = Symbol("any");
/** The slash before a wildcard that is a whole segment: without the wildcard there is none. Always stands before {@link ANY}. */
const OPTIONAL_SLASH = Symbol("slash");

/** A decoded `%2F`: no separator of segments. */
const ENCODED_SLASH = "\0";

/**
 * Whether a path matches a template. Case, percent-encoding, repeated slashes and a slash at the end do not count, because routers
 * and proxies differ in them. Takes time in proportion to the length of the path, whatever the template says.
 *
 * @param pathParams - The values that the seller declares for the path. They say which parameters are wildcards.
 */
export function matchesTemplate(template: string, path: string, pathParams: JsonObject = {}): boolean {
  const steps = stepsOf(template, pathParams);
  const text = normalise(path);
  return holdsRests(text, template, pathParams) && runs(steps, text);
}

function stepsOf(template: string, pathParams: JsonObject): readonly Step[] {
  const steps: Step[] = [];
  const pieces = piecesOf(template);
  pieces.forEach((piece, at) => {
    if (piece.kind === "text") {
      for (const step of decodeSegments(piece.text)) if (step !== "/" || steps.at(-1) !== "/") steps.push(step);
    } else if (!isWildcard(piece.name, pathParams)) {
      steps.push(PARAM);
    } else {
      const next = pieces[at + 1];
      const isSegment = next === undefined || (next.kind === "text" && next.text.startsWith("/"));
      if (isSegment && steps.at(-1) === "/") steps[steps.length - 1] = OPTIONAL_SLASH;
      steps.push(ANY);
    }
  });
  if (steps.at(-1) === "/" && steps.length > 1) steps.pop();
  return steps;
}

function isWildcard(name: string, pathParams: JsonObject): boolean {
  return isWildcardName(name) || restOf(name, pathParams) !== undefined;
}

/** The declared value of a parameter that is a wildcard by its value alone. */
function restOf(name: string, pathParams: JsonObject): string | undefined {
  const value = Object.hasOwn(pathParams, name) ? pathParams[name] : undefined;
  return typeof value === "string" && (value === "" || value.includes("/")) ? value : undefined;
}

/** Whether the path has every value that makes a wildcard of a parameter. */
function holdsRests(text: string, template: string, pathParams: JsonObject): boolean {
  const names = new Set(piecesOf(template).flatMap((piece) => (piece.kind === "param" ? [piece.name] : [])));
  const bare = (one: string) => one.replaceAll(ENCODED_SLASH, "/").replaceAll(/\/{2,}/g, "/");
  const whole = bare(`${text}/`);
  return [...names].every(
    (name) => isWildcardName(name) || whole.includes(bare(restOf(name, pathParams) ?? "").toLowerCase()),
  );
}

function normalise(path: string): string {
  return `/${decodeSegments(path)
    .split("/")
    .filter((segment) => segment !== "")
    .join("/")}`;
}

/** Decodes each segment by itself. A malformed one stays as it is. */
function decodeSegments(text: string): string {
  const segments = text.split("/").map((one) => (decode(one) ?? one).replaceAll("/", ENCODED_SLASH));
  return segments.join("/").toLowerCase();
}

/** Runs all ways through a pattern at once, so there is nothing to go back to. */
function runs(steps: readonly Step[], text: string): boolean {
  let now = new Uint8Array(steps.length + 3);
  let next = new Uint8Array(steps.length + 3);
  now[0] = 1;
  skip(steps, now);
  for (const character of text) {
    next.fill(0);
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at];
      if (now[at] === 0) continue;
      const isInSegment = step === PARAM && character !== "/";
      if (step === character || isInSegment || (step === OPTIONAL_SLASH && character === "/")) next[at + 1] = 1;
      if (step === ANY || isInSegment) next[at] = 1;
    }
    skip(steps, next);
    [now, next] = [next, now];
  }
  return now[steps.length] === 1;
}

/** Adds the places that are reached without a character. */
function skip(steps: readonly Step[], places: Uint8Array): void {
  for (let at = 0; at < steps.length; at++) {
    if (places[at] === 0) continue;
    if (steps[at] === ANY) places[at + 1] = 1;
    if (steps[at] === OPTIONAL_SLASH) places[at + 2] = 1;
  }
}
