/**
 * Matches paths with the tokens of a form, as Express 5 does: a parameter or wildcard takes as much as the rest of the form leaves it.
 *
 * Express compiles a form to a regular expression, which goes back and forth: with three wildcards, for a time that grows with the square
 * of the path. Here each place of a path is left at most once by each token, so time is in proportion to the path for any form.
 *
 * @module
 */
import type { Token } from "path-to-regexp";

/** A token of a form. */
export type FlatToken = Exclude<Token, { type: "group" }> & {
  /** A segment `*`: a wildcard that may be empty, and then be missing with its slash. */
  readonly isStar?: boolean;
};

/** The values of a form's parameters in a path, in their order. `undefined`: a `*` that is missing with its slash. */
export type Values = readonly (string | undefined)[];

/** `undefined`: the path does not match. */
export type PathMatcher = (path: string) => Values | undefined;

/** One way to read a parameter: a run of characters up to a text, or a text. */
type Way =
  | { readonly kind: "run"; readonly slot: number; readonly stops: readonly string[] }
  | { readonly kind: "text"; readonly text: string };

type Step =
  | { readonly kind: "text"; readonly text: string }
  /** One character or more. */
  | { readonly kind: "value"; readonly ways: readonly Way[]; readonly index: number }
  /** A slash and anything, or none of both. */
  | { readonly kind: "star"; readonly slot: number; readonly index: number };

/** How a path may be spelled. */
export interface Spelling {
  /** In any case, and with a slash more at the end. */
  readonly isLoose: boolean;
}

/** Compiles the tokens of a form. */
export function compileMatcher(tokens: readonly FlatToken[], { isLoose }: Spelling): PathMatcher {
  const written = isLoose ? tokens.map(foldToken) : tokens;
  const form = { ...toSteps(written), isLoose };
  const hasStar = form.steps.some(({ kind }) => kind === "star");
  return (path) => {
    const text = isLoose ? foldUnits(path) : path;
    // Express 4 gives a `*` its slash. Only a path that has no place for it lacks both.
    const found = walk(form, text, false) ?? (hasStar ? walk(form, text, true) : undefined);
    return found?.map((span) => span && path.slice(span[0], span[1]));
  };
}

function foldToken(token: FlatToken): FlatToken {
  return token.type === "text" ? { ...token, value: foldUnits(token.value) } : token;
}

/**
 * Folds the case of each code unit, as a regular expression that ignores case does.
 *
 * @see {@link https://tc39.es/ecma262/#sec-runtime-semantics-canonicalize-ch}
 */
function foldUnits(text: string): string {
  return text.replace(/[a-z\x80-\uffff]/g, (unit) => {
    const upper = unit.toUpperCase();
    return upper.length === 1 && (unit < "\x80" || upper >= "\x80") ? upper : unit;
  });
}

/** What a capture ends at, by the tokens before it. */
interface Before {
  /** The text since the last parameter or wildcard. */
  text: string;
  /** The text since the last wildcard, if no parameter is between. */
  sinceWildcard: string;
  last: "param" | "wildcard" | undefined;
  /** In this segment. */
  hasParam: boolean;
  hasWildcard: boolean;
}

function toSteps(tokens: readonly FlatToken[]): { readonly steps: readonly Step[]; readonly slots: number } {
  const steps: Step[] = [];
  const before: Before = { text: "", sinceWildcard: "", last: undefined, hasParam: false, hasWildcard: false };
  let slots = 0;
  let index = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.type === "text") {
      const next = tokens[at + 1];
      const text = isStar(next) ? token.value.slice(0, -1) : token.value;
      if (text !== "") steps.push({ kind: "text", text });
      before.text += token.value;
      if (before.last === "wildcard") before.sinceWildcard += token.value;
      if (token.value.includes("/")) before.hasParam = before.hasWildcard = false;
      continue;
    }
    if (isStar(token)) steps.push({ kind: "star", slot: slots++, index: index++ });
    else {
      const read = token.type === "param" ? waysOfParam(before, tokens.slice(at + 1)) : waysOfWildcard(before);
      const ways = read.map((one): Way => (typeof one === "string" ? { kind: "text", text: one } : run(one, slots++)));
      steps.push({ kind: "value", ways, index: index++ });
    }
    before.last = token.type;
    before.text = "";
    if (token.type === "param") before.hasParam = true;
    else [before.hasWildcard, before.sinceWildcard] = [true, ""];
  }
  return { steps, slots };
}

function run(stops: readonly string[], slot: number): Way {
  return { kind: "run", slot, stops: [...new Set(stops)].filter((stop) => stop !== "") };
}

/** A text, or the texts at which a run ends. */
type ReadAs = readonly string[] | string;

/** A parameter ends at a slash, and where the text beside it is another time. */
function waysOfParam(before: Before, after: readonly FlatToken[]): readonly ReadAs[] {
  if (before.hasWildcard) return [["/", before.text]];
  if (hasWildcardInSegment(after)) return [["/", textBeforeValue(after)]];
  return before.hasParam ? [["/", before.text], before.text] : [["/"]];
}

/** A wildcard behind another one has no further text that stands between them. */
function waysOfWildcard(before: Before): readonly ReadAs[] {
  if (before.hasWildcard) return [[before.text]];
  return before.sinceWildcard === "" ? [[]] : [[before.sinceWildcard], ["/"]];
}

function hasWildcardInSegment(tokens: readonly FlatToken[]): boolean {
  const end = tokens.findIndex((token) => textOf(token).includes("/"));
  return tokens.slice(0, end === -1 ? undefined : end).some(({ type }) => type === "wildcard");
}

/** Around the end of an optional part, a text is in several tokens. */
function textBeforeValue(tokens: readonly FlatToken[]): string {
  const end = tokens.findIndex(({ type }) => type !== "text");
  return tokens
    .slice(0, end === -1 ? undefined : end)
    .map(textOf)
    .join("");
}

/** The text of a token; none if it is a parameter, or missing. */
export function textOf(token: FlatToken | undefined): string {
  return token?.type === "text" ? token.value : "";
}

function isStar(token: FlatToken | undefined): boolean {
  return token?.type === "wildcard" && token.isStar === true;
}

type Span = readonly [start: number, end: number];

interface Steps {
  readonly steps: readonly Step[];
  readonly slots: number;
  readonly isLoose: boolean;
}

function isStop(path: string, stops: readonly string[], at: number): boolean {
  for (const stop of stops) if (path.startsWith(stop, at)) return true;
  return false;
}

/** Where the first run ends: it has one start only, so nothing is read twice. */
function findStop(path: string, stops: readonly string[], start: number): number {
  let end = path.length;
  for (const stop of stops) {
    const found = path.indexOf(stop, start);
    if (found !== -1 && found < end) end = found;
  }
  return end;
}

/** Goes through a path once. @param mayLack - Whether a star may be missing with its slash. */
function walk(
  { steps, slots, isLoose }: Steps,
  path: string,
  mayLack: boolean,
): readonly (Span | undefined)[] | undefined {
  const spans: (Span | undefined)[] = [];
  /** The ends of runs from which no way leads to the end of the form. */
  let left: Uint8Array | undefined;
  const hasLeft = (slot: number, at: number) => left?.[slot * (path.length + 1) + at] === 1;
  const runs = (step: number, index: number, slot: number, stops: readonly string[], start: number, least: number) => {
    const first = start + least;
    if (hasLeft(slot, first)) return false;
    let end = slot === 0 ? findStop(path, stops, start) : start;
    while (end < path.length && !hasLeft(slot, end + 1) && !isStop(path, stops, end)) end++;
    for (let at = end; at >= first; at--) {
      if (!follows(step + 1, at)) continue;
      spans[index] = [start, at];
      return true;
    }
    // The first run begins at one place only.
    if (slot === 0 || end < first) return false;
    left ??= new Uint8Array(slots * (path.length + 1));
    left.fill(1, slot * (path.length + 1) + first, slot * (path.length + 1) + end + 1);
    return false;
  };
  const follows = (step: number, at: number): boolean => {
    const one = steps[step];
    if (one === undefined) return at === path.length || (isLoose && at === path.length - 1 && path.startsWith("/", at));
    if (one.kind === "text") return path.startsWith(one.text, at) && follows(step + 1, at + one.text.length);
    if (one.kind === "star") {
      if (path.startsWith("/", at) && runs(step, one.index, one.slot, [], at + 1, 0)) return true;
      if (!mayLack || !follows(step + 1, at)) return false;
      spans[one.index] = undefined;
      return true;
    }
    return one.ways.some((way) => {
      if (way.kind === "run") return runs(step, one.index, way.slot, way.stops, at, 1);
      if (!path.startsWith(way.text, at) || !follows(step + 1, at + way.text.length)) return false;
      spans[one.index] = [at, at + way.text.length];
      return true;
    });
  };
  return follows(0, 0) ? spans : undefined;
}
