/**
 * Holds a handler's answer until its payment has settled, then lets it go or puts another in its place.
 *
 * The handler writes as it always does. What it writes is kept until it ends its answer, flushes it, writes more than is
 * held back, or writes the first of a stream of events; then the gate decides, once. From there on everything goes straight through, at the client's pace.
 * Our methods stay on the response, because other middleware may have put its own on top of them.
 *
 * @see `docs/reference/lifecycle.md`, "Holding the response"
 * @module
 */
import type { ServerResponse } from "node:http";
import type { GateResponse, HandlerResponse, HeldAdmission, Release } from "@farebox/core";
import {
  appendExposeHeaders,
  HeadRehearsal,
  insistOnPrivate,
  isEventStream,
  lockHead,
  putHead,
  type ResponseHead,
  setHeaders,
  takeHead,
  type WriteHeadArguments,
  withoutOverrides,
} from "./response-head.js";
import { isAbandoned, onOver, prepareAnswer } from "./write-response.js";

/**
 * - `holding`: the handler writes to us.
 * - `deciding`: the gate settles; nothing has gone out.
 * - `released`: the handler writes to the client.
 * - `dropped`: another answer went out, or the client left before any did; what the handler still writes goes nowhere.
 */
type Phase = "holding" | "deciding" | "released" | "dropped";

/**
 * Takes over a response.
 *
 * @param holdBytes - How much of the body is held back at most, in bytes.
 */
export function holdResponse(res: ServerResponse, admission: HeldAdmission, holdBytes: number): void {
  new HeldResponse(res, admission, holdBytes).install();
}

class HeldResponse implements Keeper {
  readonly #res: ServerResponse;
  readonly #admission: HeldAdmission;
  readonly #holdBytes: number;
  /** The head before the handler ran: what remains of it when the answer is replaced. */
  readonly #before: ResponseHead;
  readonly #rehearsal: HeadRehearsal;
  readonly #original: Originals;
  #phase: Phase = "holding";
  #chunks: Buffer[] = [];
  /** What `end` was given. */
  #lastChunk: Buffer | undefined;
  /** The same as text, if that is how it is to go out. */
  #lastText: string | undefined;
  #heldBytes = 0;
  /** Callbacks of chunks there was no more room for. */
  #callbacks: WriteCallback[] = [];
  #isDrainAwaited = false;
  #ended = false;
  #replaced = false;
  /** Something of ours is on its way out: from here on the response says by itself what has become of it. */
  #isAside = false;
  /** What was paid for, and is kept should its delivery break off. */
  #owed: HandlerResponse | undefined;

  constructor(res: ServerResponse, admission: HeldAdmission, holdBytes: number) {
    this.#res = res;
    this.#admission = admission;
    this.#holdBytes = holdBytes;
    this.#before = takeHead(res);
    this.#rehearsal = new HeadRehearsal(res);
    this.#original = takeOriginals(res);
  }

  install(): void {
    takeOver(this.#res, this);
    onOver(this.#res, (isDelivered) => this.#over(isDelivered));
    this.#admission.onExpired((instead) => this.#expire(instead));
  }

  /** True as soon as the handler has done what the flag stands for, though nothing has gone out yet. */
  isSet(name: Flag): boolean {
    const isEarly = name === "headersSent" ? !this.#isAside && this.#rehearsal.isBegun : this.#ended;
    return isEarly || originalFlag(this.#res, name);
  }

  /** As Node does: through whatever `writeHead` is by now, so that middleware behind us has its say before settlement. */
  #beginHead(): void {
    if (!this.#replaced && !this.#rehearsal.isBegun) this.#res.writeHead(this.#res.statusCode);
  }

  writeHead(args: readonly unknown[]): void {
    this.#rehearsal.writeHead(args as WriteHeadArguments);
  }

  flushHeaders(): void {
    if (this.#phase === "released") {
      this.#call("flushHeaders", []);
    } else if (this.#phase === "holding") {
      this.#beginHead();
      this.#decide();
    }
  }

  /** Calls what was there before us. */
  #call(name: keyof Originals, args: readonly unknown[]): unknown {
    return Reflect.apply(this.#original[name], this.#res, args);
  }

  write(args: ChunkArguments): boolean {
    if (this.#phase === "released" && !this.#ended) return this.#call("write", args) as boolean;
    const { chunk, callback } = readWrite(args);
    if (chunk === undefined) throw new InvalidChunkError();
    if (this.#ended) return refuseWrite(callback);
    this.#beginHead();
    return this.#keep(chunk, callback);
  }

  end(args: ChunkArguments): void {
    const { chunk, callback, text } = readWrite(args);
    if (this.#ended) {
      refuseWrite(callback);
      return;
    }
    if (this.#phase !== "released") this.#beginHead();
    this.#ended = true;
    if (callback !== undefined) this.#whenOver(callback);
    if (this.#phase === "released") {
      this.#call("end", [chunk]);
      return;
    }
    this.#lastChunk = chunk;
    this.#lastText = text;
    this.#heldBytes += chunk?.byteLength ?? 0;
    this.#decide();
  }

  /** Node forgets the callback of `end` when the client leaves first; here it is called either way, once. */
  #whenOver(callback: WriteCallback): void {
    const res = this.#res;
    const call = () => {
      res.off("finish", call).off("close", call);
      callback();
    };
    if (res.closed) later(callback);
    else res.once("finish", call).once("close", call);
  }

  /** Keeps a chunk. Its callback is called at once while there is room, else when the chunk has been handed on. */
  #keep(chunk: Buffer, callback: WriteCallback | undefined): boolean {
    if (this.#phase !== "dropped") {
      this.#chunks.push(chunk);
      this.#heldBytes += chunk.byteLength;
      if (this.#heldBytes > this.#holdBytes || isEventStream(this.#res)) this.#decide();
    }
    if (this.#phase !== "deciding") later(callback);
    else if (callback !== undefined) this.#callbacks.push(callback);
    return !this.#mustWait();
  }

  /**
   * Whoever is told to wait waits for "drain", which comes from a stream of middleware's if there is one: so only after
   * as much as makes any stream say it.
   */
  #mustWait(): boolean {
    const enough = Math.max(this.#holdBytes, this.#res.writableHighWaterMark);
    this.#isDrainAwaited = this.#phase === "deciding" && this.#heldBytes >= enough;
    return this.#isDrainAwaited;
  }

  /** Tells the gate, once, what the handler answers. Whatever is done to the head after this does not count. */
  #decide(): void {
    if (this.#phase !== "holding") return;
    if (isAbandoned(this.#res)) {
      this.#leave();
      return;
    }
    this.#phase = "deciding";
    void this.#complete(takeHead(this.#res));
  }

  async #complete(head: ResponseHead): Promise<void> {
    try {
      const answer: HandlerResponse = { status: head.status, headers: head.headers, body: this.#wholeBody() };
      const release = await this.#admission.complete(answer);
      this.#carryOut(release, head, answer);
    } catch {
      this.#res.destroy();
    }
  }

  #wholeBody(): Buffer | undefined {
    if (!this.#ended || this.#heldBytes > this.#holdBytes) return undefined;
    if (this.#chunks.length === 0 && this.#lastChunk !== undefined) return this.#lastChunk;
    return Buffer.concat(this.#lastChunk === undefined ? this.#chunks : [...this.#chunks, this.#lastChunk]);
  }

  #carryOut(release: Release, head: ResponseHead, answer: HandlerResponse): void {
    const isPaid = release.kind === "release" && release.paid;
    if (isAbandoned(this.#res)) {
      this.#drop();
      if (isPaid) void this.#admission.unreleased(answer);
      return;
    }
    if (isPaid) this.#owed = answer;
    if (release.kind === "release") this.#release(release, head);
    else this.#replace(release.response);
  }

  #release(release: Extract<Release, { kind: "release" }>, head: ResponseHead): void {
    this.#phase = "released";
    this.#stepAside();
    putHead(this.#res, withoutOverrides(head));
    setHeaders(this.#res, release.headers);
    appendExposeHeaders(this.#res);
    if (release.paid) insistOnPrivate(this.#res);
    this.#replay();
  }

  /** What the handler wrote goes out as it was written. */
  #replay(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    const hasRoom = chunks.map((chunk) => this.#call("write", [chunk]) as boolean).at(-1);
    if (this.#ended) this.#call("end", [this.#lastText ?? this.#lastChunk]);
    else if (chunks.length === 0) this.#call("flushHeaders", []);
    this.#goOn(hasRoom ?? true);
  }

  #replace(answer: GateResponse): void {
    this.#replaced = true;
    this.#drop();
    this.#stepAside();
    putHead(this.#res, this.#before);
    // Replaces those that the handler has announced.
    this.#res.addTrailers({});
    const body = prepareAnswer(this.#res, answer);
    lockHead(this.#res);
    this.#call("end", [body]);
  }

  /** The payment has run out under a handler that may never answer. */
  #expire(instead: Promise<GateResponse>): void {
    if (this.#phase !== "holding") return;
    this.#phase = "deciding";
    instead
      .then((answer) => (isAbandoned(this.#res) ? this.#drop() : this.#replace(answer)))
      .catch(() => this.#res.destroy());
  }

  /** Middleware before us, and Node, now meet the response as it really is: nothing sent yet. */
  #stepAside(): void {
    this.#isAside = true;
    this.#res.writeHead = this.#original.writeHead;
  }

  #drop(): void {
    this.#phase = "dropped";
    this.#chunks = [];
    this.#goOn(true);
  }

  /** A handler that waits goes on: now if there is room, else when the socket says so. */
  #goOn(hasRoom: boolean): void {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) later(callback);
    if (hasRoom && this.#isDrainAwaited) process.nextTick(() => this.#res.emit("drain"));
    this.#isDrainAwaited = false;
  }

  /** The connection is done with the answer. */
  #over(isDelivered: boolean): void {
    if (!isDelivered) this.#admission.leave();
    this.#leave();
    if (!isDelivered && this.#owed !== undefined) void this.#admission.undelivered(this.#owed);
  }

  /** Nobody is left to answer, and nothing has been decided. */
  #leave(): void {
    if (this.#phase !== "holding") return;
    this.#drop();
    void this.#admission.cancel();
  }
}

/** Node's own methods, or those of middleware that came before. */
export type Originals = Pick<ServerResponse, "writeHead" | "flushHeaders" | "write" | "end">;

/** Takes them as they are now. They are to be called on the response. */
export function takeOriginals({ writeHead, flushHeaders, write, end }: ServerResponse): Originals {
  return { writeHead, flushHeaders, write, end };
}

/** Flags of a response that can be true before anything has gone out. */
export type Flag = "headersSent" | "writableEnded";

/** Who has a response in hand: gets what is called on it, with the arguments in whatever form they came. */
export interface Keeper {
  writeHead(args: readonly unknown[]): void;
  flushHeaders(): void;
  write(args: readonly unknown[]): boolean;
  end(args: readonly unknown[]): void;
  /** Says whether a flag is true early. */
  isSet(name: Flag): boolean;
}

const KEEPER: unique symbol = Symbol("farebox.keeper");

type Kept = ServerResponse & { [KEEPER]: Keeper };

/** The same functions for all responses: functions of its own for each would have to be made, and looked at by V8, for each. */
const METHODS = {
  writeHead(this: Kept, ...args: readonly unknown[]) {
    this[KEEPER].writeHead(args);
    return this;
  },
  flushHeaders(this: Kept) {
    this[KEEPER].flushHeaders();
  },
  write(this: Kept, ...args: readonly unknown[]) {
    return this[KEEPER].write(args);
  },
  end(this: Kept, ...args: readonly unknown[]) {
    this[KEEPER].end(args);
    return this;
  },
  /** A hint about an answer that may never go out; it is as good as its loss. */
  writeEarlyHints(_hints: unknown, callback?: () => void) {
    later(callback);
  },
};

/** The same two getters for all responses. */
const HEADERS_SENT: PropertyDescriptor & ThisType<Kept> = {
  configurable: true,
  get() {
    return this[KEEPER].isSet("headersSent");
  },
};
const WRITABLE_ENDED: PropertyDescriptor & ThisType<Kept> = {
  configurable: true,
  get() {
    return this[KEEPER].isSet("writableEnded");
  },
};

/** Hands a response over. */
export function takeOver(res: ServerResponse, keeper: Keeper): void {
  const { writeHead, flushHeaders, write, end, writeEarlyHints } = METHODS;
  (res as Kept)[KEEPER] = keeper;
  res.writeHead = writeHead as ServerResponse["writeHead"];
  res.flushHeaders = flushHeaders as ServerResponse["flushHeaders"];
  res.write = write as ServerResponse["write"];
  res.end = end as ServerResponse["end"];
  res.writeEarlyHints = writeEarlyHints;
  // One by one, which takes half as long as `Object.defineProperties`.
  Object.defineProperty(res, "headersSent", HEADERS_SENT);
  Object.defineProperty(res, "writableEnded", WRITABLE_ENDED);
}

/** What a flag is without ours. */
export function originalFlag(res: ServerResponse, name: Flag): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(res), name, res));
}

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
