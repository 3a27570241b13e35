/**
 * The paths that somebody may read a path as: file servers and proxies decode, resolve dots, and take a host for one.
 *
 * @module
 */
import { fold } from "./path-form.js";

/** Two proxies in a row decode twice. More does not occur in practice. */
const MAX_DECODINGS = 2;

const SUSPICIOUS = /[\\%;]|\/\/|\/\.|[^\x21-\x7e]|^[^/]/;

/** Whether a path has only one reading, apart from case and a trailing slash. */
export function isPlain(path: string): boolean {
  return !SUSPICIOUS.test(path);
}

/** The other paths that a handler or proxy may read a path as. */
export function otherReadings(path: string): readonly string[] {
  if (isPlain(path)) return [];
  const readings = new Set<string>();
  const hasLetters = /[^\x21-\x7e]|%[89a-f]/i.test(path);
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    // NUL ends a string in C.
    const read = decoded.replaceAll("\\", "/").split("\0", 1).join();
    // What follows two slashes or more is a host to a URL parser, and so is what stands before the first slash to a proxy.
    const rests = [read, read.replace(/^\/{2,}[^/]*/, ""), read.slice(Math.max(read.indexOf("/"), 0))];
    for (const rest of new Set(rests.flatMap((one) => [one, one.replace(/;[^/]*/g, "")]))) {
      readings.add(resolveDots(rest));
      if (!hasLetters) continue;
      const letters = decodeLetters(rest);
      // A key has them as clients send them, in one case.
      for (const one of [rest, letters.toLowerCase(), letters.toUpperCase()])
        readings.add(resolveDots(encodeLetters(one)));
      readings.add(resolveDots(letters));
    }
    const next = decodeOnce(decoded);
    if (next === decoded) break;
    decoded = next;
  }
  readings.delete(path);
  return [...readings];
}

/** Decodes ASCII only. */
function decodeOnce(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Decodes what is not ASCII, which a key may name as it is. */
export function decodeLetters(path: string): string {
  return path.replace(/(?:%[89a-f][0-9a-f])+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString());
}

/** Encodes it, as clients send it. */
export function encodeLetters(path: string): string {
  return path.replace(/[^\x21-\x7e]+/g, (some) => encodeURIComponent(some.replace(/\p{Surrogate}/gu, "\ufffd")));
}

function resolveDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "." && segment !== "") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** Files that are asked for without the end of their names. */
const PAGE = /\.HTML?$/;

/**
 * The names of a file. A file server finds `/docs/index.html` by `/docs`, and `/report.html` by `/report`, or by its own path. So a
 * path leads to a key's file if a name that is `asked` is one that is `kept`.
 */
export function fileNames(path: string): Readonly<Record<"asked" | "kept", readonly string[]>> {
  const file = fold(path).replace(/(.)\/$/, "$1");
  const folder = file.replace(/\/INDEX(?:\.[^/]*)?$/, "") || "/";
  const bare = file.replace(/\.[^/.]*$/, "");
  const page = PAGE.test(file) ? [`${bare}.*`] : [];
  return { asked: [file, folder, ...page], kept: [file, folder, bare, `${file}.*`] };
}
