/**
 * A response that goes out while its handler counts what it costs.
 *
 *   write   is there room, and may it go out → to the connection, a bounded part at a time → it counts as delivered
 *   end     all is delivered → settle → the receipt: an event, and a trailer
 *   stop    the maximum is used up, or the payment's time → what is paid for goes out → an event and a trailer say why
 *
 * The head names the URL of the receipt, for clients that read neither trailers nor events.
 *
 * @see `docs/guides/metered.md`
 * @module
 */
import { ServerResponse } from "node:http";
import { type Metering, type StopReason, streamTrailers } from "@farebox/core/adapter";
import { isDisconnected, type KeptOpen, keepOpen, letGo, type OpenResponse } from "./connection.js";
import { appendExposedHeader, isEventStream, listTrailers, type Originals, type Trailers } from "./response-head.js";

type WriteCallback = (error?: Error | null) => void;
type Sum = Metering["charged"];

/** A chunk, and what was charged when it was written. */
export interface ChargedChunk {
  readonly chunk: Buffer;
  readonly charged: Sum;
  readonly callback?: WriteCallback | undefined;
}

/** The reasons of the protocol for an end before the handler's. */
const STOPPED = {
  limit: "payment_limit",
  expired: "payment_expired",
  unrecorded: "unexpected_settle_error",
  exposure: "unexpected_settle_error",
} as const satisfies Record<Exclude<StopReason, "client_gone">, string>;

const NOTHING = Buffer.alloc(0);

/** Bytes of the longest end of an event: two line breaks. */
const LONGEST_END = 4;

/** Takes a response over whose head is about to go out. */
export class MeteredResponse {
  /** The handler's trailers. */
  trailers: Trailers;
  readonly #res: ServerResponse;
  readonly #open: OpenResponse;
  readonly #metering: Metering;
  readonly #original: Originals;
  /** Middleware that changes the body may not say when it went out. */
  readonly #isWrittenByNode: boolean;
  readonly #hasTrailers: boolean;
  readonly #hasEvents: boolean;
  /** Chunks that wait until more is recorded, or until the connection has room. */
  readonly #queue: ChargedChunk[] = [];
  #isQueueMoving = false;
  /** How many chunks are on their way to the network, and their bytes. */
  #pending = 0;
  #pendingBytes = 0;
  /** The network has refused a chunk. The socket is not destroyed yet. */
  #isBroken = false;
  #onIdle: (() => void) | undefined;
  /** With what was written last. */
  #lastChunk: Buffer = NOTHING;
  #passed: Sum = 0n;
  /** The charge for all that is not corked. */
  #handed: Sum = 0n;
  /** What was charged when the last chunk was written. */
  #lastCharged: Sum = 0n;
  #onFlushed: (() => void) | undefined;
  #isDrainAwaited = false;
  #stopped: keyof typeof STOPPED | undefined;
  /** No more chunks of the handler's are taken. */
  #isEnding = false;
  #isEnded = false;
  /** Between the handler's end, or ours, and the receipt: an error of the handler's would destroy the connection. */
  #keptOpen: KeptOpen | undefined;

  /** @param trailers - Those that the handler has set before the head went out. */
  constructor(
    res: ServerResponse,
    open: OpenResponse,
    { metering, original, trailers }: { metering: Metering; original: Originals; trailers: Trailers },
  ) {
    this.trailers = trailers;
    this.#res = res;
    this.#open = open;
    this.#metering = metering;
    this.#original = original;
    // Middleware that changes the head or the end, such as that of a session, changes no chunk.
    this.#isWrittenByNode = original.write === ServerResponse.prototype.write;
    const hasBody = res.req.method !== "HEAD" && res.statusCode !== 204;
    const isEncoded = res.hasHeader("content-encoding");
    this.#hasEvents = hasBody && !isEncoded && isEventStream(res);
    // Trailers need chunks, which a client of HTTP/1.0 does not know.
    this.#hasTrailers = hasBody && res.useChunkedEncodingByDefault;
  }

  /** Sends the head, which the handler has set, and what was written so far. Returns whether there is room for more. */
  begin(written: readonly ChargedChunk[]): boolean {
    const res = this.#res;
    // The response may end earlier than the handler says.
    res.removeHeader("Content-Length");
    if (this.#hasTrailers) res.appendHeader("Trailer", "PAYMENT-RESPONSE, PAYMENT-ERROR");
    if (res.hasHeader("PAYMENT-RECEIPT-URL")) appendExposedHeader(res, "PAYMENT-RECEIPT-URL");
    Reflect.apply(this.#original.flushHeaders, res, []);
    let hasRoom = true;
    for (const one of written) hasRoom = this.#send(one);
    this.#metering.onStop((reason) => this.#stop(reason));
    return hasRoom;
  }

  /** Whether the response is over for its handler, and its receipt is yet to be sent. */
  get isClosing(): boolean {
    return this.#isEnding && !this.#isEnded;
  }

  /** Writes a chunk of the handler's. Returns whether there is room for more. */
  write(chunk: Buffer, callback: WriteCallback | undefined): boolean {
    if (this.#isEnding) {
      later(callback);
      return true;
    }
    return this.#send({ chunk, charged: this.#metering.charged, callback });
  }

  /** The handler has ended the response. Its last chunk is written before. */
  end(): void {
    if (this.#isEnding) return;
    this.#takeOver();
    // As Node does at the end: what is corked would never be flushed.
    while (this.#res.writableCorked > 0) this.#res.uncork();
    this.#whenIdle(() => void this.#finish(true));
  }

  /** The connection is done with the response. What was delivered settles, if it has not yet. */
  close(): void {
    this.#isEnding = true;
    this.#isEnded = true;
    this.#queue.length = 0;
    this.#breakOff();
    this.#tellIdle();
    letGo(this.#keptOpen);
  }

  /** The client has left. What its connection had been given may have arrived; it had few bytes at a time. */
  #breakOff(): void {
    const { socket, writableCorked } = this.#res;
    // Without a socket it still waited for its turn in a pipeline.
    if (socket !== null) this.#metering.delivered(writableCorked > 0 ? this.#handed : this.#passed);
    void this.#metering.finish(false);
  }

  /** From now on only the receipt is written. */
  #takeOver(): void {
    this.#isEnding = true;
    this.#keptOpen ??= keepOpen(this.#open);
  }

  /** So small that Node has room for it: it would call for more chunks otherwise, while parts of this one wait. */
  get #partBytes(): number {
    return Math.max(Math.floor(this.#res.writableHighWaterMark / 2), 1024);
  }

  #send(one: ChargedChunk): boolean {
    const parts = this.#isWrittenByNode ? partsOf(one, this.#lastCharged, this.#partBytes) : [one];
    this.#lastCharged = one.charged;
    let room: Promise<void> | undefined;
    if (parts.length === 1 && this.#queue.length === 0 && !this.#isQueueMoving && this.#hasRoomFor(one.chunk)) {
      room = this.#metering.mayWrite(one.charged);
      if (room === undefined) return this.#pass(one);
    }
    this.#queue.push(...parts);
    this.#isDrainAwaited = true;
    void this.#moveQueue(room);
    return false;
  }

  /** Passes chunks on as more is recorded, and as the connection takes them. */
  async #moveQueue(first: Promise<void> | undefined): Promise<void> {
    if (this.#isQueueMoving) return;
    this.#isQueueMoving = true;
    let room: Promise<void> | undefined = first;
    let hasRoom = true;
    while (this.#queue.length > 0 || room !== undefined) {
      if (room !== undefined) await room;
      const [next] = this.#queue;
      if (next === undefined) break;
      room = this.#hasRoomFor(next.chunk) ? this.#metering.mayWrite(next.charged) : this.#flushed();
      if (room !== undefined) continue;
      this.#queue.shift();
      hasRoom = this.#pass(next);
    }
    this.#isQueueMoving = false;
    if (hasRoom && this.#isDrainAwaited) this.#res.emit("drain");
    this.#isDrainAwaited = false;
    this.#tellIdle();
  }

  /**
   * Node passes all that waits for a socket to the kernel in one call, and says nothing before the last byte of it is out. So the socket
   * is given few bytes at a time: a client that reads most of them and leaves would pay for none.
   */
  #hasRoomFor(chunk: Buffer): boolean {
    if (isDisconnected(this.#res)) return true;
    if (!this.#isWrittenByNode) return this.#res.writableLength <= this.#partBytes;
    return this.#pendingBytes === 0 || this.#pendingBytes + chunk.length <= this.#partBytes;
  }

  /** Resolves when what was passed on is with the network, or the connection is closed. */
  #flushed(): Promise<void> {
    if (!this.#isWrittenByNode && this.#pending === 0) this.#writeNothing();
    return new Promise((resolve) => {
      this.#onFlushed = resolve;
    });
  }

  /** Counts a chunk as on its way. Returns what Node calls when it is out, or never will be. */
  #onOut(bytes: number, then?: WriteCallback): WriteCallback {
    this.#pending += 1;
    this.#pendingBytes += bytes;
    return (error) => {
      this.#pending -= 1;
      this.#pendingBytes -= bytes;
      if (error) this.#isBroken = true;
      then?.(error);
      this.#tellIdle();
    };
  }

  #pass({ chunk, charged, callback }: ChargedChunk): boolean {
    this.#lastChunk =
      chunk.length < LONGEST_END ? Buffer.concat([this.#lastChunk.subarray(-LONGEST_END), chunk]) : chunk;
    if (!isDisconnected(this.#res)) {
      this.#passed = charged;
      if (this.#res.writableCorked === 0) this.#handed = charged;
    }
    if (!this.#isWrittenByNode) {
      const hasRoom = Reflect.apply(this.#original.write, this.#res, [chunk]) as boolean;
      later(callback);
      setImmediate(() => this.#confirm());
      return hasRoom;
    }
    const onOut = this.#onOut(chunk.length, (error) => {
      // Node reports no error for what a socket still had to send when it was destroyed.
      if (!error && !isDisconnected(this.#res)) this.#metering.delivered(charged);
      callback?.(error);
    });
    const hasRoom = Reflect.apply(this.#original.write, this.#res, [chunk, onOut]) as boolean;
    // Node 26 says that there is room for a client that has left.
    return hasRoom && !isDisconnected(this.#res);
  }

  /** Without callbacks, what was passed on counts as delivered once nothing waits for the network. */
  #confirm(): void {
    if (this.#isEnding || this.#isBroken || isDisconnected(this.#res) || this.#res.socket === null) return;
    if (this.#res.writableLength === 0) this.#metering.delivered(this.#passed);
    else if (this.#pending === 0) this.#writeNothing();
  }

  /** Other middleware may not say when its chunks are out. An empty one of Node's is out after them. */
  #writeNothing(): void {
    const onOut = this.#onOut(0, () => this.#confirm());
    Reflect.apply(ServerResponse.prototype.write, this.#res, [NOTHING, onOut]);
  }

  #whenIdle(act: () => void): void {
    this.#onIdle = act;
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#pending === 0 || this.#isEnded) {
      const resolve = this.#onFlushed;
      this.#onFlushed = undefined;
      resolve?.();
    }
    if (this.#pending > 0 || this.#queue.length > 0 || this.#isQueueMoving) return;
    const act = this.#onIdle;
    this.#onIdle = undefined;
    act?.();
  }

  #stop(reason: StopReason): void {
    if (this.#isEnded) return;
    if (reason === "client_gone") {
      Reflect.apply(this.#original.destroy, this.#res, []);
      return;
    }
    this.#stopped ??= reason;
    this.#takeOver();
    // Chunks that wait here may not go out any more.
    if (reason === "exposure") this.#queue.length = 0;
    // What waits for the network is paid for. A payment whose time is over cannot wait for it, so it does not go out.
    if (reason === "expired" && this.#pending + this.#queue.length > 0)
      Reflect.apply(this.#original.destroy, this.#res, []);
    else if (reason === "expired") void this.#finish(false);
    else this.#whenIdle(() => void this.#finish(false));
  }

  /** Never rejects. */
  async #finish(isWhole: boolean): Promise<void> {
    this.#onIdle = undefined;
    if (this.#isEnded) return;
    // A connection that closes flushes nothing more.
    if (this.#isBroken || isDisconnected(this.#res)) {
      this.#breakOff();
      return;
    }
    // Without callbacks, all that was passed on counts: it goes out with the end of the response.
    if (!this.#isWrittenByNode) this.#metering.delivered(this.#passed);
    const stopped = this.#stopped && STOPPED[this.#stopped];
    if (stopped !== undefined) this.#writeEvent("payment-limit", { error: stopped });
    const { receipt } = await this.#metering.finish(isWhole);
    if (this.#isEnded || isDisconnected(this.#res)) return;
    this.#isEnded = true;
    if (receipt !== undefined) this.#writeEvent("payment-receipt", receipt);
    else if (isWhole || stopped !== undefined) this.#writeEvent("payment-pending", this.#urlOfReceipt());
    if (this.#hasTrailers) {
      // Node keeps what was set last.
      const trailers = [...listTrailers(this.trailers), ...streamTrailers(receipt, stopped)];
      Reflect.apply(this.#original.addTrailers, this.#res, [trailers]);
    }
    letGo(this.#keptOpen);
    Reflect.apply(this.#original.end, this.#res, []);
  }

  #urlOfReceipt(): object {
    const url = this.#res.getHeader("PAYMENT-RECEIPT-URL");
    return url === undefined ? {} : { url: String(url) };
  }

  /** Events of ours begin on a line of their own. */
  #writeEvent(name: string, data: object): void {
    if (!this.#hasEvents || isDisconnected(this.#res)) return;
    const lastBytes = this.#lastChunk.toString("latin1", Math.max(0, this.#lastChunk.length - LONGEST_END));
    const isOpen = lastBytes !== "" && !/(\n\n|\r\r|\r\n\r\n)$/.test(lastBytes);
    const text = Buffer.from(`${isOpen ? "\n\n" : ""}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    this.#lastChunk = text;
    Reflect.apply(this.#original.write, this.#res, [text]);
  }
}

/** A large chunk goes out in parts: a client that leaves pays for those that it was sent. */
function partsOf({ chunk, charged, callback }: ChargedChunk, before: Sum, partBytes: number): readonly ChargedChunk[] {
  const count = Math.ceil(chunk.length / partBytes);
  if (count < 2) return [{ chunk, charged, callback }];
  return Array.from({ length: count }, (_, at) => ({
    chunk: chunk.subarray(at * partBytes, (at + 1) * partBytes),
    charged: before + ((charged - before) * BigInt(at + 1)) / BigInt(count),
    callback: at === count - 1 ? callback : undefined,
  }));
}

function later(callback: WriteCallback | undefined): void {
  if (callback !== undefined) process.nextTick(callback);
}
