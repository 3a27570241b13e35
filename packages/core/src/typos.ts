/**
 * Finds what a seller probably meant: the known name that is nearest to a mistyped one.
 *
 * @module
 */

/** Longer texts are not compared, because the cost is the product of their lengths. */
const MAX_COMPARED = 200;

/** Levenshtein's distance; infinite if it is certainly more than `most`. */
export function countTypos(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most || a.length > MAX_COMPARED) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name that a name was probably meant to be; `undefined`: none is near. Case, `-` and `_` count for nothing. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const written = normalise(name);
  const distances = known.flatMap((each) => {
    const typos = distanceOf(written, normalise(each));
    return typos * 3 <= each.length ? [{ each, typos }] : [];
  });
  return distances.sort((a, b) => a.typos - b.typos)[0]?.each;
}

/** `facilitatorUrl` and `url` contain or continue a known name, and count as one typo. */
function distanceOf(written: string, known: string): number {
  const [shorter, longer] = written.length < known.length ? [written, known] : [known, written];
  const isPart = shorter.length >= 5 && longer.startsWith(shorter) && shorter !== longer;
  return isPart ? 1 : countTypos(written, known, 4);
}

function normalise(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}
