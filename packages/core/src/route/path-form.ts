/**
 * Forms of a path: `/users{/:id}` has two, `/users/:id` and `/users`.
 *
 * A form answers three questions about a request's path. Is it written just as the form has it? Then Express hands it to a
 * route of that form, whatever the settings. Might some router, by its settings or by where it is mounted, take it for the
 * same? That is asked of the trie, segment by segment. And what are its parameters?
 *
 * @module
 */
import { type Key, pathToRegexp, type Token, TokenData } from "path-to-regexp";

/** One segment of a form, as the trie reads it. */
export type FormSegment =
  /** Text only, folded. */
  | { readonly kind: "text"; readonly shape: string }
  /** One segment: a parameter, or text with parameters in it. */
  | { readonly kind: "any"; readonly shape: string }
  /** Anything from here on. */
  | { readonly kind: "rest"; readonly shape: string };

/** One form of a path, compiled. */
export interface PathForm {
  /** Where requests may differ in case and in the number of slashes; empty segments are left out. */
  readonly segments: readonly FormSegment[];
  /** How specific each segment is, the smaller the more: 0 for text, 1 for a parameter, 2 for a wildcard. */
  readonly ranks: readonly number[];
  /** The same for forms that Express takes for the same: names, case and a slash at the end do not count. */
  readonly shape: string;
  /** A path of this form, with a placeholder for each parameter: `/users/~`. */
  readonly sample: string;
  /** The form in the syntax of catalogs: `/users/:id`. */
  readonly template: string;
  /** What {@link PathForm.matches} and {@link PathForm.paramsOf} go by; linear, whatever they are held against. */
  readonly expressions: { readonly exact: RegExp; readonly loose: RegExp };
  /** Whether a raw path is written just as the form has it, case and slashes included. */
  matches(path: string): boolean;
  /** Decoded parameters of a path of this form, in whatever case and with whatever slashes; `undefined` if it is none. */
  paramsOf(path: string): Readonly<Record<string, string>> | undefined;
}

type FlatToken = Exclude<Token, { type: "group" }>;

/** Every route that has more forms than this is refused by Express, too. */
const MAX_FORMS = 256;

/** A third wildcard would take time by the square of the path's length. */
const MAX_WILDCARDS = 2;

/**
 * Compiles the forms of a path, in the order in which Express tries them.
 *
 * @throws what path-to-regexp throws, for two parameters that touch.
 */
export function compileForms(tokens: readonly Token[]): readonly PathForm[] {
  const forms = flatten(tokens).map((form) => (form.length === 0 ? ROOT : form));
  return forms.filter((form) => textOf(form[0]).startsWith("/")).map(compileForm);
}

const ROOT: readonly FlatToken[] = [{ type: "text", value: "/" }];

/** Whether the forms of a path are few and simple enough; otherwise what would be. */
export function explainForms(tokens: readonly Token[]): string | undefined {
  const forms = flatten(tokens);
  if (forms.length > MAX_FORMS) return `at most ${MAX_FORMS} combinations of optional parts`;
  const wildcards = forms.map((form) => form.filter(({ type }) => type === "wildcard").length);
  return Math.max(...wildcards) > MAX_WILDCARDS ? `at most ${MAX_WILDCARDS} wildcards` : undefined;
}

/** Every way to leave parts out, the fullest first. Stops one beyond what is allowed. */
function flatten(tokens: readonly Token[]): readonly (readonly FlatToken[])[] {
  let forms: (readonly FlatToken[])[] = [[]];
  for (const token of tokens) {
    const parts = token.type === "group" ? [...flatten(token.tokens), []] : [[token]];
    forms = forms.flatMap((form) => parts.map((part) => [...form, ...part])).slice(0, MAX_FORMS + 1);
  }
  return forms;
}

function compileForm(tokens: readonly FlatToken[]): PathForm {
  const segments = segmentsOf(tokens);
  const plain = tokens.every(({ type }) => type === "text") ? tokens.map(textOf).join("") : undefined;
  const data = new TokenData([...tokens]);
  const { regexp: exact, keys } = pathToRegexp(data, { sensitive: true, trailing: false });
  const expressions = {
    exact,
    /** Made when it is needed, which it rarely is. */
    get loose() {
      return pathToRegexp(withoutTrailingSlash(tokens), { sensitive: false, trailing: true }).regexp;
    },
  };
  return {
    expressions,
    segments: segments.map(toFormSegment),
    ranks: segments.map(rankOf),
    shape: shapeOf(tokens),
    sample: writeSample(tokens),
    template: tokens.map(writeTemplate).join(""),
    matches: (path) => (plain === undefined ? exact.test(path) : path === plain),
    paramsOf(path) {
      if (plain !== undefined) return path === plain || isSameText(path, plain) ? NO_PARAMS : undefined;
      const found = exact.exec(path) ?? findLoosely(expressions.loose, path);
      return found === null ? undefined : readParams(found, keys);
    },
  };
}

function findLoosely(loose: RegExp, path: string): RegExpExecArray | null {
  return loose.exec(path) ?? loose.exec(collapseSlashes(path));
}

function isSameText(path: string, plain: string): boolean {
  const bare = (text: string) => fold(collapseSlashes(`${text}/`));
  return bare(path) === bare(plain);
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

type RawSegment = readonly FlatToken[];

/** Cuts a form at its slashes and leaves empty segments out. */
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

/** Text beside a parameter makes it more specific, every further parameter less. */
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
 * Folds case, so that whatever an expression that ignores case takes for the same is the same.
 *
 * @see {@link https://tc39.es/ecma262/#sec-runtime-semantics-canonicalize-ch}, which goes by upper case, too
 */
export function fold(text: string): string {
  return text.toUpperCase();
}

/** `/a//b/` is `/a/b/` to a router that was mounted at `/a/`. */
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

/** The first of these that a form's text does not have: `~` is no value of `:a` in `/:a~*b`. */
const PLACEHOLDERS = [..."~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

function writeSample(tokens: readonly FlatToken[]): string {
  const text = fold(tokens.map(textOf).join(""));
  const placeholder = PLACEHOLDERS.find((sign) => !text.includes(sign)) ?? "~";
  return tokens.map((token) => (token.type === "text" ? token.value : placeholder)).join("");
}

function textOf(token: FlatToken | undefined): string {
  return token?.type === "text" ? token.value : "";
}

/** Facilitators take letters, digits and a few signs in a template, and nothing that is not ASCII. */
function writeTemplate(token: FlatToken): string {
  if (token.type !== "text") return `:${encodeTemplate(token.name)}`;
  return encodeTemplate(token.value);
}

/** Writes a text as a template may have it. */
export function encodeTemplate(text: string): string {
  return text.replace(/[^\w/:.~%-]+/g, (part) => [...Buffer.from(part)].map(percentEncode).join(""));
}

function percentEncode(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

function readParams(found: RegExpExecArray, keys: readonly Key[]): Readonly<Record<string, string>> {
  const params = keys.flatMap(({ name, type }, at): [string, string][] => {
    const value = found[at + 1];
    if (value === undefined) return [];
    return [[name, type === "wildcard" ? value.split("/").map(decode).join("/") : decode(value)]];
  });
  return Object.freeze(Object.fromEntries(params));
}

/** What cannot be decoded stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
