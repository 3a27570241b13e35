/**
 * What a handler hands to `write` and `end`, while the answer is held back.
 *
 * @module
 */

/** Called when a chunk has been taken. */
export type WriteCallback = (error?: Error | null) => void;

/** Arguments of `write` and `end`, in every form that Node takes them. */
export type ChunkArguments = readonly [chunk?: unknown, encoding?: unknown, callback?: unknown];

/** One write, with its chunk copied: handlers reuse their buffers. */
export interface HeldWrite {
  /** Absent where there is nothing to write: for `null`, and whatever else Node's `end` takes for nothing. */
  readonly chunk: Buffer | undefined;
  readonly callback: WriteCallback | undefined;
  /** The chunk as it was given, where it was a short text: Node writes it in one piece with the head, which bytes are not. */
  readonly text: string | undefined;
}

/** In bytes. Copying more of a text into the head's piece would cost more than it saves. */
const SHORT = 4_096;

/** Node's own error for a chunk of a wrong type. */
export class InvalidChunkError extends TypeError {
  readonly code = "ERR_INVALID_ARG_TYPE";
  constructor() {
    super('The "chunk" argument must be of type string or an instance of Buffer or Uint8Array.');
  }
}

/** Node's own error for `write` and `end` after `end`. */
class WriteAfterEndError extends Error {
  readonly code = "ERR_STREAM_WRITE_AFTER_END";
  constructor() {
    super("write after end");
  }
}

/** Sorts out the arguments of `write` and `end`, and copies the chunk. Throws what Node throws for a bad one. */
export function readWrite([chunk, encoding, callback]: ChunkArguments): HeldWrite {
  const last = [callback, encoding, chunk].find((argument) => typeof argument === "function");
  const copy = typeof chunk === "function" ? undefined : copyChunk(chunk, encoding);
  const isShort = typeof chunk === "string" && isUtf8(encoding) && (copy?.byteLength ?? 0) <= SHORT;
  return { chunk: copy, callback: last as WriteCallback | undefined, text: isShort ? chunk : undefined };
}

function isUtf8(encoding: unknown): boolean {
  return typeof encoding !== "string" || encoding === "utf8";
}

function copyChunk(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  if (chunk instanceof Uint8Array) return Buffer.from(chunk);
  if (chunk) throw new InvalidChunkError();
  return undefined;
}

/** Answers a write that comes too late. Node also emits an error, which ends a process that does not listen for it. */
export function refuseWrite(callback: WriteCallback | undefined): false {
  later(callback, new WriteAfterEndError());
  return false;
}

/** Calls back, but never before the call that brought the callback has returned. */
export function later(callback: WriteCallback | undefined, error?: Error): void {
  if (callback !== undefined) process.nextTick(callback, error);
}
