/**
 * The `Host` header: a name or an address, with or without a port.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9110#section-7.2}
 * @module
 */

const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Whether a text is a host and nothing else, so that it may be put into a URL. */
export function isHost(text: unknown): text is string {
  return typeof text === "string" && HOST.test(text);
}
