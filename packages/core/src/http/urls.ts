/**
 * Base URLs and hosts that a seller or a client names.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-7.2}
 *
 * @module
 */

/**
 * Reads a base URL and writes it without slashes at its end; `undefined` when it is none. Total.
 *
 * A query or a fragment would swallow what is appended, and a name and a password are not sent.
 */
export function parseBaseUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, username, password, search, hash, href } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  return username + password + search + hash === "" ? withoutEndingSlashes(href) : undefined;
}

/** A loop, because `/\/+$/` looks at a run of slashes once for each slash in it. */
function withoutEndingSlashes(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === "/") end--;
  return text.slice(0, end);
}

const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Whether a text is a host and nothing else, so that it may be put into a URL. */
export function isHost(text: unknown): text is string {
  return typeof text === "string" && HOST.test(text);
}
