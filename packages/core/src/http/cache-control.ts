/**
 * `Cache-Control` of a paid answer: no shared cache may hand it to somebody who did not pay.
 *
 * @see RFC 9111 §5.2.2
 * @module
 */

/** Directives that let a shared cache keep an answer, or that only speak to shared caches. */
const FOR_SHARED_CACHES = /^(public|s-maxage|proxy-revalidate|must-understand)\b/i;

/** For every answer that is about payment rather than the resource. */
export const NO_STORE = "no-store";

/** Makes a handler's `Cache-Control` private; a stricter one (`no-store`) stays as it is. */
export function privateCacheControl(current: string | undefined): string {
  if (current === undefined || current.trim() === "") return "private";
  const kept = current
    .split(",")
    .map((directive) => directive.trim())
    .filter((directive) => directive !== "" && !FOR_SHARED_CACHES.test(directive));
  if (kept.some((directive) => /^(no-store|private$)/i.test(directive))) return kept.join(", ");
  return ["private", ...kept.filter((directive) => !/^private\b/i.test(directive))].join(", ");
}
