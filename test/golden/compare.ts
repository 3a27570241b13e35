/**
 * Compares transcripts. What clients, facilitators, hooks and listeners see, and what records become, must be the same to the letter. A
 * difference that is only in other calls of the store is told apart from that.
 *
 * @module
 */
import { kindOf, LINE_KINDS, type LineKind } from "./transcript.js";

/** `outside`: what others see differs. `store`: only other calls of the store do. */
export interface Difference {
  readonly grade: "outside" | "store";
  readonly kinds: readonly LineKind[];
  /** The first line that differs, with those before and after it. */
  readonly excerpt: string;
}

/** Lines before and after the one that differs. */
const CONTEXT = 3;

/** `undefined`: they are the same. */
export function compare(recorded: string, played: string): Difference | undefined {
  if (recorded === played) return undefined;
  const [before, after] = [recorded.split("\n"), played.split("\n")];
  const isOutside = (line: string) => kindOf(line) !== "store" && !line.startsWith("[");
  const outside = [before, after].map((lines) => withoutEmptyLanes(lines.filter((line) => kindOf(line) !== "store")));
  const grade = String(outside[0]) === String(outside[1]) ? "store" : "outside";
  // The first line that counts: calls of the store may differ before it.
  const [left = before, right = after] = grade === "store" ? [before, after] : outside;
  const kinds = LINE_KINDS.filter((kind) => linesOf(before, kind) !== linesOf(after, kind));
  const isOrder = kinds.every((kind) => kind === "store") && grade === "outside" && left.some(isOutside);
  return { grade, kinds, excerpt: `${isOrder ? "The order of kinds differs.\n" : ""}${excerptOf(left, right)}` };
}

/** A lane with nothing in it but calls of the store is none here. */
function withoutEmptyLanes(lines: readonly string[]): readonly string[] {
  return lines.filter((line, at) => !line.startsWith("[") || kindOf(lines[at + 1] ?? "") !== undefined);
}

/** The lines of a kind, below their steps and lanes. */
function linesOf(lines: readonly string[], kind: LineKind): string {
  let [place, found] = ["", ""];
  let step = "";
  for (const line of lines) {
    if (line.startsWith("# ")) step = line;
    if (line.startsWith("[")) place = line;
    if (kindOf(line) === kind) found += `${step}${place}${line}\n`;
  }
  return found;
}

function excerptOf(left: readonly string[], right: readonly string[]): string {
  const at = left.findIndex((line, index) => line !== right[index]);
  const first = at === -1 ? left.length : at;
  const heading = left.slice(0, first).findLast((line) => line.startsWith("# "));
  const shared = left.slice(Math.max(first - CONTEXT, 0), first).map((line) => `    ${line}`);
  const [was, is] = [left, right].map((lines) => lines.slice(first, first + 1 + CONTEXT));
  const marked = (sign: string, lines: readonly string[] = []) =>
    lines.map((line, index) => `${index === 0 ? sign : " "}   ${line}`);
  return [heading, ...shared, "  recorded:", ...marked("-", was), "  played:", ...marked("+", is)].join("\n");
}
