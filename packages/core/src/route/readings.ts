/**
 * The paths that somebody may read a path as: file servers and proxies decode, resolve dots, and take a host for one.
 *
 * @module
 */
import { fold } from "./path-form.js";

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
  const once = decodeOnce(path);
  // Two proxies in a row decode twice. More does not occur in practice.
  for (const decoded of new Set([path, once, decodeOnce(once)])) {
    const read = decoded.replaceAll("\\", "/");
    // NUL ends a string in C, and is a character like others elsewhere.
    const rests = [read, read.split("\0", 1).join()]
      // What follows two slashes or more is a host to a URL parser, and so is what stands before the first slash to a proxy.
      .flatMap((one) => [one, one.replace(/^\/{2,}[^/]*/, ""), one.slice(Math.max(one.indexOf("/"), 0))])
      .flatMap((one) => [one, one.replace(/;[^/]*/g, "")]);
    for (const rest of new Set(rests)) {
      const letters = decodeLetters(rest);
      // A key has letters as clients send them, in one case.
      const sent = hasLetters ? [rest, letters.toLowerCase(), letters.toUpperCase()].map(encodeLetters) : [];
      for (const one of [rest, letters, ...sent]) addResolved(readings, one);
    }
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

/** To a file system two slashes are one. To a URL parser there is an empty segment between them, which `..` takes away. */
function addResolved(readings: Set<string>, path: string): void {
  const url = resolveDots(path, true);
  for (const one of [url, resolveDots(path, false), resolveDots(url, false)]) readings.add(one);
}

function resolveDots(path: string, keepsEmpty: boolean): string {
  const segments: string[] = [];
  for (const segment of path.replace(/^\//, "").split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "." && (keepsEmpty || segment !== "")) segments.push(segment);
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
