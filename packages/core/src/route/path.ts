/**
 * Paths of route keys, compiled: Express 5's syntax, and the older notations `[param]` and a bare `*` segment.
 *
 * The parser is path-to-regexp of the same major version as Express 5's router, so a path means here what it means there.
 *
 * @see {@link https://expressjs.com/en/guide/routing.html}
 *
 * @module
 */

import { parse, type Token } from "path-to-regexp";
import { compileForms, explainForms, type PathForm } from "./path-form.js";

/** A compiled path, or what is wrong with it and where. */
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
  try {
    const forms = compileForms(parsed.tokens);
    return forms.length > 0 ? { ok: true, forms } : { ok: false, expected: 'a path that starts with "/"' };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(";")[0] : "unparsable";
    return { ok: false, expected: `a path as Express 5 writes it (${reason})` };
  }
}

/** Compiles a path that a seller has registered, once. Never for the path of a request: what is compiled is kept. */
export function compileRegistered(path: string): CompiledPath {
  const compiled = registered.get(path) ?? compilePath(path);
  registered.set(path, compiled);
  return compiled;
}

const registered = new Map<string, CompiledPath>();

/** Paths that a registered route gets, one for each of its forms; `undefined` when its path cannot be read. */
export function samplesOf(path: string): readonly string[] | undefined {
  const compiled = compileRegistered(path);
  return compiled.ok ? compiled.forms.map(({ sample }) => sample) : undefined;
}

/** A path taken apart, or what is wrong with it and where. */
export type ParsedPath =
  | { readonly ok: true; readonly tokens: readonly Token[] }
  | {
      readonly ok: false;
      readonly expected: string;
      /** Index of the character in question, where there is one. */
      readonly at?: number;
    };

/** Takes a path apart. */
function parsePath(path: string): ParsedPath {
  const rewritten = rewrite(path);
  if (!rewritten.ok) return rewritten;
  try {
    return { ok: true, tokens: parse(rewritten.text).tokens };
  } catch (error) {
    return explain(error, rewritten.text === path);
  }
}

type Rewritten =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly at: number; readonly expected: string };

/** What Express 5 refuses, and what to write instead. */
const REMEDIES: Readonly<Record<string, string>> = {
  "?": "a path without a query, and optional parts in braces, as in /users{/:id}",
  "#": "a path without a fragment",
  "(": 'no regular expression; "payments.charge" takes every path that Express takes',
  ")": 'no regular expression; "payments.charge" takes every path that Express takes',
  "+": "a backslash before a plus sign that is meant as one; for several segments write *name",
  "!": "a backslash before an exclamation mark that is meant as one",
  "]": "an opening bracket before it, as in /users/[id]",
};

/** Everything that is one thing in a path: an escape, a quoted name, a bracketed name, a star, a plain character. */
const PIECES = /\\[\s\S]|[:*]"(?:\\[\s\S]|[^"\\])*"?|\[[^\]]*\]?|[\s\S]/g;

/** A piece of a path, and what is around it. */
interface Piece {
  readonly text: string;
  readonly next: string | undefined;
  /** What has been written so far. */
  readonly before: string;
  /** How many bare wildcards there were before this one. */
  readonly wildcards: number;
}

type RewrittenPiece = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly expected: string };

/** Writes the older notations as Express 5 would have them. */
function rewrite(path: string): Rewritten {
  let before = "";
  let wildcards = 0;
  for (const { 0: text, index: at } of path.matchAll(PIECES)) {
    const rewritten = rewritePiece({ text, next: path.at(at + text.length), before, wildcards });
    if (!rewritten.ok) return { ...rewritten, at };
    if (text === "*" && rewritten.text.includes("{")) wildcards += 1;
    // What stands for anything may stand for nothing, not even the slash before it.
    before = rewritten.text.startsWith("{/") && text === "*" ? before.slice(0, -1) : before;
    before += rewritten.text;
  }
  return { ok: true, text: before };
}

function rewritePiece(piece: Piece): RewrittenPiece {
  const { text, next } = piece;
  if (text.startsWith("[")) return rewriteBrackets(text);
  if (text === "*" && !isNameStart(next)) return rewriteWildcard(piece);
  const remedy = REMEDIES[text] ?? (text === "\\?" || text === "\\#" ? REMEDIES[text.charAt(1)] : undefined);
  return remedy === undefined ? { ok: true, text } : { ok: false, expected: remedy };
}

function rewriteBrackets(text: string): RewrittenPiece {
  const name = /^\[([A-Za-z_$][\w$]*)\]$/.exec(text)?.[1];
  return name === undefined ? { ok: false, expected: explainBrackets(text) } : { ok: true, text: `:"${name}"` };
}

/** A bare `*` stands for anything, also for nothing: `/files/*` covers `/files`, too. */
function rewriteWildcard({ next, before, wildcards }: Piece): RewrittenPiece {
  if (!before.endsWith("/") || !isSegmentEnd(next)) return { ok: false, expected: BARE_WILDCARD };
  const wildcard = `{*"var${wildcards + 1}"}`;
  return { ok: true, text: next === "/" ? wildcard : `{/${wildcard}}` };
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

/** The parser's own words. What it says of positions holds where nothing was rewritten. */
function explain(error: unknown, hasSamePositions: boolean): ParsedPath {
  const message = error instanceof Error ? (error.message.split(/[;:]/)[0] ?? "") : "unparsable";
  const [words = "", at] = message.split(" at index ");
  const expected = `a path as Express 5 writes it (${words.split(", expected")[0]})`;
  return at === undefined || !hasSamePositions
    ? { ok: false, expected }
    : { ok: false, expected, at: Number.parseInt(at, 10) };
}
