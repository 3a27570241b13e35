/**
 * Compiles the paths of route keys: Express 5's syntax, and the older notations `[param]` and a bare `*` segment.
 *
 * The parser is path-to-regexp in the major version that Express 5 uses, so a path has the same meaning in both.
 *
 * @see {@link https://expressjs.com/en/guide/routing.html}
 * @module
 */
import { parse, type Token } from "path-to-regexp";
import type { FlatToken } from "./form-matcher.js";
import { compileForms, explainForms, type PathForm } from "./path-form.js";

/** A compiled path, or a description of valid paths and the position of the mistake. */
export type CompiledPath =
  | { readonly ok: true; readonly forms: readonly PathForm[] }
  | { readonly ok: false; readonly expected: string; readonly at?: number };

/** Compiles a path. */
export function compilePath(path: string): CompiledPath {
  const parsed = parsePath(path);
  if (!parsed.ok) return parsed;
  if (path.endsWith("//")) {
    return { ok: false, expected: "a path that ends in at most one slash", at: path.length - 1 };
  }
  const tooFree = explainForms(parsed.tokens);
  if (tooFree !== undefined) return { ok: false, expected: tooFree };
  const forms = compileForms(parsed.tokens);
  return forms.length > 0 ? { ok: true, forms } : { ok: false, expected: 'a path that starts with "/"' };
}

/** Compiles a path of a registered route, once. Never call it with the path of a request: results are kept for good. */
export function compileRegistered(path: string): CompiledPath {
  const compiled = registered.get(path) ?? compilePath(path);
  registered.set(path, compiled);
  return compiled;
}

const registered = new Map<string, CompiledPath>();

/** The forms of a registered path; none if it cannot be compiled. */
export function formsOf(path: string): readonly PathForm[] {
  const compiled = compileRegistered(path);
  return compiled.ok ? compiled.forms : [];
}

/** Sample paths of a registered route, one for each of its forms; `undefined` if its path cannot be compiled. */
export function samplesOf(path: string): readonly string[] | undefined {
  const compiled = compileRegistered(path);
  return compiled.ok ? compiled.forms.map(({ sample }) => sample) : undefined;
}

/** Whether the seller's template of a mount matches the mount of a request. */
export function matchesMount(template: string, mountPath: string): boolean {
  if (template === "" || mountPath === "") return template === mountPath;
  const compiled = compileRegistered(template);
  return compiled.ok && compiled.forms.some((form) => form.paramsOf(mountPath) !== undefined);
}

/** A path below a mount. */
interface Below {
  readonly mountPath: string;
  readonly path: string;
}

/** The path below a mount of the table; `undefined`: it is not below it. */
export function belowThatMount(mount: string, fullPath: string): Below | undefined {
  const end = mount === "" ? 0 : endOfSegments(fullPath, countSegments(mount));
  if (end === undefined) return undefined;
  const mountPath = fullPath.slice(0, end);
  const isBelow = mount === mountPath || matchesMount(mount, mountPath);
  return isBelow ? { mountPath, path: fullPath.slice(end) || "/" } : undefined;
}

function countSegments(path: string): number {
  return path.split("/").filter((segment) => segment !== "").length;
}

/** Where the first segments of a path end. */
function endOfSegments(path: string, count: number): number | undefined {
  let end = 0;
  for (let segment = 0; segment < count; segment++) {
    const slash = end;
    while (path[end] === "/") end++;
    const start = end;
    while (end < path.length && path[end] !== "/") end++;
    if (start === slash || end === start) return undefined;
  }
  return end;
}

/** The path of all requests below a mount: that of a charge which is mounted there. */
export function formBelow(mounts: readonly string[], fullPath: string): PathForm | undefined {
  const mount = mounts.find((one) => belowThatMount(one, fullPath) !== undefined);
  return mount === undefined ? undefined : formsOf(`${mount}/*`).find((form) => form.paramsOf(fullPath) !== undefined);
}

/** The tokens of a path, or a description of valid paths. */
export type ParsedPath =
  | { readonly ok: true; readonly tokens: readonly Token[] }
  | {
      readonly ok: false;
      readonly expected: string;
      /** Index of the mistake, if known. */
      readonly at?: number;
    };

/** Parses a path. */
function parsePath(path: string): ParsedPath {
  const rewritten = rewrite(path);
  if (!rewritten.ok) return rewritten;
  try {
    return { ok: true, tokens: readStars(parse(rewritten.text).tokens) };
  } catch (error) {
    return explain(error, rewritten.text === path);
  }
}

type Rewritten =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly at: number; readonly expected: string };

/** Characters that Express 5 refuses, and their replacements. */
const REMEDIES: Readonly<Record<string, string>> = {
  "?": "a path without a query, and optional parts in braces, as in /users{/:id}",
  "#": "a path without a fragment",
  "(": 'no regular expression; "payments.charge" takes every path that Express takes',
  ")": 'no regular expression; "payments.charge" takes every path that Express takes',
  "+": "a backslash before a plus sign that is meant as one; for several segments write *name",
  "!": "a backslash before an exclamation mark that is meant as one",
  "]": "an opening bracket before it, as in /users/[id]",
};

/** Matches one piece of a path: an escape, a quoted name, a bracketed name, a star, or a plain character. */
const PIECES = /\\[\s\S]|[:*]"(?:\\[\s\S]|[^"\\])*"?|\[[^\]]*\]?|[\s\S]/g;

/** A piece of a path, and its surroundings. */
interface Piece {
  readonly text: string;
  readonly next: string | undefined;
  /** The rewritten path before this piece. */
  readonly before: string;
  /** The number of bare wildcards before this piece. */
  readonly wildcards: number;
}

type RewrittenPiece = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly expected: string };

/** Rewrites the older notations in Express 5's syntax. */
function rewrite(path: string): Rewritten {
  let before = "";
  let wildcards = 0;
  for (const { 0: text, index: at } of path.matchAll(PIECES)) {
    const rewritten = rewritePiece({ text, next: path.at(at + text.length), before, wildcards });
    if (!rewritten.ok) return { ...rewritten, at };
    if (text === "*" && rewritten.text !== text) wildcards += 1;
    before += rewritten.text;
  }
  return { ok: true, text: before };
}

function rewritePiece(piece: Piece): RewrittenPiece {
  const { text, next } = piece;
  if (text.startsWith("[")) return rewriteBrackets(text);
  if (text === "*" && !isNameStart(next)) return rewriteWildcard(piece);
  if (text.startsWith(`*"${STAR}`)) return { ok: false, expected: BARE_WILDCARD };
  const remedy = REMEDIES[text] ?? (text === "\\?" || text === "\\#" ? REMEDIES[text.charAt(1)] : undefined);
  return remedy === undefined ? { ok: true, text } : { ok: false, expected: remedy };
}

function rewriteBrackets(text: string): RewrittenPiece {
  const name = /^\[([A-Za-z_$][\w$]*)\]$/.exec(text)?.[1];
  return name === undefined ? { ok: false, expected: explainBrackets(text) } : { ok: true, text: `:"${name}"` };
}

/** Begins the name of a bare `*`, and no other. */
const STAR = "\0";

function rewriteWildcard({ next, before, wildcards }: Piece): RewrittenPiece {
  if (!before.endsWith("/") || !isSegmentEnd(next)) return { ok: false, expected: BARE_WILDCARD };
  return { ok: true, text: `*"${STAR}var${wildcards + 1}"` };
}

/** A bare `*` matches anything, including nothing: `/files/*` covers `/files`, too. */
function readStars(tokens: readonly Token[]): readonly (FlatToken | Token)[] {
  return tokens.map((token) => {
    if (token.type === "group") return { ...token, tokens: [...readStars(token.tokens)] };
    if (token.type !== "wildcard" || !token.name.startsWith(STAR)) return token;
    return { ...token, name: token.name.slice(STAR.length), isStar: true };
  });
}

const BARE_WILDCARD = 'a name after "*", as in /files/*path, or "*" as a segment of its own';

function explainBrackets(piece: string): string {
  const rest = /^\[\.\.\.([A-Za-z_$][\w$]*)\]$/.exec(piece)?.[1];
  return rest === undefined ? "a name in brackets, as in /users/[id]" : `*${rest} for the rest of a path`;
}

function isNameStart(character: string | undefined): boolean {
  return character !== undefined && /[$_"\p{ID_Start}]/u.test(character);
}

function isSegmentEnd(character: string | undefined): boolean {
  return character === undefined || character === "/" || character === "}";
}

/** Explains a mistake with the parser's message. Its position is valid only if the path was not rewritten. */
function explain(error: unknown, hasSamePositions: boolean): ParsedPath {
  const message = error instanceof Error ? (error.message.split(/[;:]/)[0] ?? "") : "unparsable";
  const [words = "", at] = message.split(" at index ");
  const expected = `a path as Express 5 writes it (${words.split(", expected")[0]})`;
  return at === undefined || !hasSamePositions
    ? { ok: false, expected }
    : { ok: false, expected, at: Number.parseInt(at, 10) };
}
