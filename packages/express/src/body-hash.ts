/**
 * The hash by which one body is told from another, made bit by bit.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** How much of a body is looked at, and so how much of one is read ahead: 1 MiB. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

/** Where the bytes come from. The same bytes from elsewhere are another body. */
export type BodySource =
  /** As they came in. */
  | "wire"
  /** What a parser has kept of them, `req.rawBody`. */
  | "raw"
  /** `req.body` of bytes, of text, or of anything else. */
  | "bytes"
  | "text"
  | "json"
  /** Nobody can tell. */
  | "unread";

export interface BodyHash {
  /** Takes what comes next. Does nothing once it is full. */
  add(bytes: Uint8Array): void;
  /** How many bytes were added, counted or not. */
  size(): number;
  /** Whether more was added than is looked at. */
  isFull(): boolean;
  /**
   * Yields the base64url SHA-256. Ask once.
   *
   * @param length - What the request says of the body's length. Tells bodies apart that are too long to be looked at.
   */
  digest(length: string | undefined): string;
}

/** Creates the hash of one body. */
export function createBodyHash(source: BodySource): BodyHash {
  const hash = createHash("sha256").update(`${source}:`);
  let size = 0;
  const isFull = () => size > MAX_BODY_BYTES;
  return {
    add(bytes) {
      if (!isFull()) hash.update(bytes.subarray(0, MAX_BODY_BYTES - size));
      size += bytes.length;
    },
    size: () => size,
    isFull,
    digest(length) {
      // No body that is looked at to its end has that many bytes, so none has the hash of one that is not.
      if (isFull()) hash.update(`... ${length ?? "chunked"}`);
      return hash.digest("base64url");
    },
  };
}
