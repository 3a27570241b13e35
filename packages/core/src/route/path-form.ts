/**
 * Forms of a path: `/users{/:id}` has two, `/users/:id` and `/users`.
 *
 * A form has three uses for a request's path:
 *
 *   matches    the path is spelled exactly as the form; Express passes it to a route of that form with any settings
 *   segments   the route trie finds the forms for which some router might take the path, by its settings or mounts
 *   paramsOf   the values of its parameters
 *
 * @module
 */
import { type Key, pathToRegexp, type Token, TokenData } from "path-to-regexp";
import { encodeTemplate } from "../protocol/route-template.js";

/** One segment of a form, for the route trie. */
export type FormSegment =
  /** Text only, with its case folded. */
  | { readonly kind: "text"; readonly shape: string }
  /** A parameter, or text with parameters. */
  | { readonly kind: "any"; readonly shape: string }
  /** Anything from here to the end. */
  | { readonly kind: "rest"; readonly shape: string };

/** One form of a path, compiled. */
export interface PathForm {
  /** Non-empty segments, compared without regard to case and repeated slashes. */
  readonly segments: readonly FormSegment[];
  /** The rank of each segment, lower for more specific ones: 0 for text, 1 for a parameter, 2 for a wildcard. */
  readonly ranks: readonly number[];
  /** Equal for forms that Express treats alike: names, case and a trailing slash do not count. */
  readonly shape: string;
  /** A path of this form, with a placeholder for each parameter, e.g. `/users/~`. */
  readonly sample: string;
  /** The form in the syntax of catalogs, e.g. `/users/:id`. It has every wildcard that may be empty, so `/files` of `/files/*` has `/files/:var1`. */
  readonly template: string;
  /** Names of the parameters of the template. */
  readonly params: readonly string[];
  /** Those that take several segments. */
  readonly wildcards: readonly string[];
  /** The expressions behind {@link PathForm.matches} and {@link PathForm.paramsOf}. They take linear time on any path. */
  readonly expressions: { readonly exact: RegExp; readonly loose: RegExp };
  /** Whether a raw path is spelled exactly as the form, including case and slashes. */
  matches(path: string): boolean;
  /** Decoded parameters of a path, e.g. `{ id: "7" }`, in any case and with any slashes; `undefined` if the form does not match. */
  paramsOf(path: string): Readonly<Record<string, string>> | undefined;
}

type FlatToken = Exclude<Token, { type: "group" }>;

/** The tokens of a form, and those of its template. */
interface FlatForm {
  readonly tokens: readonly FlatToken[];
  readonly written: readonly FlatToken[];
}

/** Express also refuses a route with more forms. */
const MAX_FORMS = 256;

/** A third wildcard would take quadratic time in the length of a path. */
const MAX_WILDCARDS = 2;

/**
 * Compiles the forms of a path, in the order in which Express tries them.
 *
 * @throws the error of path-to-regexp, for two adjacent parameters
 */
export function compileForms(tokens: readonly Token[]): readonly PathForm[] {
  const forms = flatten(tokens).map(({ tokens: some, written }) => ({
    tokens: orRoot(some),
    written: orRoot(written),
  }));
  return forms.filter((form) => textOf(form.tokens[0]).startsWith("/")).map(compileForm);
}

const ROOT: readonly FlatToken[] = [{ type: "text", value: "/" }];

function orRoot(tokens: readonly FlatToken[]): readonly FlatToken[] {
  return tokens.length === 0 ? ROOT : tokens;
}

/** `undefined` if the forms of a path are few and simple enough; otherwise a description of valid ones. */
export function explainForms(tokens: readonly Token[]): string | undefined {
  const forms = flatten(tokens);
  if (forms.length > MAX_FORMS) return `at most ${MAX_FORMS} combinations of optional parts`;
  const wildcards = forms.map((form) => form.tokens.filter(isWildcard).length);
  return Math.max(...wildcards) > MAX_WILDCARDS ? `at most ${MAX_WILDCARDS} wildcards` : undefined;
}

/** Every combination of optional parts, the longest first. Stops one above the limit. */
function flatten(tokens: readonly Token[]): readonly FlatForm[] {
  let forms: readonly FlatForm[] = [{ tokens: [], written: [] }];
  for (const token of tokens) {
    const parts = token.type === "group" ? flattenGroup(token.tokens) : [{ tokens: [token], written: [token] }];
    forms = forms.flatMap((form) => parts.map((part) => join(form, part))).slice(0, MAX_FORMS + 1);
  }
  return forms;
}

/** A group of a wildcard alone is a wildcard that may be empty. Catalogs have no other name for the path without it. */
function flattenGroup(tokens: readonly Token[]): readonly FlatForm[] {
  const forms = flatten(tokens);
  const longest = forms[0]?.tokens ?? [];
  const isRest = longest.some(isWildcard) && longest.every((token) => isWildcard(token) || textOf(token) === "/");
  return [...forms, { tokens: [], written: isRest ? longest : [] }];
}

function join(one: FlatForm, other: FlatForm): FlatForm {
  return { tokens: [...one.tokens, ...other.tokens], written: [...one.written, ...other.written] };
}

function isWildcard({ type }: FlatToken): boolean {
  return type === "wildcard";
}

/** The templates of a path, each once. */
export function templatesOf(
  forms: readonly PathForm[],
): readonly Pick<PathForm, "template" | "params" | "wildcards">[] {
  return [
    ...new Map(forms.map(({ template, params, wildcards }) => [template, { template, params, wildcards }])).values(),
  ];
}

function compileForm({ tokens, written }: FlatForm): PathForm {
  const segments = segmentsOf(tokens);
  const plain = tokens.every(({ type }) => type === "text") ? tokens.map(textOf).join("") : undefined;
  const wildcards = namesOf(written.filter(isWildcard));
  const taken = namesOf(tokens);
  const absent = Object.freeze(
    Object.fromEntries(wildcards.flatMap((name) => (taken.includes(name) ? [] : [[name, ""]]))),
  );
  const data = new TokenData([...tokens]);
  const { regexp: exact, keys } = pathToRegexp(data, { sensitive: true, trailing: false });
  let loose: RegExp | undefined;
  const expressions = {
    exact,
    /** Compiled on first use: most paths never need it. */
    get loose() {
      loose ??= pathToRegexp(withoutTrailingSlash(tokens), { sensitive: false, trailing: true }).regexp;
      return loose;
    },
  };
  return {
    expressions,
    segments: segments.map(toFormSegment),
    ranks: segments.map(rankOf),
    shape: shapeOf(tokens),
    sample: writeSample(tokens),
    template: written.map(writeTemplate).join(""),
    params: [...new Set(namesOf(written))],
    wildcards,
    matches: (path) => (plain === undefined ? exact.test(path) : path === plain),
    paramsOf(path) {
      if (plain !== undefined) return path === plain || isSameText(path, plain) ? absent : undefined;
      const found = exact.exec(path) ?? findLoosely(expressions.loose, path);
      return found === null ? undefined : readParams(found, keys, absent);
    },
  };
}

function findLoosely(loose: RegExp, path: string): RegExpExecArray | null {
  return loose.exec(path) ?? loose.exec(collapseSlashes(path)) ?? loose.exec(withOneSlashAtEnd(path));
}

/** A route whose path ends in a slash also receives a path with two. */
function withOneSlashAtEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/" && path[end - 2] === "/") end--;
  return path.slice(0, end);
}

function isSameText(path: string, plain: string): boolean {
  const bare = (text: string) => fold(collapseSlashes(`${text}/`));
  return bare(path) === bare(plain);
}

function namesOf(tokens: readonly FlatToken[]): readonly string[] {
  return tokens.flatMap((token) => (token.type === "text" ? [] : [token.name]));
}

type RawSegment = readonly FlatToken[];

/** Splits a form at its slashes, and drops empty segments. */
function segmentsOf(tokens: readonly FlatToken[]): readonly RawSegment[] {
  const segments: FlatToken[][] = [[]];
  for (const token of tokens) {
    const pieces: readonly FlatToken[] =
      token.type === "text" ? token.value.split("/").map((value) => ({ type: "text", value })) : [token];
    const [first, ...rest] = pieces;
    if (first !== undefined) segments.at(-1)?.push(first);
    for (const piece of rest) segments.push([piece]);
  }
  const filled = segments.map((segment) => segment.filter((token) => token.type !== "text" || token.value !== ""));
  return filled.filter((segment) => segment.length > 0);
}

function toFormSegment(segment: RawSegment): FormSegment {
  const shape = shapeOf(segment);
  if (segment.some(({ type }) => type === "wildcard")) return { kind: "rest", shape };
  return { kind: segment.some(({ type }) => type === "param") ? "any" : "text", shape };
}

/** Text beside a parameter makes a segment more specific, and each further parameter less specific. */
function rankOf(segment: RawSegment): number {
  const params = segment.filter(({ type }) => type !== "text").length;
  if (segment.some(({ type }) => type === "wildcard")) return segment.length === 1 ? 2 : 1.5;
  return segment.length === params ? params : params / (params + 1);
}

function shapeOf(tokens: readonly FlatToken[]): string {
  const shape = tokens.map((token) => (token.type === "text" ? fold(token.value) : `\0${token.type}`)).join("");
  return shape.length > 1 && shape.endsWith("/") ? shape.slice(0, -1) : shape;
}

/**
 * Folds case, exactly as a case-insensitive regular expression does.
 *
 * @see {@link https://tc39.es/ecma262/#sec-runtime-semantics-canonicalize-ch}. It maps to upper case, too
 */
export function fold(text: string): string {
  return text.toUpperCase();
}

/** Collapses repeated slashes: a router mounted at `/a/` reads `/a//b/` as `/a/b/`. */
export function collapseSlashes(path: string): string {
  return path.replace(/\/{2,}/g, "/");
}

function withoutTrailingSlash(tokens: readonly FlatToken[]): TokenData {
  const last = tokens.at(-1);
  const isRoot = tokens.length === 1 && last?.type === "text" && last.value === "/";
  if (last?.type !== "text" || !last.value.endsWith("/") || isRoot) return new TokenData([...tokens]);
  const text = last.value.slice(0, -1);
  return new TokenData([...tokens.slice(0, -1), ...(text === "" ? [] : [{ type: "text" as const, value: text }])]);
}

/** Placeholders. The first that the form's own text does not contain is used: `~` would not work in `/:a~*b`. */
const PLACEHOLDERS = [..."~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

function writeSample(tokens: readonly FlatToken[]): string {
  const text = fold(tokens.map(textOf).join(""));
  const placeholder = PLACEHOLDERS.find((sign) => !text.includes(sign)) ?? "~";
  return tokens.map((token) => (token.type === "text" ? token.value : placeholder)).join("");
}

function textOf(token: FlatToken | undefined): string {
  return token?.type === "text" ? token.value : "";
}

/** Facilitators accept letters, digits and a few other ASCII characters in a template. */
function writeTemplate(token: FlatToken): string {
  if (token.type !== "text") return `:${encodeTemplate(token.name)}`;
  return encodeTemplate(token.value);
}

/** @param absent - The wildcards that are empty. */
function readParams(
  found: RegExpExecArray,
  keys: readonly Key[],
  absent: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const params = keys.flatMap(({ name, type }, at): [string, string][] => {
    const value = found[at + 1];
    if (value === undefined) return [];
    return [[name, type === "wildcard" ? value.split("/").map(decode).join("/") : decode(value)]];
  });
  return Object.freeze(Object.fromEntries([...params, ...Object.entries(absent)]));
}

/** Decodes a text, or returns it unchanged if it is not valid. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
