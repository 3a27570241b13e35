/**
 * Holds a handler's answer until its payment has settled, then lets it go or puts another in its place.
 *
 * The handler writes as it always does. What it writes is kept until it ends its answer, flushes it, or writes more than
 * is held back; then the gate decides, once. From there on everything goes straight through, at the client's pace.
 *
 * Our methods stay on the response after that, because other middleware may have put its own on top of them.
 *
 * @see `docs/lifecycle.md`, "Holding the answer"
 * @module
 */
import type { ServerResponse } from "node:http";
import { type Admission, type Answer, type HandlerAnswer, privateCacheControl, type Release } from "@farebox/core";
import {
  type ChunkArguments,
  type HeldWrite,
  InvalidChunkError,
  readWrite,
  WriteAfterEndError,
  type WriteCallback,
} from "./held-body.js";
import {
  appendExposeHeaders,
  applyWriteHead,
  checkHead,
  putHead,
  type ResponseHead,
  setHeaders,
  takeHead,
  type WriteHeadArguments,
} from "./response-head.js";
import { prepareAnswer } from "./write-answer.js";

/**
 * - `holding`: the handler writes to us.
 * - `deciding`: the gate settles; nothing has gone out.
 * - `released`: the handler writes to the client.
 * - `replaced`: another answer went out; what the handler still writes is dropped.
 * - `gone`: the client left before anything went out; what the handler still writes is dropped.
 */
type Phase = "holding" | "deciding" | "released" | "replaced" | "gone";

/**
 * Takes over a response.
 *
 * @param holdBytes - How much of the body is held back at most, in bytes.
 */
export function holdResponse(res: ServerResponse, admission: Admission, holdBytes: number): void {
  new HeldResponse(res, admission, holdBytes).install();
}

class HeldResponse {
  readonly #res: ServerResponse;
  readonly #admission: Admission;
  readonly #holdBytes: number;
  /** The head before the handler ran: what remains of it when the answer is replaced. */
  readonly #before: ResponseHead;
  readonly #original: Originals;
  #phase: Phase = "holding";
  #headWritten = false;
  #ended = false;
  #endCallback: WriteCallback | undefined;
  #writes: HeldWrite[] = [];
  #heldBytes = 0;
  /** Set once the answer has been paid for: kept if its delivery breaks off. */
  #paidAnswer: HandlerAnswer | undefined;
  /** What goes out in place of the handler's head, whatever other middleware adds at the last moment. */
  #replacement: ResponseHead | undefined;

  constructor(res: ServerResponse, admission: Admission, holdBytes: number) {
    this.#res = res;
    this.#admission = admission;
    this.#holdBytes = holdBytes;
    this.#before = takeHead(res);
    this.#original = takeOriginals(res);
  }

  install(): void {
    const res = this.#res;
    res.writeHead = ((...args: WriteHeadArguments) => this.#writeHead(args)) as ServerResponse["writeHead"];
    res.write = ((...args: ChunkArguments) => this.#write(args)) as ServerResponse["write"];
    res.end = ((...args: ChunkArguments) => this.#end(args)) as ServerResponse["end"];
    res.flushHeaders = () => this.#flushHeaders();
    overrideFlag(res, "headersSent", () => this.#headWritten);
    overrideFlag(res, "writableEnded", () => this.#ended);
    res.once("close", () => this.#closed());
  }

  #writeHead(args: WriteHeadArguments): ServerResponse {
    if (this.#replacement !== undefined) {
      putHead(this.#res, this.#replacement);
      return this.#original.writeHead(this.#replacement.status);
    }
    if (this.#phase === "released") return this.#original.writeHead(...args);
    applyWriteHead(this.#res, this.#headWritten, args);
    this.#headWritten = true;
    return this.#res;
  }

  #flushHeaders(): void {
    if (this.#phase === "released") this.#original.flushHeaders();
    if (this.#phase !== "holding") return;
    this.#beginHead();
    this.#decide();
  }

  #write(args: ChunkArguments): boolean {
    if (this.#phase === "released") return this.#original.write(...args);
    const write = readWrite(args);
    if (write.chunk === undefined) throw new InvalidChunkError();
    if (this.#ended) return refuse(write.callback, "write");
    this.#beginHead();
    this.#keep(write);
    return this.#phase !== "deciding";
  }

  #end(args: ChunkArguments): ServerResponse {
    if (this.#phase === "released") return this.#original.end(...args);
    const { chunk, callback } = readWrite(args);
    if (this.#ended) {
      refuse(callback, "end");
      return this.#res;
    }
    this.#beginHead();
    this.#ended = true;
    if (this.#isDropping()) later(callback);
    else this.#endCallback = callback;
    if (chunk !== undefined) this.#keep({ chunk, callback: undefined });
    this.#decide();
    return this.#res;
  }

  /** What would fail when the head is really written, which is after settlement, fails now, in the handler. */
  #beginHead(): void {
    if (!this.#headWritten) checkHead(this.#res);
    this.#headWritten = true;
  }

  /** Keeps a write. Its callback is called at once while there is room, else when the chunk has gone out. */
  #keep(write: HeldWrite): void {
    if (this.#isDropping()) {
      later(write.callback);
      return;
    }
    this.#heldBytes += write.chunk?.byteLength ?? 0;
    const hasRoom = this.#phase === "holding" && this.#heldBytes <= this.#holdBytes;
    this.#writes.push(hasRoom ? { chunk: write.chunk, callback: undefined } : write);
    if (hasRoom) later(write.callback);
    else this.#decide();
  }

  #isDropping(): boolean {
    return this.#phase === "replaced" || this.#phase === "gone";
  }

  /** Tells the gate, once, what the handler answers. Whatever is done to the head after this does not count. */
  #decide(): void {
    if (this.#phase !== "holding") return;
    this.#phase = "deciding";
    const head = takeHead(this.#res);
    const whole = this.#ended && this.#heldBytes <= this.#holdBytes;
    const body = whole ? Buffer.concat(this.#writes.flatMap(({ chunk }) => chunk ?? [])) : undefined;
    const answer: HandlerAnswer = { status: head.status, headers: head.headers, body };
    this.#admission
      .complete(answer)
      .then((release) => this.#carryOut(release, head, answer))
      .catch(() => this.#res.destroy());
  }

  #carryOut(release: Release, head: ResponseHead, answer: HandlerAnswer): void {
    if (release.kind === "release" && release.paid) this.#paidAnswer = answer;
    if (this.#res.destroyed) {
      this.#phase = "gone";
      this.#dropWrites();
      this.#keepUndelivered();
    } else if (release.kind === "release") {
      this.#release(release, head);
    } else {
      this.#replace(release.answer);
    }
  }

  #release(release: Extract<Release, { kind: "release" }>, head: ResponseHead): void {
    this.#phase = "released";
    putHead(this.#res, head);
    setHeaders(this.#res, release.headers);
    appendExposeHeaders(this.#res);
    if (release.paid) keepPrivate(this.#res);
    this.#replay();
  }

  /** What the handler wrote goes out as it was written. */
  #replay(): void {
    const writes = this.#writes.splice(0);
    const last = this.#ended ? writes.pop() : undefined;
    let hasRoom = true;
    for (const { chunk, callback } of writes) hasRoom = this.#original.write(chunk, undefined, callback);
    if (this.#ended) {
      this.#original.end(last?.chunk, undefined, this.#endCallback);
      later(last?.callback);
    } else if (writes.length === 0) {
      this.#original.flushHeaders();
    } else if (hasRoom) {
      // The handler was told to wait; where the socket has room, nobody else will tell it to go on.
      this.#res.emit("drain");
    }
  }

  #replace(answer: Answer): void {
    this.#phase = "replaced";
    this.#dropWrites();
    putHead(this.#res, this.#before);
    const body = prepareAnswer(this.#res, answer);
    this.#replacement = takeHead(this.#res);
    this.#original.end(body);
  }

  #dropWrites(): void {
    for (const { callback } of this.#writes.splice(0)) later(callback);
    later(this.#endCallback);
  }

  #closed(): void {
    if (this.#phase === "released" && !this.#res.writableFinished) this.#keepUndelivered();
    if (this.#phase !== "holding") return;
    this.#phase = "gone";
    this.#dropWrites();
    this.#admission.cancel();
  }

  #keepUndelivered(): void {
    const answer = this.#paidAnswer;
    this.#paidAnswer = undefined;
    if (answer !== undefined) this.#admission.undelivered(answer);
  }
}

interface Originals {
  readonly writeHead: (...args: WriteHeadArguments) => ServerResponse;
  readonly flushHeaders: () => void;
  readonly write: (...args: ChunkArguments) => boolean;
  readonly end: (...args: ChunkArguments) => ServerResponse;
}

function takeOriginals(res: ServerResponse): Originals {
  return {
    writeHead: res.writeHead.bind(res) as Originals["writeHead"],
    flushHeaders: res.flushHeaders.bind(res),
    write: res.write.bind(res) as Originals["write"],
    end: res.end.bind(res) as Originals["end"],
  };
}

/** Makes a flag true as soon as the handler has done what it stands for, though nothing has gone out yet. */
function overrideFlag(res: ServerResponse, name: "headersSent" | "writableEnded", isSet: () => boolean): void {
  const get = () => isSet() || Boolean(Reflect.get(Object.getPrototypeOf(res), name, res));
  Object.defineProperty(res, name, { configurable: true, get });
}

function keepPrivate(res: ServerResponse): void {
  const current = res.getHeader("cache-control");
  res.setHeader("Cache-Control", privateCacheControl(current === undefined ? undefined : String(current)));
}

function refuse(callback: WriteCallback | undefined, method: "write" | "end"): false {
  later(callback, new WriteAfterEndError(method));
  return false;
}

/** Callbacks never run before the call that took them returns. */
function later(callback: WriteCallback | undefined, error?: Error): void {
  if (callback !== undefined) process.nextTick(callback, error);
}
