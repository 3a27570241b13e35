/**
 * What tells the body of a request from another body, before the handler runs and without taking the body from it.
 *
 * Bodies are told apart by their bytes, as they come in. Where middleware has read them already, by what it has left on
 * the request. Up to {@link MAX_BODY_BYTES} are looked at; what is longer goes by its beginning and its declared length.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { toCanonicalText } from "@farebox/core";
import type { Request } from "express";

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

/**
 * Yields what has come of a body so far and waits to be read, without taking it.
 *
 * @returns `undefined` if it cannot be told, because somebody has read of it or has it decoded, or because whoever made this
 *   request (an adapter for functions as a service, say) has put the body elsewhere.
 */
export function peekBody(req: Request): readonly Uint8Array[] | undefined {
  if (req.readableDidRead || req.readableEncoding !== null) return undefined;
  const { readableBuffer = [] } = req as Request & { readonly readableBuffer?: Iterable<unknown> };
  const chunks = [...readableBuffer].filter((chunk) => chunk instanceof Uint8Array);
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const isWhole = size === req.readableLength && (!req.complete || isAsDeclared(req, size));
  return isWhole ? chunks : undefined;
}

function isAsDeclared({ headers }: Request, size: number): boolean {
  const declared = headers["content-length"];
  return declared === undefined || Number(declared) === size;
}

/**
 * Adds to the hash what is still to come, while it goes on to where it was going.
 *
 * @returns When all is here, or more than is looked at: true. When the client has left, or the response is over: false.
 */
export function observeBody(req: Request, hash: BodyHash): Promise<boolean> {
  const { res } = req;
  return new Promise((resolve) => {
    const end = (isSeen: boolean) => {
      release();
      req.off("close", leave);
      res?.off("close", leave);
      resolve(isSeen);
    };
    const leave = () => end(false);
    const release = watchPush(req, (chunk) => {
      if (chunk instanceof Uint8Array) hash.add(chunk);
      if (chunk === null) end(isAsDeclared(req, hash.size()));
      else if (hash.isFull()) end(true);
    });
    req.once("close", leave);
    // Of a response that was over before the body, the request does not hear.
    res?.once("close", leave);
    // The connection stands still if more had come before us than the request reads ahead by itself.
    req.socket.resume();
  });
}

/** Has each piece looked at as it comes, and asks for more, until it is released. */
function watchPush(req: Request, look: (chunk: unknown) => void): () => void {
  const hadOwn = Object.hasOwn(req, "push");
  const { push } = req;
  let isReleased = false;
  const watched: typeof push = (chunk, encoding) => {
    if (!isReleased) look(chunk);
    return push.call(req, chunk, encoding) || !isReleased;
  };
  req.push = watched;
  return () => {
    isReleased = true;
    // Whoever has put a `push` of theirs over ours goes on to call it.
    if (req.push !== watched) return;
    if (hadOwn) req.push = push;
    else Reflect.deleteProperty(req, "push");
  };
}

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
