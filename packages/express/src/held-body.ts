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
}

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
  return {
    chunk: typeof chunk === "function" ? undefined : copyChunk(chunk, encoding),
    callback: last as WriteCallback | undefined,
  };
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
