/**
 * The body of an answer while it is held back.
 *
 * @module
 */

/** Called when a chunk has been taken. */
export type WriteCallback = (error?: Error | null) => void;

/** Arguments of `write` and `end`, in every form that Node takes them. */
export type ChunkArguments = readonly [chunk?: unknown, encoding?: unknown, callback?: unknown];

/** One write, with its chunk copied: handlers reuse their buffers. */
export interface HeldWrite {
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
export class WriteAfterEndError extends Error {
  readonly code: "ERR_STREAM_WRITE_AFTER_END" | "ERR_STREAM_ALREADY_FINISHED";
  constructor(method: "write" | "end") {
    super(method === "write" ? "write after end" : "Cannot call end after a stream was finished");
    this.code = method === "write" ? "ERR_STREAM_WRITE_AFTER_END" : "ERR_STREAM_ALREADY_FINISHED";
  }
}

/** Sorts out the arguments of `write` and `end`, and copies the chunk. Throws what Node throws for a bad chunk. */
export function readWrite([chunk, encoding, callback]: ChunkArguments): HeldWrite {
  const last = [callback, encoding, chunk].find((argument) => typeof argument === "function");
  return {
    chunk: chunk === undefined || chunk === null || typeof chunk === "function" ? undefined : copy(chunk, encoding),
    callback: last as WriteCallback | undefined,
  };
}

function copy(chunk: unknown, encoding: unknown): Buffer {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8");
  }
  if (chunk instanceof Uint8Array) return Buffer.from(chunk);
  throw new InvalidChunkError();
}
