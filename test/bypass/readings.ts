/**
 * Which keys a path could be read as, by anybody: far more than any reader makes of it, so that what is left is free for certain.
 *
 * @module
 */
import type { Key } from "./app-plan.js";
import type { ResolvedApp } from "./resolved-app.js";

/** A request as it was sent. */
export interface Asked {
  readonly requestLine: string;
}

/** Two readers after one that decodes, and one more. */
const MOST_DECODINGS = 4;

/** Letters that nobody reads as others. */
const PLAIN_WORD = /^[\w.-]+$/;

/** Whether a path has the words of a key in any order, however it is encoded and cut. */
export function mayRead(app: ResolvedApp, key: Key, { requestLine }: Asked): boolean {
  const { plan } = app;
  const [, target = ""] = requestLine.split(" ");
  const isSentElsewhere = [...plan.rewriters, ...plan.between].includes("sends /go elsewhere");
  if (isSentElsewhere && target.includes("/go")) return true;
  const found = segmentsOf(target);
  return wordsOf(key, app).every((word) => found.has(word));
}

/** The words of a key below its table: it may stand for the path there alone, and for the same below another mount of its router. */
function wordsOf({ chain }: Key, { siteChain, groups }: ResolvedApp): readonly string[] {
  const mounts = new Set(groups.some(({ also }) => also !== undefined) ? groups.map(({ mount }) => mount) : []);
  const below = chain.slice(siteChain.length).filter((path) => !mounts.has(path));
  const pieces = below.flatMap((path) => path.pieces);
  return pieces.flatMap(({ five }, at) => {
    const word = five.slice(1).toLowerCase();
    // What is optional or stands for a part of a segment says nothing.
    const isSegment = five.startsWith("/") && (pieces[at + 1]?.five.startsWith("/") ?? true);
    return isSegment && PLAIN_WORD.test(word) ? [withoutExtension(word)] : [];
  });
}

function segmentsOf(target: string): ReadonlySet<string> {
  const found = new Set<string>();
  // A query ends a path, except where an authority does.
  let read = (/^[^/]/.test(target) ? target : target.replace(/\?.*/s, "")).toLowerCase();
  for (let round = 0; round <= MOST_DECODINGS; round++) {
    for (const segment of read.split(/[/\\;?#\0]/)) found.add(withoutExtension(segment.trim()));
    read = decodeOnce(read);
  }
  return found;
}

function decodeOnce(path: string): string {
  return path
    .replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase();
}

/** A file server may add it, or leave it out. */
function withoutExtension(segment: string): string {
  return segment.replace(/\.[^.]*$/, "");
}
