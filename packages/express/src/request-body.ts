/**
 * The digest of a request's body: how a payment is bound to the body it was sent with.
 *
 * The digest is taken before the handler runs, and leaves the body for the handler to read. It covers every byte as the
 * client sent it; if a body parser has read them already, it covers what the parser left on the request. If that is too
 * little to tell two bodies apart, there is no digest.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { type BodyDigest, type BodyProblem, type BodyReading, writeCanonicalText } from "@farebox/core/adapter";
import type { Request } from "express";
import { BODY_MS, MAX_BODY_BYTES, Room } from "./body-room.js";
import { hasOldRouter } from "./router-walk.js";

/** A second call returns the same digest, even if the body was read or parsed in between. */
const digests = new WeakMap<Request, BodyDigest | Promise<BodyDigest>>();

/** The sender of a body: the client's address, if it is certain. */
interface Sender {
  readonly client?: string | undefined;
}

/**
 * Returns the digest of a request's body. Rejects only as `isGood` does, and never throws. The same body has the same digest as long as the same
 * middleware ran before; a parsed body has a different digest than its bytes.
 *
 * While this waits for the body, up to {@link MAX_BODY_BYTES} are read ahead. Other readers still get every byte.
 *
 * @returns Base64url SHA-256; `""` for a request without a body; `undefined` if the client disconnected before the body was
 *   complete, or has its response already; or why there is no digest.
 * @param reading - Without it, a body may take any time, and no payment is verified.
 */
export function digestBody(req: Request, reading?: BodyReading, sender: Sender = {}): BodyDigest | Promise<BodyDigest> {
  if (!hasBody(req)) return "";
  if (digests.has(req)) return digests.get(req);
  const digest = takeDigest(req, reading, sender);
  digests.set(req, digest);
  return digest;
}

/**
 * The parsed body. Express 4's parsers leave an empty object where they parse nothing, as if the client had sent one. It
 * does not count here.
 */
export function parsedBody(req: Request): unknown {
  const { body, _body } = req as Request & { readonly _body?: unknown };
  const isLeft = isEmptyObject(body) && _body !== true && hasBody(req) && hasOldRouter(req.app);
  return isLeft ? undefined : body;
}

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length === 0;
}

/** Whether a request has a body, by its headers. */
export function hasBody({ headers }: Request): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

function takeDigest(
  req: Request,
  reading: BodyReading | undefined,
  sender: Sender,
  known?: Room,
): BodyDigest | Promise<BodyDigest> {
  if (isOver(req)) return undefined;
  const buffered = bufferedChunks(req);
  if (buffered === undefined) return digestParsed(req);
  if (Number(req.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return { problem: "too_large" };
  const hash = new BodyHash("wire");
  for (const chunk of buffered) hash.add(chunk);
  if (req.complete) return hash.digest();
  const room = known ?? new Room(req, sender.client);
  if (reading !== undefined && room.needsProof(lengthOf(req))) return takeIfGood(req, reading, { room, sender });
  return observeBody(req, { hash, reading, room });
}

/** The declared length of a body; without one, it may be as long as may be. */
function lengthOf({ headers }: Request): number {
  return Number(headers["content-length"] ?? MAX_BODY_BYTES);
}

/** Memory is short: the payment is verified first. Meanwhile Node keeps what it keeps by itself. */
async function takeIfGood(
  req: Request,
  reading: BodyReading,
  { room, sender }: { readonly room: Room; readonly sender: Sender },
): Promise<BodyDigest> {
  let isGood: boolean | undefined = false;
  try {
    isGood = await reading.isGood();
  } finally {
    // Another gate may ask about another payment.
    if (isGood === false) digests.delete(req);
  }
  if (isGood === false) return { problem: "unverified" };
  if (isGood === undefined) return { problem: "busy" };
  room.verified();
  return takeDigest(req, reading, sender, room);
}

/** Whether the client has disconnected or has its response. Node discards the unread rest of a body then. */
function isOver(req: Request): boolean {
  // A request that was read to its end is destroyed, too.
  return (req.destroyed && !req.readableEnded) || req.res?.writableEnded === true;
}

/** Hashes what earlier middleware has made of the body. */
function digestParsed(req: Request): BodyDigest {
  try {
    const { rawBody } = req as Request & { readonly rawBody?: unknown };
    const body = parsedBody(req);
    if (rawBody instanceof Uint8Array) return digestOf("raw", rawBody);
    if (body instanceof Uint8Array) return digestOf("bytes", body);
    if (typeof body === "string") return digestOf("text", Buffer.from(body));
    // The fields of a form with files do not have the files. An empty object may have lost anything.
    const type = req.headers["content-type"] ?? "";
    const isPart = MULTIPART.test(type) || (isEmptyObject(body) && !HAS_FIELDS.test(type));
    if (body === undefined || isPart) return { problem: "not_kept" };
    const hash = new BodyHash("json");
    writeCanonicalText(body, hash);
    return hash.digest();
  } catch {
    // A getter threw, or the value has no text.
    return { problem: "no_text" };
  }
}

const MULTIPART = /^\s*multipart\//i;

/** Media types of bodies that may be an object without fields. */
const HAS_FIELDS = /^[^;]*[/+](?:json|x-www-form-urlencoded)\s*(?:;|$)/i;

function digestOf(source: BodySource, bytes: Uint8Array): string {
  const hash = new BodyHash(source);
  hash.add(bytes);
  return hash.digest();
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
  // An adapter's request is complete from the start, and its bytes are in `body`.
  const isElsewhere = req.complete && size === 0 && parsedBody(req) !== undefined;
  return isWhole && !isElsewhere ? chunks : undefined;
}

function hasDeclaredLength({ headers }: Request, size: number): boolean {
  const declared = headers["content-length"];
  return declared === undefined || Number(declared) === size;
}

/**
 * Adds the rest of a body to the hash as it arrives. The body is not read here: it passes on to its reader.
 *
 * @returns The digest of the complete body; `undefined` if the client disconnected, or the response ended first.
 */
function observeBody(
  req: Request,
  { hash, reading, room }: { readonly hash: BodyHash; readonly reading: BodyReading | undefined; readonly room: Room },
): Promise<BodyDigest> {
  const { res } = req;
  return new Promise((resolve) => {
    const end = (digest: BodyDigest) => {
      release();
      stop?.();
      req.off("close", leave);
      res?.off("close", leave);
      resolve(digest);
    };
    const leave = () => end(undefined);
    const fail = (problem: BodyProblem) => end({ problem });
    const release = watchPush(req, (chunk) => {
      if (chunk instanceof Uint8Array) hash.add(chunk);
      if (chunk === null) end(hasDeclaredLength(req, hash.size) ? hash.digest() : undefined);
      else if (hash.size > MAX_BODY_BYTES) fail("too_large");
      else if (!room.grow(hash.size)) fail("busy");
    });
    const stop = reading?.timer(() => fail("slow"), BODY_MS);
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
  | "json";

/** The hash of one body, computed chunk by chunk. */
class BodyHash {
  readonly #hash: Hash;
  #size = 0;

  constructor(source: BodySource) {
    this.#hash = createHash("sha256").update(`${source}:`);
  }

  /** How many bytes were added. */
  get size(): number {
    return this.#size;
  }

  add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#size += bytes.length;
  }

  /** Adds text. */
  update(text: string): void {
    this.#hash.update(text);
  }

  /** Returns the base64url SHA-256. Call it once. */
  digest(): string {
    return this.#hash.digest("base64url");
  }
}
