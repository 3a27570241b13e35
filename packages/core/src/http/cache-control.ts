/**
 * `Cache-Control` of a paid response: no shared cache may serve it to a client that has not paid.
 *
 * @see RFC 9111 §5.2.2
 * @module
 */

/** Directives that let a shared cache keep a response, or that concern shared caches only. */
const FOR_SHARED_CACHES: readonly string[] = ["public", "s-maxage", "proxy-revalidate", "must-understand"];

/** For every response that is about the payment and not the resource. */
export const NO_STORE = "no-store";

/**
 * Makes a handler's `Cache-Control` private: `public, max-age=60` becomes `private, max-age=60`. A stricter one (`no-store`) stays.
 * `private="field"` concerns one field only and is replaced by `private`.
 */
export function privateCacheControl(current: string | undefined): string {
  if (current === undefined || current === "") return "private";
  const kept = splitDirectives(current).filter((directive) => !FOR_SHARED_CACHES.includes(nameOf(directive)));
  if (kept.some((directive) => directive.toLowerCase() === NO_STORE)) return kept.join(", ");
  return ["private", ...kept.filter((directive) => nameOf(directive) !== "private")].join(", ");
}

/** Splits at commas, but not at those inside quotes: `private="a, b"` is one directive. */
function splitDirectives(text: string): string[] {
  const directives: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') quoted = !quoted;
    if (character === "\\" && quoted) at++;
    if (character !== "," || quoted) continue;
    directives.push(text.slice(start, at));
    start = at + 1;
  }
  return [...directives, text.slice(start)]
    .map((directive) => directive.trim())
    .filter((directive) => directive !== "");
}

function nameOf(directive: string): string {
  return directive.split("=", 1).join("").trim().toLowerCase();
}
