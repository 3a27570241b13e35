/**
 * The paths that a handler may read a path as: file servers and proxies decode, and resolve dots.
 *
 * @module
 */
import { fold } from "./path-form.js";

/** Two proxies in a row decode twice. More does not occur in practice. */
const MAX_DECODINGS = 2;

const SUSPICIOUS = /[\\%]|\/\/|\/\.|[^\x21-\x7e]|^[^/]/;

/** Whether a path has only one reading, apart from case and a trailing slash. */
export function isPlain(path: string): boolean {
  return !SUSPICIOUS.test(path);
}

/** The other paths that a handler or proxy may read a path as. */
export function otherReadings(path: string): readonly string[] {
  if (isPlain(path)) return [];
  const readings = new Set<string>();
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    // NUL ends a string in C.
    const read = decoded.replaceAll("\\", "/").split("\0", 1).join();
    for (const spelled of [read, decodeCharacters(read), encodeCharacters(read)]) {
      // What stands before the first slash may become a part of the host.
      readings.add(resolveDots(spelled)).add(resolveDots(spelled.slice(Math.max(spelled.indexOf("/"), 0))));
    }
    decoded = decodeOnce(decoded);
  }
  readings.delete(path);
  return [...readings];
}

/** Decodes ASCII only. */
function decodeOnce(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Decodes the other characters, which a key may name as they are. */
function decodeCharacters(path: string): string {
  return path.replace(/(?:%[89a-f][0-9a-f])+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString());
}

/** Encodes them, as a key may name them. */
function encodeCharacters(path: string): string {
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

/** The path of a folder whose index file a path names: `/docs` for `/docs/index.html`; any other path as it is. */
export function folderOf(path: string): string {
  return path.replace(/\/index(?:\.[^/]*)?$/i, "") || "/";
}

/** The path of the index file of a folder. */
export function indexOf(folder: string): string {
  return `${folder.replace(/\/$/, "")}/index.html`;
}

/** Folders above a file that are looked at. */
const MAX_FOLDERS = 16;

/**
 * The names of a file. A file server finds `/docs/index.html` by `/docs`, and `/report.html` by `/report`, or by its own path. The
 * file of a folder may have any name. So a path leads to a key's file if a name that is `asked` is one that is `kept`, or kept
 * for what lies `below`.
 */
export function fileNames(path: string): Readonly<Record<"asked" | "kept" | "below", readonly string[]>> {
  const file = fold(path).replace(/(.)\/$/, "$1");
  const bare = file.replace(/\.[^/.]*$/, "");
  const folders = file.split("/").slice(0, MAX_FOLDERS);
  const above = folders.slice(1, -1).map((_, at) => `${folders.slice(0, at + 2).join("/")}/`);
  return {
    asked: [file, folderOf(file), `${bare}.*`, ...above],
    kept: [file, folderOf(file), bare, `${file}.*`],
    below: [`${file}/`],
  };
}
