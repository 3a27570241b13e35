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
import type { Token } from "path-to-regexp";
import { encodeTemplate } from "../protocol/route-template.js";
import { compileMatcher, type FlatToken, type PathMatcher, textOf, type Values } from "./form-matcher.js";

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
  /** The forms of which only one can match a path: `/files/*` has `/files/:var1`, `/files/` and `/files`. */
  readonly family: FormFamily;
  /** Whether a raw path is spelled exactly as the form, including case and slashes. */
  matches(path: string): boolean;
  /** The same in any case, and with or without a slash at the end: Express takes such a path by default. */
  takes(path: string): boolean;
  /** Decoded parameters of a path, e.g. `{ id: "7" }`, in any case and with any slashes; `undefined` if the form does not match. */
  paramsOf(path: string): Readonly<Record<string, string>> | undefined;
}

/** Forms that differ in the segments `*` which they lack. They are matched at once, in a time in proportion to the path. */
export interface FormFamily {
  /** The first has all segments. */
  readonly forms: readonly PathForm[];
  /** The form that a path has, if any. */
  find(path: string): { readonly form: PathForm; readonly isExact: boolean } | undefined;
}

/** The tokens of a form, and those of its template. */
interface FlatForm {
  readonly tokens: readonly FlatToken[];
  readonly written: readonly FlatToken[];
}

/** Express also refuses a route with more forms. */
const MAX_FORMS = 256;

/** The time to read a path grows with them. */
const MAX_WILDCARDS = 8;

/** Compiles the forms of a path, in the order in which Express tries them. */
export function compileForms(tokens: readonly Token[]): readonly PathForm[] {
  const forms = flatten(tokens).map(({ tokens: some, written }) => ({
    tokens: orRoot(some),
    written: orRoot(written),
  }));
  const rooted = forms.filter((form) => textOf(form.tokens[0]).startsWith("/"));
  return rooted.flatMap((form) => compileFamily(form).forms);
}

const ROOT: readonly FlatToken[] = [{ type: "text", value: "/" }];

function orRoot(tokens: readonly FlatToken[]): readonly FlatToken[] {
  return tokens.length === 0 ? ROOT : tokens;
}

/** `undefined` if the forms of a path are few and simple enough; otherwise a description of valid ones. */
export function explainForms(tokens: readonly Token[]): string | undefined {
  const forms = flatten(tokens);
  const count = forms.reduce((sum, { tokens: some }) => sum + 2 ** some.filter(({ isStar }) => isStar).length, 0);
  if (count > MAX_FORMS) return `at most ${MAX_FORMS} combinations of optional parts`;
  const wildcards = Math.max(...forms.map((form) => form.tokens.filter(isWildcard).length));
  if (wildcards > MAX_WILDCARDS) return `at most ${MAX_WILDCARDS} wildcards`;
  const adjacent = forms.flatMap((form) =>
    form.tokens.filter((token, at) => isValue(token) && isValue(form.tokens[at - 1])),
  );
  const [first] = namesOf(adjacent);
  return first === undefined ? undefined : `a path as Express 5 writes it (Missing text before "${first}")`;
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

function isValue(token: FlatToken | undefined): boolean {
  return token !== undefined && token.type !== "text";
}

/** The templates of a path, each once. */
export function templatesOf(
  forms: readonly PathForm[],
): readonly Pick<PathForm, "template" | "params" | "wildcards">[] {
  return [
    ...new Map(forms.map(({ template, params, wildcards }) => [template, { template, params, wildcards }])).values(),
  ];
}

function compileFamily(flat: FlatForm): FormFamily {
  const { tokens, written } = flat;
  const wildcards = namesOf(written.filter(isWildcard));
  const taken = namesOf(tokens);
  const absent = wildcards.filter((name) => !taken.includes(name)).map((name): [string, string] => [name, ""]);
  const described = {
    template: written.map(writeTemplate).join(""),
    params: [...new Set(namesOf(written))],
    wildcards,
  };
  const describe = (some: readonly FlatToken[]) => {
    const segments = segmentsOf(some);
    return {
      ...described,
      segments: segments.map(toFormSegment),
      ranks: segments.map(rankOf),
      shape: shapeOf(some),
      sample: writeSample(some),
    };
  };
  return tokens.some(isValue) ? compileValues(tokens, describe, absent) : compileText(tokens, describe(tokens), absent);
}

type Described = Omit<PathForm, "family" | "matches" | "takes" | "paramsOf">;

type Absent = readonly (readonly [string, string])[];

/** Most keys are text: they are compared without a matcher. */
function compileText(tokens: readonly FlatToken[], described: Described, absent: Absent): FormFamily {
  const plain = tokens.map(textOf).join("");
  const params = Object.freeze(Object.fromEntries(absent));
  const loose = compileLoosely(tokens);
  const form: PathForm = {
    ...described,
    family: { forms: [], find: () => undefined },
    matches: (path) => path === plain,
    takes: (path) => loose(path) !== undefined,
    paramsOf: (path) => (path === plain || isSameText(path, plain) ? params : undefined),
  };
  const [exact, spelled] = [{ form, isExact: true } as const, { form, isExact: false } as const];
  return Object.assign(form.family, {
    forms: [form],
    find: (path: string) => (path === plain ? exact : isSameText(path, plain) ? spelled : undefined),
  });
}

function compileValues(
  tokens: readonly FlatToken[],
  describe: (some: readonly FlatToken[]) => Described,
  absent: Absent,
): FormFamily {
  const exact = compileMatcher(tokens, { isLoose: false });
  const loose = compileLoosely(tokens);
  const spelled: PathMatcher = (path) => loose(path) ?? loose(collapseSlashes(path)) ?? loose(withOneSlashAtEnd(path));
  const values = tokens.filter(isValue);
  const byKey = new Map<string, PathForm>();
  const keyOf = (some: readonly FlatToken[]) => `${writeSample(some)} ${shapeOf(some)}`;
  const formOf = (found: Values) => (byKey.size === 1 ? family.forms[0] : byKey.get(keyOf(tokensOf(tokens, found))));
  const family: FormFamily = {
    forms: [],
    find(path) {
      const asWritten = exact(path);
      const found = asWritten ?? spelled(path);
      const form = found && formOf(found);
      return form && { form, isExact: asWritten !== undefined };
    },
  };
  for (const some of waysToLack(values).map((found) => tokensOf(tokens, found))) {
    if (byKey.has(keyOf(some))) continue;
    const isThis = (found: Values | undefined) => found !== undefined && formOf(found) === form;
    const form: PathForm = {
      ...describe(some),
      family,
      matches: (path) => isThis(exact(path)),
      takes: (path) => isThis(exact(path) ?? loose(path)),
      paramsOf(path) {
        const found = exact(path) ?? spelled(path);
        return found !== undefined && isThis(found) ? readParams(values, found, absent) : undefined;
      },
    };
    byKey.set(keyOf(some), form);
  }
  return Object.assign(family, { forms: [...byKey.values()] });
}

/** A matcher that is compiled on first use: most paths never need it. */
function compileLoosely(tokens: readonly FlatToken[]): PathMatcher {
  let compiled: PathMatcher | undefined;
  return (path) => {
    compiled ??= compileMatcher(withoutTrailingSlash(tokens), { isLoose: true });
    return compiled(path);
  };
}

/** With and without each star, the longest form first. The last star may lack only its segment. */
function waysToLack(tokens: readonly FlatToken[]): readonly Values[] {
  let all: readonly Values[] = [[]];
  for (const { isStar } of tokens) {
    all = all.flatMap((values) => (isStar ? ["x", "", undefined] : ["x"]).map((value) => [...values, value]));
  }
  return all;
}

/** The tokens of the form that a path has. Between two segments, two slashes are one. */
function tokensOf(tokens: readonly FlatToken[], found: Values): readonly FlatToken[] {
  let has: readonly FlatToken[] = [];
  let index = 0;
  for (const token of tokens) {
    const value = isValue(token) ? found[index++] : undefined;
    if (token.isStar !== true || value) has = [...has, token];
    else if (value === undefined || token !== tokens.at(-1)) has = withoutLastSlash(has);
  }
  return orRoot(has);
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

/** Express takes a path with or without a slash at the end. The root keeps its slash. */
function withoutTrailingSlash(tokens: readonly FlatToken[]): readonly FlatToken[] {
  return orRoot(withoutLastSlash(tokens));
}

function withoutLastSlash(tokens: readonly FlatToken[]): readonly FlatToken[] {
  const last = tokens.at(-1);
  if (last?.type !== "text" || !last.value.endsWith("/")) return tokens;
  const value = last.value.slice(0, -1);
  return [...tokens.slice(0, -1), ...(value === "" ? [] : [{ ...last, value }])];
}

/** Placeholders. The first that the form's own text does not contain is used: `~` would not work in `/:a~*b`. */
const PLACEHOLDERS = [..."~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

function writeSample(tokens: readonly FlatToken[]): string {
  const text = fold(tokens.map(textOf).join(""));
  const placeholder = PLACEHOLDERS.find((sign) => !text.includes(sign)) ?? "~";
  return tokens.map((token) => (token.type === "text" ? token.value : placeholder)).join("");
}

/** Facilitators accept letters, digits and a few other ASCII characters in a template. */
function writeTemplate(token: FlatToken): string {
  if (token.type !== "text") return `:${encodeTemplate(token.name)}`;
  return encodeTemplate(token.value);
}

/** @param absent - The wildcards of optional parts that the path lacks. */
function readParams(tokens: readonly FlatToken[], found: Values, absent: Absent): Readonly<Record<string, string>> {
  const params = namesOf(tokens).map((name, at): [string, string] => {
    const value = found[at] ?? "";
    return [name, tokens[at]?.type === "wildcard" ? value.split("/").map(decode).join("/") : decode(value)];
  });
  return Object.freeze(Object.fromEntries([...params, ...absent]));
}

/** Decodes a text, or returns it unchanged if it is not valid. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
