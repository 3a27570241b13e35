/**
 * The paths by which a file server may serve the file of a key: `/report` is also `/report/index.html` and `/report.html`.
 *
 * A file server at the top of an app receives every request, so not all of them are meant for the keys that it serves.
 *
 * @module
 */
import { collapseSlashes, fold } from "./path-form.js";
import type { RouteEntry } from "./route-table.js";

/** Finds the keys whose files a path may lead to. */
export interface FilePaths<T> {
  find(path: string): readonly RouteEntry<T>[];
}

/** Indexes keys by their files. The time of a lookup does not depend on the number of keys. */
export function createFilePaths<T>(entries: readonly RouteEntry<T>[]): FilePaths<T> {
  const below = new Map<string, Set<RouteEntry<T>>>();
  const exact = new Map<string, Set<RouteEntry<T>>>();
  for (const entry of entries) {
    for (const { segments } of entry.forms) {
      const open = segments.findIndex(({ kind }) => kind !== "text");
      const texts = open === -1 ? segments : segments.slice(0, open);
      const file = texts.map(({ shape }) => `/${shape}`).join("");
      add(below, file, entry);
      add(exact, file.replace(/\/INDEX\.[^/]*$/, "") || "/", entry);
      add(exact, file.replace(/\.[^/.]*$/, ""), entry);
    }
  }
  return {
    find(path) {
      const found = new Set<RouteEntry<T>>();
      for (const reading of [path, ...otherSpellings(path)].map((one) => fold(resolveDots(one)))) {
        for (const entry of exact.get(reading) ?? []) found.add(entry);
        for (const file of filesAbove(reading)) for (const entry of below.get(file) ?? []) found.add(entry);
      }
      return [...found];
    },
  };
}

function add<T>(index: Map<string, Set<T>>, name: string, entry: T): void {
  index.set(name, (index.get(name) ?? new Set<T>()).add(entry));
}

/** `/a/b.html` may be the file `/a/b`, and lies below `/a` and the top. */
function filesAbove(path: string): readonly string[] {
  const files = [path, ""];
  for (let at = path.length - 1; at > 0; at--) if (path[at] === "/" || path[at] === ".") files.push(path.slice(0, at));
  return files;
}

/** Two proxies in a row decode twice. More does not occur in practice. */
const MAX_DECODINGS = 2;

/** The other paths that a handler or proxy may read a path as. */
export function otherSpellings(path: string): readonly string[] {
  const spellings = new Set<string>();
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    // NUL ends a string in C.
    const slashed = decoded.replaceAll("\\", "/").split("\0", 1).join();
    spellings.add(collapseSlashes(slashed)).add(resolveDots(slashed));
    decoded = decodeOnce(decoded);
  }
  spellings.delete(path);
  return [...spellings];
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
