/**
 * Bodies that were compressed on their way, by a server or by something between that did not ask whether they may be.
 *
 * @see RFC 9110 §8.4
 * @module
 */
import { brotliDecompressSync, unzipSync } from "node:zlib";

/** Yields the body as it was written; an error where it cannot be had: a `RangeError` where it is longer than `maxBytes`. */
export function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | Error {
  const coding = encoding?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity" || body.length === 0) return body;
  const decode = DECODERS.get(coding);
  if (decode === undefined) return new TypeError("an encoding that was not asked for");
  try {
    return decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    return error instanceof Error ? error : new TypeError("not of its encoding");
  }
}

const DECODERS: ReadonlyMap<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer> = new Map([
  ["gzip", unzipSync],
  ["x-gzip", unzipSync],
  ["deflate", unzipSync],
  ["br", brotliDecompressSync],
]);
