/**
 * What tells the body of a request from another body, before the handler runs and without taking the body from it.
 *
 * Bodies are told apart by their bytes, as they come in. Where middleware has read them already, by what it has left on
 * the request. Up to {@link MAX_BODY_BYTES} are looked at; what is longer goes by its beginning and its declared length.
 *
 * @module
 */
import type { Request } from "express";
import { type BodySource, createBodyHash, MAX_BODY_BYTES } from "./body-hash.js";
import { observeBody, peekBody } from "./body-stream.js";
import { toCanonicalText } from "./canonical-text.js";

type BodyDigest = string | undefined;

/** A body is looked at once: who asks later hears the same, whatever has been read or parsed since. */
const digests = new WeakMap<Request, BodyDigest | Promise<BodyDigest>>();

/**
 * Yields what the body of a request is recognized by. Total: it neither throws nor rejects. The same request yields the
 * same digest again where the same middleware has run before; a body that was parsed has another one than the body as it
 * came.
 *
 * While it waits for the body, up to {@link MAX_BODY_BYTES} are read ahead. Nobody is kept from reading.
 *
 * @returns Base64url SHA-256, `""` where there is no body; `undefined` when the client left before all of it was here,
 *   or was answered before.
 */
export function digestBody(req: Request): BodyDigest | Promise<BodyDigest> {
  if (!hasBody(req)) return "";
  if (digests.has(req)) return digests.get(req);
  const digest = takeDigest(req);
  digests.set(req, digest);
  return digest;
}

/** Whether a request has a body, by its headers. */
export function hasBody({ headers }: Request): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

function takeDigest(req: Request): BodyDigest | Promise<BodyDigest> {
  if (isOver(req)) return undefined;
  const length = req.headers["content-length"];
  const arrived = peekBody(req);
  if (arrived === undefined) return digestLeft(req, length);
  const hash = createBodyHash("wire");
  for (const chunk of arrived) hash.add(chunk);
  if (req.complete || hash.isFull()) return hash.digest(length);
  return observeBody(req, hash).then((isSeen) => (isSeen ? hash.digest(length) : undefined));
}

/** Whether the client has left, or has its answer: Node throws away what has not been read of the body by then. */
function isOver(req: Request): boolean {
  // Destroyed is also what was read to its end.
  return (req.destroyed && !req.readableEnded) || req.res?.writableEnded === true;
}

/** Goes by what earlier middleware has made of the body. */
function digestLeft(req: Request, length: string | undefined): string {
  const { source, bytes } = readLeft(req);
  const hash = createBodyHash(source);
  hash.add(bytes);
  return hash.digest(length);
}

interface Left {
  readonly source: BodySource;
  readonly bytes: Uint8Array;
}

const UNREAD: Left = { source: "unread", bytes: new Uint8Array() };

function readLeft(req: Request): Left {
  try {
    const { rawBody, body } = req as Request & { readonly rawBody?: unknown };
    if (rawBody instanceof Uint8Array) return { source: "raw", bytes: rawBody };
    if (body instanceof Uint8Array) return { source: "bytes", bytes: body };
    if (typeof body === "string") return { source: "text", bytes: Buffer.from(body) };
    if (body === undefined) return UNREAD;
    return { source: "json", bytes: Buffer.from(toCanonicalText(body, MAX_BODY_BYTES)) };
  } catch {
    // A getter that throws, or a value that cannot be written.
    return UNREAD;
  }
}
