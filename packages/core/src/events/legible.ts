/**
 * Text of somebody else's, made fit for a log.
 *
 * @module
 */

/** One line of at most 200 printable ASCII characters, without URLs and without anything as long as a key or a signature. */
export function legible(text: string): string {
  return text
    .slice(0, 1_000)
    .replaceAll(/[a-z][a-z0-9+.-]{0,19}:\/\/\S*/gi, "(a URL)")
    .replaceAll(/[0-9a-f]{64,}/gi, "(hex)")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, 200);
}
