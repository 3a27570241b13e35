/**
 * Requests to servers that a seller names: one request, one answer, and a bound on what is read of it.
 *
 * `node:http` rather than `fetch`: it takes a fraction of the time, and it says whether anything was sent, on which it
 * depends whether money may have moved.
 *
 * @module
 */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { decodeBody } from "./decode-body.js";
import type { HeaderValues } from "./header-values.js";
import { createAgent } from "./kept-connections.js";

/** A request. */
export interface HttpRequest {
  /** `http:` or `https:`, without credentials. */
  readonly url: URL;
  /** Names in lower case, each once. */
  readonly headers: HeaderValues;
  /** Is posted. Default: nothing, and the request is a GET. */
  readonly body?: string;
  /** Aborted when nobody waits any longer. */
  readonly signal?: AbortSignal | undefined;
}

/** What came of a request. */
export type HttpOutcome =
  | HttpAnswer
  /** The head of an answer came, its body did not, or is longer than is read: then the cause is a `RangeError`. */
  | { readonly kind: "broken"; readonly status: number; readonly cause: Error }
  /** No answer came. Where nothing was `sent`, the server provably never saw the request. */
  | { readonly kind: "unanswered"; readonly sent: boolean; readonly cause: Error };

/** An answer, whole. */
export interface HttpAnswer {
  readonly kind: "answered";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As UTF-8. */
  readonly text: string;
}

/** Sends requests, and keeps connections for the next one. Never rejects, and follows no redirect. */
export type HttpClient = (request: HttpRequest) => Promise<HttpOutcome>;

/** Bounds on what a server does. */
export interface HttpClientOptions {
  /** Of an answer, as it comes and decoded. */
  readonly maxBodyBytes: number;
  /** Until there is a connection. Default 10000: then there is time left to ask another server for a settlement. */
  readonly connectMs?: number;
}

/** Creates a client. */
export function createHttpClient({ maxBodyBytes, connectMs = 10_000 }: HttpClientOptions): HttpClient {
  const agents = { http: createAgent(false), https: createAgent(true) };
  return (request) =>
    new Promise((resolve) => {
      const { url, body, signal } = request;
      if (signal?.aborted) return resolve({ kind: "unanswered", sent: false, cause: reasonOf(signal.reason) });
      const isSecure = url.protocol === "https:";
      const sent = (isSecure ? requestHttps : requestHttp)(url, {
        method: body === undefined ? "GET" : "POST",
        headers: request.headers,
        agent: isSecure ? agents.https : agents.http,
      });
      new Exchange(sent, { isSecure, maxBodyBytes, connectMs, signal, resolve });
      sent.end(body);
    });
}

interface ExchangeOptions {
  readonly isSecure: boolean;
  readonly maxBodyBytes: number;
  readonly connectMs: number;
  readonly signal: AbortSignal | undefined;
  resolve(outcome: HttpOutcome): void;
}

/** One request on its way. */
class Exchange {
  readonly #request: ClientRequest;
  readonly #options: ExchangeOptions;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #sent: boolean;
  #response: IncomingMessage | undefined;

  constructor(request: ClientRequest, options: ExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.#sent = request.reusedSocket;
    if (!this.#sent) request.once("socket", (socket: Socket) => this.#watchConnecting(socket));
    request.once("response", (response: IncomingMessage) => this.#read(response));
    // What comes behind a whole answer does not take it back. Stays to the end: no error may go unheard.
    request.on("error", (cause: Error) => this.#response?.complete || this.#fail(cause));
    // A server that switches protocols unasked leaves no error behind. Once there is an answer, that is what ends.
    request.once("close", () => this.#response ?? this.#fail(new TypeError("closed without an answer")));
    options.signal?.addEventListener("abort", this.#giveUp);
  }

  /** What is written before a connection stands is not sent before, over TLS not before the server is known. */
  #watchConnecting(socket: Socket): void {
    const timer = setTimeout(() => this.#request.destroy(new ConnectTimeoutError()), this.#options.connectMs);
    socket.once(this.#options.isSecure ? "secureConnect" : "connect", () => {
      this.#sent = true;
      clearTimeout(timer);
    });
    socket.once("close", () => clearTimeout(timer));
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    response.on("data", (chunk: Buffer) => this.#take(chunk));
    response.once("end", () => this.#finish(response));
    response.on("error", (cause: Error) => this.#fail(cause));
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#options.maxBodyBytes) this.#chunks.push(chunk);
    else this.#breakOff(new RangeError(`longer than ${this.#options.maxBodyBytes} bytes`));
  }

  #finish({ statusCode: status = 0, headers }: IncomingMessage): void {
    const decoded = decodeBody(Buffer.concat(this.#chunks), headers["content-encoding"], this.#options.maxBodyBytes);
    if (decoded instanceof Error) this.#end({ kind: "broken", status, cause: decoded });
    else this.#end({ kind: "answered", status, headers, text: decoded.toString("utf8") });
  }

  #fail(cause: Error): void {
    const status = this.#response?.statusCode;
    if (status === undefined) this.#end({ kind: "unanswered", sent: this.#sent, cause });
    else this.#end({ kind: "broken", status, cause });
  }

  readonly #giveUp = (): void => this.#breakOff(reasonOf(this.#options.signal?.reason));

  /** A request that is destroyed says nothing of the answer that it was reading. */
  #breakOff(cause: Error): void {
    this.#fail(cause);
    this.#request.destroy();
  }

  /** The first end counts. */
  #end(outcome: HttpOutcome): void {
    const { signal, resolve } = this.#options;
    signal?.removeEventListener("abort", this.#giveUp);
    resolve(outcome);
  }
}

class ConnectTimeoutError extends Error {
  override readonly name = "ConnectTimeoutError";
  readonly code = "CONNECT_TIMEOUT";
}

function reasonOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new DOMException("This operation was aborted", "AbortError");
}
