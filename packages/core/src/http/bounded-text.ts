/**
 * Bodies of answers from strangers: read only as far as an answer can be long.
 *
 * @module
 */

/**
 * Reads the body of an answer as UTF-8.
 *
 * @throws RangeError when it is longer than `maxBytes`, whose rest is then not read; and `fetch`'s own error when it
 *   breaks off
 */
export async function readBoundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RangeError(`longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
