/**
 * Spellings: one path, written in other ways.
 *
 * Express matches a path as it was sent. Whatever serves files or forwards requests does not: it decodes, resolves dots and
 * folds backslashes, each in its own way. So a path that could become another one there is not let through on trust.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2}
 * @module
 */
import { collapseSlashes } from "./path-form.js";

const SUSPICIOUS = /[\\%]|\/\/|\/\.|[^\x21-\x7e]|^[^/]/;

/** Whether a path is written in the only way there is, give or take the case of its letters and a slash at its end. */
export function isPlain(path: string): boolean {
  return !SUSPICIOUS.test(path);
}

/** A proxy behind a proxy decodes twice; who decodes three times is not met. */
const MAX_DECODINGS = 2;

/** What others may read a path as, the path itself left out. */
export function otherSpellings(path: string): readonly string[] {
  const spellings = new Set<string>();
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    // NUL ends a name for whatever is written in C.
    const slashed = decoded.replaceAll("\\", "/").split("\0", 1).join();
    spellings.add(collapseSlashes(slashed)).add(resolveDots(slashed));
    decoded = decodeOnce(decoded);
  }
  spellings.delete(path);
  return [...spellings];
}

const UNSAFE = /\\|%5c|%2f|%[01][0-9a-f]|[^\x20-\x7e\x80-\xff]|\/\/|\/\.{1,2}(?:\/|$)/i;

/** Whether a path, as sent or once decoded, leads elsewhere than it says: by dots, backslashes or separators that are hidden. */
export function isUnsafe(path: string): boolean {
  let decoded = path;
  for (let round = 0; round <= MAX_DECODINGS; round++) {
    if (UNSAFE.test(decoded)) return true;
    decoded = decodeOnce(decoded);
  }
  return false;
}

/** Decodes ASCII; what is no ASCII changes neither segments nor the names of routes. */
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
