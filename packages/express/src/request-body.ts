/**
 * The digest of a request's body: how a payment is bound to the body it was sent with.
 *
 * The digest is taken before the handler runs, and leaves the body for the handler to read. It covers the bytes as the
 * client sent them; if a body parser has read them already, it covers what the parser left on the request. Only the first
 * {@link MAX_BODY_BYTES} are hashed. A longer body is recognized by those bytes and its declared length.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { toCanonicalText } from "@farebox/core/adapter";
import type { Request } from "express";

/** How much of a body is hashed, and therefore read ahead: 1 MiB. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

type BodyDigest = string | undefined;

/** A second call returns the same digest, even if the body was read or parsed in between. */
const digests = new WeakMap<Request, BodyDigest | Promise<BodyDigest>>();

/**
 * Returns the digest of a request's body. Never throws or rejects. The same body has the same digest as long as the same
 * middleware ran before; a parsed body has a different digest than its bytes.
 *
 * While this waits for the body, up to {@link MAX_BODY_BYTES} are read ahead. Other readers still get every byte.
 *
 * @returns Base64url SHA-256; `""` for a request without a body; `undefined` if the client disconnected before the body was
 *   complete, or has its response already.
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
  const buffered = bufferedChunks(req);
  if (buffered === undefined) return digestParsed(req, length);
  const hash = new BodyHash("wire");
  for (const chunk of buffered) hash.add(chunk);
  if (req.complete || hash.isFull) return hash.digest(length);
  return observeBody(req, hash).then((isSeen) => (isSeen ? hash.digest(length) : undefined));
}

/** Whether the client has disconnected or has its response. Node discards the unread rest of a body then. */
function isOver(req: Request): boolean {
  // A request that was read to its end is destroyed, too.
  return (req.destroyed && !req.readableEnded) || req.res?.writableEnded === true;
}

/** Hashes what earlier middleware has made of the body. */
function digestParsed(req: Request, length: string | undefined): string {
  const { source, bytes } = readParsed(req);
  const hash = new BodyHash(source);
  hash.add(bytes);
  return hash.digest(length);
}

interface ParsedBody {
  readonly source: BodySource;
  readonly bytes: Uint8Array;
}

const UNREAD: ParsedBody = { source: "unread", bytes: new Uint8Array() };

function readParsed(req: Request): ParsedBody {
  try {
    const { rawBody, body } = req as Request & { readonly rawBody?: unknown };
    if (rawBody instanceof Uint8Array) return { source: "raw", bytes: rawBody };
    if (body instanceof Uint8Array) return { source: "bytes", bytes: body };
    if (typeof body === "string") return { source: "text", bytes: Buffer.from(body) };
    if (body === undefined) return UNREAD;
    return { source: "json", bytes: Buffer.from(toCanonicalText(body, MAX_BODY_BYTES)) };
  } catch {
    // A getter threw, or the value has no text.
    return UNREAD;
  }
}

/**
 * Returns the part of a body that has arrived and waits to be read, without reading it.
 *
 * @returns `undefined` if the bytes are not in the request's buffer: they were read or decoded, or the request was built by
 *   an adapter (for serverless functions, say) that keeps the body elsewhere.
 */
function bufferedChunks(req: Request): readonly Uint8Array[] | undefined {
  if (req.readableDidRead || req.readableEncoding !== null) return undefined;
  const { readableBuffer = [] } = req as Request & { readonly readableBuffer?: Iterable<unknown> };
  const chunks = [...readableBuffer].filter((chunk) => chunk instanceof Uint8Array);
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const isWhole = size === req.readableLength && (!req.complete || hasDeclaredLength(req, size));
  return isWhole ? chunks : undefined;
}

function hasDeclaredLength({ headers }: Request, size: number): boolean {
  const declared = headers["content-length"];
  return declared === undefined || Number(declared) === size;
}

/**
 * Adds the rest of a body to the hash as it arrives. The body is not read here: it passes on to its reader.
 *
 * @returns `true` when the body is complete or longer than what is hashed; `false` when the client disconnected, or the
 *   response ended first.
 */
function observeBody(req: Request, hash: BodyHash): Promise<boolean> {
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
      if (chunk === null) end(hasDeclaredLength(req, hash.size));
      else if (hash.isFull) end(true);
    });
    req.once("close", leave);
    // If the response ends before the body, only the response emits "close".
    res?.once("close", leave);
    // Node has paused the connection if more than one high-water mark had arrived before.
    req.socket.resume();
  });
}

/**
 * Calls `look` with each chunk as it arrives, and has the connection read on, until it is released.
 *
 * Node's parser passes each chunk to `req.push` and pauses the connection when that returns false. Listening for `data` or
 * calling `read` would start the stream: only one reader can, `fetch` refuses a request whose `readableDidRead` is true, and Node
 * no longer discards an unread body after the response. Replacing `push` does none of that.
 */
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
    // Other middleware may have replaced `push` since, and still calls ours.
    if (req.push !== watched) return;
    if (hadOwn) req.push = push;
    else Reflect.deleteProperty(req, "push");
  };
}

/** Where the hashed bytes come from. The same bytes from another source have another digest. */
type BodySource =
  /** The connection. */
  | "wire"
  /** `req.rawBody`, the bytes that a parser has kept. */
  | "raw"
  /** `req.body`: bytes, text, or any other value. */
  | "bytes"
  | "text"
  | "json"
  /** The body was read, and nothing of it was kept. */
  | "unread";

/** The hash of one body, computed chunk by chunk. */
class BodyHash {
  readonly #hash: Hash;
  #size = 0;

  constructor(source: BodySource) {
    this.#hash = createHash("sha256").update(`${source}:`);
  }

  /** How many bytes were added, hashed or not. */
  get size(): number {
    return this.#size;
  }

  /** Whether more than {@link MAX_BODY_BYTES} were added. Further bytes are only counted. */
  get isFull(): boolean {
    return this.#size > MAX_BODY_BYTES;
  }

  add(bytes: Uint8Array): void {
    if (!this.isFull) this.#hash.update(bytes.subarray(0, MAX_BODY_BYTES - this.#size));
    this.#size += bytes.length;
  }

  /**
   * Returns the base64url SHA-256. Call it once.
   *
   * @param length - The declared length of the body, which tells bodies apart that are too long to be hashed.
   */
  digest(length: string | undefined): string {
    // A fully hashed body is never this long, so the two kinds of digest cannot collide.
    if (this.isFull) this.#hash.update(`... ${length ?? "chunked"}`);
    return this.#hash.digest("base64url");
  }
}
