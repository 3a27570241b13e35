/**
 * Route templates: the paths of routes as catalogs write them, e.g. `/users/:id`. Sellers write templates and facilitators check
 * them by this one file, so a facilitator accepts what a seller declares.
 *
 * `:name` is a segment, or a part of one. `:var1`, `:var2`, … are wildcards: any number of segments, or none. Another name may
 * be a wildcard, too, such as `*rest` of Express 5. Its declared value says so: it has a slash, or is empty.
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
  if (!piecesOf(template).some(isTelling)) return "matches every path";
  if (decoded.includes("..") || decoded.split("/").includes(".")) return "leads out of its own path";
  if (decoded.includes("://") || decoded.includes("//") || decoded.includes("\\")) return "leads to another origin";
  return /[?#\p{Cc}]|[^\S ]/u.test(decoded) ? "has more than a path" : undefined;
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
function isWildcardName(name: string): boolean {
  return /^var\d+$/.test(name);
}

/** Whether a piece tells paths apart: a wildcard and a slash do not. */
function isTelling(piece: TemplatePiece): boolean {
  return piece.kind === "param" ? !isWildcardName(piece.name) : /[^/]/.test(piece.text);
}

/** One step of a pattern: a character, or one of the marks below, which are longer. */
type Step = string;

/** One character or more of a segment. */
const PARAM = "param";
/** Any characters, or none. */
const ANY = "any";
/** The slash before a wildcard that is a whole segment: without the wildcard it is missing, too. Always stands before {@link ANY}. */
const OPTIONAL_SLASH = "slash";
/** One slash or more of a declared value, which has lost how they were written. */
const SLASHES = "slashes";
/** The same before a wildcard, as {@link OPTIONAL_SLASH}. */
const OPTIONAL_SLASHES = "optional slashes";

/** A decoded `%2F`: no separator of segments. */
const ENCODED_SLASH = "\0";

/**
 * Whether a path matches a template. Case, percent-encoding, repeated slashes and a slash at the end do not count, because routers
 * and proxies differ in them. Takes time in proportion to the length of the path, for any template.
 *
 * @param pathParams - The values that the seller declares for the path. A value with a slash, or an empty one, stands in the path as
 *   it is.
 */
export function matchesTemplate(template: string, path: string, pathParams: JsonObject = {}): boolean {
  const text = normalise(path);
  const steps = stepsOf(template, text.length, pathParams);
  return steps !== undefined && runs(steps, text);
}

/** The steps of a template; `undefined` if they are more than a path of this length can take. */
function stepsOf(template: string, length: number, pathParams: JsonObject): readonly Step[] | undefined {
  const steps: Step[] = [];
  const pieces = piecesOf(template);
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === "param" && isWildcardName(piece.name)) addWildcard(steps, pieces[at + 1]);
    else for (const step of stepsOfPiece(piece, pathParams)) addStep(steps, step);
    if (steps.length > template.length + length) return undefined;
  }
  while (steps.length > 1 && isSlash(steps.at(-1))) steps.pop();
  return steps;
}

function addWildcard(steps: Step[], next: TemplatePiece | undefined): void {
  const isSegment = next === undefined || (next.kind === "text" && next.text.startsWith("/"));
  const last = steps.at(-1);
  if (isSegment && last === "/") steps[steps.length - 1] = OPTIONAL_SLASH;
  if (isSegment && last === SLASHES) steps[steps.length - 1] = OPTIONAL_SLASHES;
  steps.push(ANY);
}

function stepsOfPiece(piece: TemplatePiece, pathParams: JsonObject): Iterable<Step> {
  if (piece.kind === "text") return decodeSegments(piece.text);
  const rest = restOf(piece.name, pathParams);
  return rest === undefined
    ? [PARAM]
    : [...decodeEscapes(rest).toLowerCase()].map((step) => (step === "/" ? SLASHES : step));
}

function addStep(steps: Step[], step: Step): void {
  const last = steps.at(-1);
  const isSecond = (last === "/" || last === SLASHES) && (step === "/" || step === SLASHES);
  if (!isSecond) steps.push(step);
  else if (step === SLASHES) steps[steps.length - 1] = SLASHES;
}

function isSlash(step: Step | undefined): boolean {
  return step === "/" || step === SLASHES || step === ENCODED_SLASH;
}

/** The declared value of a parameter that may be a wildcard by another name. */
function restOf(name: string, pathParams: JsonObject): string | undefined {
  const value = Object.hasOwn(pathParams, name) ? pathParams[name] : undefined;
  return typeof value === "string" && (value === "" || value.includes("/")) ? value : undefined;
}

function normalise(path: string): string {
  const segments = decodeSegments(path).split("/");
  const text = `/${segments.filter((segment) => segment !== "").join("/")}`;
  let end = text.length;
  while (end > 1 && isSlash(text[end - 1])) end--;
  return text.slice(0, end);
}

/** Decodes each segment by itself. */
function decodeSegments(text: string): string {
  const segments = text.split("/").map((one) => decodeEscapes(one).replaceAll("/", ENCODED_SLASH));
  return segments.join("/").toLowerCase();
}

/** Decodes what can be decoded, until nothing changes: a router leaves a value with a malformed escape as it is. */
function decodeEscapes(text: string): string {
  let decoded = text;
  for (let pass = 0; pass < MAX_DECODINGS && decoded.includes("%"); pass++) {
    decoded = decoded.replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => decode(escapes) ?? escapes);
  }
  return decoded;
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
      const isRepeated = (step === PARAM && character !== "/") || (step === SLASHES && isSlash(character));
      const isSkippable = step === OPTIONAL_SLASH ? character === "/" : step === OPTIONAL_SLASHES && isSlash(character);
      if (step === character || isRepeated || isSkippable) next[at + 1] = 1;
      if (step === ANY || isRepeated) next[at] = 1;
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
    if (steps[at] === OPTIONAL_SLASH || steps[at] === OPTIONAL_SLASHES) places[at + 2] = 1;
  }
}
