/**
 * Shows the lines that changed.
 *
 * @module
 */

/** How many unchanged lines stand around a changed one. */
const CONTEXT = 2;

/** A unified diff of two texts that have the same number of lines. `""` if they are equal. */
export function diffLines(path: string, before: string, after: string): string {
  if (before === after) return "";
  const [old, now] = [before.split("\n"), after.split("\n")];
  const changed = old.flatMap((line, at) => (line === now[at] ? [] : [at]));
  const hunks = changed.reduce<[number, number][]>((all, at) => {
    const last = all.at(-1);
    const [from, to] = [Math.max(0, at - CONTEXT), Math.min(old.length, at + CONTEXT + 1)];
    if (last !== undefined && from <= last[1]) last[1] = to;
    else all.push([from, to]);
    return all;
  }, []);
  const lines = hunks.flatMap(([from, to]) => {
    const place = `${from + 1},${to - from}`;
    return [`@@ -${place} +${place} @@`, ...hunkOf(old, now, from, to)];
  });
  return [`--- ${path}`, `+++ ${path}`, ...lines, ""].join("\n");
}

/** Changed lines that follow each other stand together, the old ones first. */
function hunkOf(old: readonly string[], now: readonly string[], from: number, to: number): readonly string[] {
  const lines: string[] = [];
  let added: string[] = [];
  for (let at = from; at < to; at++) {
    const line = withoutReturn(old[at]);
    if (old[at] === now[at]) {
      lines.push(...added, ` ${line}`);
      added = [];
    } else {
      lines.push(`-${line}`);
      added.push(`+${withoutReturn(now[at])}`);
    }
  }
  return [...lines, ...added];
}

function withoutReturn(line = ""): string {
  return line.replace(/\r$/, "");
}
