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
    readings.add(resolveDots(decoded.replaceAll("\\", "/").split("\0", 1).join()));
    decoded = decodeOnce(decoded);
  }
  readings.delete(path);
  return [...readings];
}

/** Decodes ASCII only. Other characters affect neither segments nor the names of routes. */
function decodeOnce(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
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
  return path.replace(/\/index\.[^/]*$/i, "") || "/";
}

/** The path of the index file of a folder. */
export function indexOf(folder: string): string {
  return `${folder.replace(/\/$/, "")}/index.html`;
}

/**
 * The names of a file. A file server finds `/docs/index.html` by `/docs`, and `/report.html` by `/report`, or by its own path.
 * So a path leads to a key's file if a name of the one is the `asked` or the `kept` name of the other.
 */
export function fileNames(path: string): { readonly asked: readonly string[]; readonly kept: readonly string[] } {
  const file = fold(path).replace(/(.)\/$/, "$1");
  const bare = file.replace(/\.[^/.]*$/, "");
  const folder = folderOf(file);
  return { asked: [file, folder, `${bare}.*`], kept: [file, folder, bare, `${file}.*`] };
}
