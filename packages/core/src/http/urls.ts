/**
 * Checks base URLs and hosts.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-7.2}
 *
 * @module
 */

/**
 * Reads a base URL and removes its trailing slashes: `https://x.org/api/` becomes `https://x.org/api`. `undefined` if it is invalid.
 * Never throws.
 *
 * A query or a fragment would swallow an appended path, and a name or password would not be sent.
 */
export function parseBaseUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, username, password, search, hash, href } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  return username + password + search + hash === "" ? withoutEndingSlashes(href) : undefined;
}

/** A loop, because `/\/+$/` takes quadratic time on many slashes. */
function withoutEndingSlashes(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === "/") end--;
  return text.slice(0, end);
}

const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Whether a text is a host with an optional port, e.g. `api.example.com:8080`, and nothing else. */
export function isHost(text: unknown): text is string {
  return typeof text === "string" && HOST.test(text);
}
