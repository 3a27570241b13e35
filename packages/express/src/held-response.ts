/**
 * Holds a handler's response until its payment has settled, then releases it or replaces it.
 *
 * The handler writes as usual. Its response is held until the handler ends it, flushes its first bytes, writes more than is held,
 * or writes the first event of a stream whose amount is known. Then the gate decides once. After the release everything passes straight to the
 * client. A metered response is held only if it ends in one piece: otherwise its first bytes release it (metered-response.ts).
 * Our methods stay on the response, because later middleware may have wrapped them.
 *
 * @see `docs/reference/lifecycle.md`, "Holding the response"
 * @module
 */
import { ServerResponse } from "node:http";
import type { PaymentsEngine } from "@farebox/core";
import {
  type GateResponse,
  type HandlerResponse,
  type HeldAdmission,
  privateCacheControl,
  type Release,
} from "@farebox/core/adapter";
import type { Application } from "express";
import {
  type ClosedListener,
  hasLeft,
  isDisconnected,
  type KeptOpen,
  keepOpen,
  letGo,
  type OpenResponse,
  onClosed,
  takesWholeOnly,
} from "./connection.js";
import { type ChargedChunk, MeteredResponse } from "./metered-response.js";
import {
  isChecked,
  isEventStream,
  isWrittenByNode,
  keepPrivate,
  lockHead,
  lockPayments,
  type Originals,
  putHead,
  type ResponseHead,
  rehearseHead,
  restoreHead,
  setHeaders,
  splitTrailers,
  type TakenHead,
  type Trailers,
  takeHead,
  type WriteHeadArguments,
  withoutChallenge,
  withoutPayments,
  writeResponse,
} from "./response-head.js";
import { isPricedIn } from "./router-view.js";
import { closeBehind } from "./shutdown.js";

/** How much of a body is held at most, in bytes; and whether connections are closed behind their responses. */
type Holding = Pick<PaymentsEngine, "holdBytes" | "draining">;

/**
 * - `holding`: the handler's response is held.
 * - `deciding`: the gate settles; nothing was sent.
 * - `released`: the handler writes to the client.
 * - `dropped`: another response was sent, or the client disconnected. The rest of the handler's response is discarded.
 */
type Phase = "holding" | "deciding" | "released" | "dropped";

let heldBytesInAll = 0;

/** How many bytes of responses this process holds. */
export function heldBytes(): number {
  return heldBytesInAll;
}

/** Holds the response that it is made for. */
export class HeldResponse implements ClosedListener {
  readonly #res: ServerResponse;
  readonly #admission: HeldAdmission;
  readonly #engine: Holding;
  readonly #app: Application;
  /** The head before the handler ran. A replacement starts from it. */
  readonly #headBefore: ResponseHead;
  readonly #original: Originals;
  /** No middleware can change the head as it is sent. */
  readonly #isWrittenByNode: boolean;
  readonly #open: OpenResponse;
  #phase: Phase = "holding";
  #chunks: Buffer[] = [];
  /** The same chunks, and what was charged when each was written, if the response is metered. */
  #charged: ChargedChunk[] | undefined;
  /** A metered response that is held to its end. */
  readonly #isWhole: boolean;
  /** A metered response that goes out before it is paid for. */
  #metered: MeteredResponse | undefined;
  /** The chunk given to `end`. */
  #lastChunk: Buffer | undefined;
  /** Whether the handler has written a head. */
  #isHeadWritten = false;
  /** The status that Node would have sent: that of the first write. */
  #writtenStatus: number | undefined;
  /** The status of the last chunk, and which chunk was the first one with it. */
  #chunkStatus: number | undefined;
  #chunksBefore = 0;
  #heldBytes = 0;
  /** What of it counts in {@link heldBytes}. */
  #countedBytes = 0;
  #isLetGo = false;
  /** The handler wants what it writes to go out at once. */
  #isFlushed = false;
  #events: EventSearch | undefined;
  /** The response goes out without what is sold. */
  #isUncharged = false;
  /** The handler's, without what they say about the amount. */
  #trailers: Trailers = [];
  /** Headers of payments in the handler's trailers. They count as if they stood in the head. */
  #trailingPayments: ResponseHead["headers"] = [];
  /** Callbacks of writes that exceeded `holdBytes`. */
  #callbacks: WriteCallback[] | undefined;
  #isDrainAwaited = false;
  /** The handler has called `end`. */
  #isEnded = false;
  /** The handler of a metered response has ended it, or failed after its end. */
  #isHandlerDone = false;
  /** Nothing more happens to a metered response. */
  #isClosed = false;
  /** Something is being sent: `headersSent` says what Node says again. */
  #isSending = false;
  #isReplaced = false;
  /** The response has ended: its connection stays open while it is held. */
  #keptOpen: KeptOpen | undefined;
  /** A response that was paid for. The gate keeps it if its delivery breaks off. */
  #paidResponse: HandlerResponse | undefined;

  /** @param app - In which the handler runs. It knows whether a redirect leads to a priced route. */
  constructor(res: ServerResponse, admission: HeldAdmission, engine: Holding, app: Application) {
    const { writeHead, flushHeaders, write, end, addTrailers, destroy } = res;
    const head = takeHead(res);
    this.#res = res;
    this.#admission = admission;
    this.#engine = engine;
    this.#app = app;
    this.#headBefore = head.hasPayments ? withoutPayments(head) : head;
    this.#original = { writeHead, flushHeaders, write, end, addTrailers, destroy };
    this.#isWrittenByNode = isWrittenByNode(res);
    this.#isWhole = admission.metering !== undefined && takesWholeOnly(res);
    if (this.#isWrittenByNode && !(HELD in res) && addTrailers === NODE.addTrailers && destroy === NODE.destroy) {
      // No middleware has made any of them read-only: to assign them costs V8 a tenth of what it costs to define them.
      const own: Own = res;
      own[HELD] = this;
      own.writeHead = METHODS.writeHead;
      own.flushHeaders = METHODS.flushHeaders;
      own.write = METHODS.write;
      own.end = METHODS.end;
      own.addTrailers = METHODS.addTrailers;
      own.destroy = METHODS.destroy;
      own.writeEarlyHints = METHODS.writeEarlyHints;
      Object.defineProperty(res, "headersSent", FLAGS.headersSent);
      Object.defineProperty(res, "writableEnded", FLAGS.writableEnded);
    } else defineMethods(res, this);
    this.#open = onClosed(res, this);
    admission.onExpired((instead) => this.#expire(instead));
    if (!this.#isWhole) return;
    // At the maximum, what was written so far goes out, whether or not the handler ends its response.
    const { signal } = admission.payment;
    signal.addEventListener("abort", () => this.#heldBytes > 0 && !this.#isEnded && void this.#decide(), {
      once: true,
    });
  }

  writeHead(args: WriteHeadArguments): void {
    rehearseHead(this.#res, args, this.#isHeadWritten);
    this.#isHeadWritten = true;
    this.#writtenStatus = this.#res.statusCode;
  }

  addTrailers(trailers: Trailers): void {
    const { payments, others } = splitTrailers(trailers);
    this.#trailingPayments = payments;
    this.#trailers = others;
    if (this.#metered !== undefined) this.#metered.trailers = others;
    if (!this.#isUncharged) this.#original.addTrailers.call(this.#res, others);
  }

  destroy(error: Error | undefined): void {
    const res = this.#res;
    // A pipeline whose source fails at the ceiling destroys the response. It ends in order.
    if (this.#isMeteredEnding && !hasLeft(res)) {
      this.#isHandlerDone = true;
      return;
    }
    if (this.#keptOpen?.isHeld && !error) {
      res.req.socket.destroy();
      return;
    }
    // A client that has left comes first: the handler has not broken off by itself.
    if (hasLeft(res)) this.#cancel();
    this.#admission.handlerEnded();
    this.#original.destroy.call(res, error);
  }

  /** Whether a metered response is over for its handler, and the rest of it is ours. */
  get #isMeteredEnding(): boolean {
    if (this.#metered !== undefined) return this.#metered.isClosing;
    return this.#phase === "deciding" && this.#admission.metering?.stopped !== undefined;
  }

  /** True once the handler has written a head, so that error handlers do not write a second one. */
  get headersSent(): boolean {
    const isSent = (this.#isHeadWritten && !this.#isSending) || this.#nodeFlag("headersSent");
    if (isSent && this.#phase === "holding") this.#watchLastHandler();
    return isSent;
  }

  /**
   * Sees a handler fail after it has written. The error reaches Express's last handler, which asks for `headersSent` and
   * destroys the socket in the same call. By then Express has taken `req.next` back.
   *
   * A socket that is destroyed at any other time may be the client's doing, as by a CONNECT behind its request.
   */
  #watchLastHandler(): void {
    const res = this.#res;
    if (Reflect.get(res.req, "next") !== undefined || hasLeft(res)) return;
    queueMicrotask(() => {
      if (isDisconnected(res)) this.#admission.handlerEnded();
    });
  }

  get writableEnded(): boolean {
    return this.#isEnded || this.#nodeFlag("writableEnded");
  }

  #nodeFlag(name: "headersSent" | "writableEnded"): boolean {
    return Boolean(Reflect.get(Object.getPrototypeOf(this.#res), name, this.#res));
  }

  flushHeaders(): void {
    if (this.#phase === "released") {
      this.#original.flushHeaders.call(this.#res);
    } else if (this.#phase === "holding") {
      this.#writeHeadOnce();
      this.#isFlushed = true;
      if (this.#isStreaming()) void this.#decide();
    }
  }

  /**
   * Whether the handler streams, and has something to stream. A head alone is nothing that a client would pay for. What is paid for by use
   * is not streamed before its amount is known.
   */
  #isStreaming(): boolean {
    if (this.#isWhole) return false;
    if (this.#admission.metering !== undefined) return this.#isFlushed || this.#heldBytes > 0;
    if (this.#admission.isAmountAwaited) return false;
    if (!isEventStream(this.#res)) return this.#isFlushed && this.#heldBytes > 0;
    // Events cannot be told from comments in a compressed stream.
    return this.#res.hasHeader("content-encoding") ? this.#heldBytes > 0 : this.#events?.isFound === true;
  }

  write(args: ChunkArguments): boolean {
    if (this.#phase === "released" && !this.#isEnded && this.#metered === undefined) {
      return Reflect.apply(this.#original.write, this.#res, args) as boolean;
    }
    const { chunk, callback } = readWrite(args);
    if (chunk === undefined) throw new InvalidChunkError();
    if (this.#isEnded) return refuseWrite(callback);
    if (this.#metered !== undefined) return this.#metered.write(chunk, callback);
    this.#writeHeadOnce();
    return this.#keep(chunk, callback);
  }

  end(args: ChunkArguments): void {
    const { chunk, callback } = readWrite(args);
    if (this.#isEnded) {
      refuseWrite(callback);
      return;
    }
    const isReleased = this.#phase === "released";
    if (!isReleased) this.#writeHeadOnce();
    this.#isEnded = true;
    this.#isHandlerDone = true;
    if (callback !== undefined) this.#callWhenClosed(callback);
    if (this.#metered !== undefined) {
      this.#endMetered(chunk);
      return;
    }
    if (isReleased) {
      Reflect.apply(this.#original.end, this.#res, [chunk]);
      return;
    }
    if (this.#phase !== "dropped") this.#keptOpen ??= keepOpen(this.#open);
    this.#lastChunk = chunk;
    if (chunk !== undefined) this.#hold(chunk.byteLength);
    void this.#decide();
    if (this.#admission.metering === undefined || this.#isClosed) this.#admission.handlerEnded();
  }

  /** Node writes the head through `res.writeHead`, so middleware that has wrapped it is called before settlement. */
  #writeHeadOnce(): void {
    if (this.#isReplaced || this.#isHeadWritten) return;
    const res = this.#res;
    if ((res.writeHead as unknown) !== METHODS.writeHead || !isChecked(res)) {
      res.writeHead(res.statusCode);
      return;
    }
    this.#isHeadWritten = true;
    this.#writtenStatus = res.statusCode;
  }

  /** Node drops the callback of `end` if the client disconnects first. Here it is always called once. */
  #callWhenClosed(callback: WriteCallback): void {
    const res = this.#res;
    let isCalled = false;
    const call = () => {
      if (!isCalled) callback();
      isCalled = true;
    };
    if (res.closed || isDisconnected(res)) {
      later(callback);
      return;
    }
    res.once("finish", call);
    onClosed(res, { onClosed: call });
  }

  /** Keeps a chunk. Its callback is called soon, or after the release if there is no room. */
  #keep(chunk: Buffer, callback: WriteCallback | undefined): boolean {
    const { metering } = this.#admission;
    if (metering?.stopped !== undefined) {
      later(callback);
      return true;
    }
    if (this.#phase !== "dropped") {
      if (this.#res.statusCode !== this.#chunkStatus) this.#noteStatus();
      this.#chunks.push(chunk);
      if (metering !== undefined) {
        this.#charged ??= [];
        this.#charged.push({ chunk, charged: metering.charged });
      }
      this.#hold(chunk.byteLength);
      if (this.#phase === "holding") {
        this.#events ??= new EventSearch();
        this.#events.add(chunk);
      }
      const isFull = this.#heldBytes > this.#engine.holdBytes && !this.#isWhole;
      if (isFull || this.#isStreaming()) void this.#decide();
    }
    if (this.#phase !== "deciding") later(callback);
    else if (callback !== undefined) {
      this.#callbacks ??= [];
      this.#callbacks.push(callback);
    }
    // A compressing stream in between emits "drain" only if it was filled to its own mark, so no less is asked for.
    const mark = Math.max(this.#engine.holdBytes, this.#res.writableHighWaterMark);
    this.#isDrainAwaited = this.#phase === "deciding" && this.#heldBytes >= mark;
    return !this.#isDrainAwaited;
  }

  #noteStatus(): void {
    this.#chunksBefore = this.#chunks.length;
    this.#chunkStatus = this.#res.statusCode;
  }

  /**
   * A status that was set after the first write. Node would ignore it, so a success stays what was written. After an error, what was
   * written before is part of the goods, and does not go out.
   */
  #settleStatus(): void {
    const res = this.#res;
    const written = this.#writtenStatus;
    if (written === undefined) return;
    if (res.statusCode < 300) {
      res.statusCode = written;
      return;
    }
    if (res.statusCode !== this.#chunkStatus) this.#noteStatus();
    // In an encoded body the parts cannot be told from each other.
    if (res.hasHeader("content-encoding")) {
      this.#chunksBefore = this.#chunks.length;
      this.#lastChunk = undefined;
      for (const name of ["Content-Encoding", "Content-Type", "Content-Length"]) res.removeHeader(name);
    }
    this.#chunks.splice(0, this.#chunksBefore);
    this.#charged?.splice(0, this.#chunksBefore);
    this.#heldBytes = lengthOf(this.#chunks) + (this.#lastChunk?.byteLength ?? 0);
    if (this.#isEnded && Number(res.getHeader("content-length")) !== this.#heldBytes)
      res.removeHeader("Content-Length");
  }

  /** Hands the response to the gate, once. Later changes of the head are ignored. */
  async #decide(): Promise<void> {
    if (this.#phase !== "holding") return;
    const res = this.#res;
    if (hasLeft(res)) {
      this.#cancel();
      return;
    }
    if (this.#writtenStatus !== res.statusCode) this.#settleStatus();
    this.#phase = "deciding";
    try {
      const isEnded = this.#isEnded;
      let body: Buffer | undefined;
      if (isEnded && this.#heldBytes <= this.#engine.holdBytes) {
        const chunks = this.#lastChunk === undefined ? this.#chunks : [...this.#chunks, this.#lastChunk];
        body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      }
      const taken = takeHead(res);
      const head = taken.status === 402 ? withoutChallenge(taken, body) : taken;
      const { status } = head;
      const trailing = this.#trailingPayments;
      const headers = trailing.length === 0 ? head.headers : [...head.headers, ...trailing];
      // The client would wait for the rest of such a body in vain.
      const isCutShort =
        isEnded && res.req.method !== "HEAD" && this.#heldBytes < Number(res.getHeader("content-length"));
      const response = { status, headers, headersBefore: this.#headBefore.headers, body, isCutShort };
      let given: HandlerResponse = response;
      if (status >= 300 && status < 400) {
        given = { ...response, isPriced: (method, path) => isPricedIn(this.#app, method, path) };
      }
      const { metering } = this.#admission;
      if (metering === undefined || body !== undefined) {
        this.#carryOut(await this.#admission.complete(given), head, response);
        return;
      }
      // It may reach the ceiling before its first byte is out.
      metering.onStop(() => {
        this.#keptOpen ??= keepOpen(this.#open);
      });
      const release = await metering.start(given);
      if (release.kind === "release" && release.paid) {
        const parts = { metering, original: this.#original, trailers: this.#trailers };
        this.#metered = new MeteredResponse(res, this.#open, parts);
      }
      this.#carryOut(release, head, response);
    } catch {
      this.#letGo(false);
      res.destroy();
    }
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#isLetGo) return;
    this.#countedBytes += bytes;
    heldBytesInAll += bytes;
  }

  /**
   * The response goes out, or is dropped. Its connection is free to be destroyed, once it is out.
   *
   * @param isSending - From here on Node and earlier middleware see the response as it is: nothing sent yet.
   */
  #letGo(isSending: boolean): void {
    letGo(this.#keptOpen);
    this.#isLetGo = true;
    heldBytesInAll -= this.#countedBytes;
    this.#countedBytes = 0;
    if (!isSending) return;
    if (this.#engine.draining.isDraining) closeBehind(this.#res);
    this.#isSending = true;
    this.#res.writeHead = this.#original.writeHead;
  }

  #carryOut(release: Release, head: TakenHead, response: HandlerResponse): void {
    const res = this.#res;
    const original = this.#original;
    const isPaid = release.kind === "release" && release.paid;
    const isWhole = isPaid && this.#metered === undefined;
    if (isDisconnected(res)) {
      this.#drop();
      if (isWhole) void this.#admission.unreleased(response);
      if (this.#admission.metering !== undefined) this.#closeMetered();
      return;
    }
    if (isWhole) this.#paidResponse = response;
    if (release.kind === "replace") {
      this.#replace(release.response);
      return;
    }
    this.#phase = "released";
    this.#letGo(true);
    if (release.paid) restoreHead(res, head.hasPayments ? withoutPayments(head) : head);
    else {
      // The goods may stand in any part of a head, in its message and its trailers, too.
      putHead(res, { status: head.status, statusMessage: "", headers: release.kept });
      this.#isUncharged = true;
      original.addTrailers.call(res, {});
    }
    setHeaders(res, release.headers);
    if (!release.paid) {
      if (!this.#isWrittenByNode) lockHead(res);
    } else if (this.#isWrittenByNode) {
      res.setHeader("Cache-Control", privateCacheControl(String(res.getHeader("cache-control") ?? "")));
    } else {
      lockPayments(res);
      keepPrivate(res);
    }
    if (this.#metered !== undefined) {
      this.#sendMetered(this.#metered);
      return;
    }
    // Write by write, as the handler wrote them.
    const chunks = this.#chunks;
    this.#chunks = [];
    let hasRoom = true;
    for (const chunk of chunks) hasRoom = Reflect.apply(original.write, res, [chunk]) as boolean;
    if (this.#isEnded) Reflect.apply(original.end, res, [this.#lastChunk]);
    if (this.#callbacks !== undefined || this.#isDrainAwaited) this.#resumeHandler(hasRoom);
  }

  /** The head goes out, and what was written so far. */
  #sendMetered(metered: MeteredResponse): void {
    const written = this.#charged ?? [];
    this.#chunks = [];
    this.#charged = undefined;
    const hasRoom = metered.begin(written);
    if (this.#isEnded) this.#endMetered(this.#lastChunk);
    this.#resumeHandler(hasRoom);
  }

  #endMetered(chunk: Buffer | undefined): void {
    if (chunk !== undefined) this.#metered?.write(chunk, undefined);
    this.#metered?.end();
    if (this.#isClosed) this.#admission.handlerEnded();
  }

  /** Until a metered response is delivered its client may leave. Then it was the client that ended the run, not the handler. */
  #closeMetered(): void {
    this.#metered?.close();
    this.#isClosed = true;
    if (this.#isHandlerDone) this.#admission.handlerEnded();
  }

  #replace(response: GateResponse): void {
    this.#isReplaced = true;
    this.#drop();
    this.#letGo(true);
    putHead(this.#res, this.#headBefore);
    // Removes trailers that the handler has set.
    this.#res.addTrailers({});
    writeResponse(this.#res, response, this.#original);
  }

  /** The payment expires before the handler has responded. */
  #expire(instead: Promise<GateResponse>): void {
    if (this.#phase !== "holding") return;
    this.#phase = "deciding";
    instead
      .then((response) => (isDisconnected(this.#res) ? this.#drop() : this.#replace(response)))
      .catch(() => {
        this.#letGo(false);
        this.#res.destroy();
      });
  }

  #drop(): void {
    this.#letGo(false);
    this.#phase = "dropped";
    this.#chunks = [];
    this.#resumeHandler(true);
  }

  /** Lets a handler write on that waits for a callback or for "drain". Without room, the socket emits "drain" later. */
  #resumeHandler(hasRoom: boolean): void {
    const callbacks = this.#callbacks;
    this.#callbacks = undefined;
    for (const callback of callbacks ?? []) later(callback);
    if (hasRoom && this.#isDrainAwaited) process.nextTick(() => this.#res.emit("drain"));
    this.#isDrainAwaited = false;
  }

  /** The connection is done with the response. */
  onClosed(isDelivered: boolean): void {
    if (!isDelivered) {
      letGo(this.#keptOpen);
      this.#admission.leave();
    }
    if (this.#phase === "holding") this.#cancel();
    if (this.#admission.metering !== undefined && this.#phase !== "deciding") this.#closeMetered();
    if (this.#paidResponse === undefined) return;
    if (isDelivered) {
      this.#admission.done();
      return;
    }
    // Without a socket it still waited for its turn in a pipeline.
    if (this.#res.socket === null) void this.#admission.unreleased(this.#paidResponse);
    else void this.#admission.undelivered(this.#paidResponse);
  }

  /** Nothing is charged if the client disconnects before the gate has decided. */
  #cancel(): void {
    if (this.#phase !== "holding") return;
    this.#drop();
    void this.#admission.cancel();
  }
}

function lengthOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Looks for the first `data` in a stream of events. Without it, comments and other fields are no event for the client. */
class EventSearch {
  /** The beginning of the last line. */
  #line = "";
  #isFound = false;

  get isFound(): boolean {
    return this.#isFound;
  }

  add(chunk: Buffer): void {
    const text = this.#line + chunk.toString("latin1");
    this.#isFound ||= /(?:^|[\r\n]|\xEF\xBB\xBF)data[:\r\n]/.test(text);
    this.#line = text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1).slice(0, LONGEST_START);
  }
}

/** A byte order mark, and `data:`. */
const LONGEST_START = 8;

const HELD: unique symbol = Symbol("farebox.held");

type Held<Key extends symbol> = ServerResponse & Record<Key, HeldResponse>;

/**
 * What is replaced on a held response. Middleware may replace it in its turn.
 *
 * @param key - By which the functions find the hold on their response.
 */
function createMethods<Key extends symbol>(key: Key) {
  return {
    writeHead(this: Held<Key>, ...args: WriteHeadArguments) {
      this[key].writeHead(args);
      return this;
    },
    flushHeaders(this: Held<Key>) {
      this[key].flushHeaders();
    },
    write(this: Held<Key>, ...args: ChunkArguments) {
      return this[key].write(args);
    },
    end(this: Held<Key>, ...args: ChunkArguments) {
      this[key].end(args);
      return this;
    },
    addTrailers(this: Held<Key>, trailers: Trailers) {
      this[key].addTrailers(trailers);
    },
    destroy(this: Held<Key>, error?: Error) {
      this[key].destroy(error);
      return this;
    },
    // Early hints are optional, and this response may be replaced.
    writeEarlyHints(_hints: unknown, callback?: WriteCallback) {
      later(callback);
    },
  };
}

/** What is read from the hold. */
function createFlags<Key extends symbol>(key: Key) {
  return {
    headersSent: {
      configurable: true,
      get(this: Held<Key>) {
        return this[key].headersSent;
      },
    },
    writableEnded: {
      configurable: true,
      get(this: Held<Key>) {
        return this[key].writableEnded;
      },
    },
  };
}

/** Shared by nearly all responses: a closure for each would keep it in memory until the next full collection. */
const METHODS = createMethods(HELD);
const FLAGS = createFlags(HELD);

type Own = Record<keyof typeof METHODS, unknown> & { [HELD]?: HeldResponse };

const NODE = ServerResponse.prototype;

/** Puts the methods on a response whose methods middleware has replaced, in any way that there is. */
function defineMethods(res: ServerResponse, hold: HeldResponse): void {
  // A response that middleware gives to a second request is held twice: each hold then has methods of its own.
  const isHeld = HELD in res;
  const key = isHeld ? Symbol("again") : HELD;
  Object.assign(res, { [key]: hold });
  for (const [name, value] of Object.entries(isHeld ? createMethods(key) : METHODS))
    Object.defineProperty(res, name, { value, configurable: true, enumerable: true, writable: true });
  Object.defineProperties(res, isHeld ? createFlags(key) : FLAGS);
}

/** Called when a chunk was taken. */
export type WriteCallback = (error?: Error | null) => void;

/** Arguments of `write` and `end`, in every form that Node accepts. */
export type ChunkArguments = readonly [chunk?: unknown, encoding?: unknown, callback?: unknown];

/** One call of `write` or `end`. */
export interface HeldWrite {
  /** A copy, because handlers reuse their buffers. `undefined` if nothing was given. */
  readonly chunk: Buffer | undefined;
  readonly callback: WriteCallback | undefined;
}

/** Reads the arguments of `write` and `end`. Throws what Node throws for a bad chunk or encoding. */
export function readWrite([chunk, encoding, last]: ChunkArguments): HeldWrite {
  const given = typeof last === "function" ? last : encoding;
  const callback = typeof given === "function" ? (given as WriteCallback) : undefined;
  if (typeof chunk === "function") return { chunk: undefined, callback: callback ?? (chunk as WriteCallback) };
  if (typeof chunk === "string") {
    const charset = typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8";
    return { chunk: Buffer.from(chunk, charset), callback };
  }
  if (chunk instanceof Uint8Array) return { chunk: Buffer.from(chunk), callback };
  if (chunk) throw new InvalidChunkError();
  return { chunk: undefined, callback };
}

/** Node's error for a chunk of a wrong type. */
class InvalidChunkError extends TypeError {
  readonly code = "ERR_INVALID_ARG_TYPE";
  constructor() {
    super('The "chunk" argument must be of type string or an instance of Buffer or Uint8Array.');
  }
}

/** Node's error for `write` and `end` after `end`. */
class WriteAfterEndError extends Error {
  readonly code = "ERR_STREAM_WRITE_AFTER_END";
  constructor() {
    super("write after end");
  }
}

/** Reports a write after `end` to its callback. Node also emits an error, which ends a process without a listener for it. */
export function refuseWrite(callback: WriteCallback | undefined): false {
  later(callback, new WriteAfterEndError());
  return false;
}

/** Calls back after the current call has returned. */
export function later(callback: WriteCallback | undefined, error?: Error): void {
  if (callback !== undefined) process.nextTick(callback, error);
}
