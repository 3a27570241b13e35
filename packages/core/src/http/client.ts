/**
 * Requests to servers that a seller names: one request, one answer, and a bound on what is read of it.
 *
 * `node:http` rather than `fetch`: it takes a fraction of the time, and it says whether anything was sent, on which it
 * depends whether money may have moved.
 *
 * @module
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  validateHeaderName,
  validateHeaderValue,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { brotliDecompressSync, unzipSync } from "node:zlib";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

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

/** Kept for this long, where the server does not say that it will close earlier. */
const IDLE_MS = 5_000;

/**
 * A request must not be sent on a connection that the server is just closing: what has become of it, nobody could tell.
 * So a connection is given up a second before the server says it will.
 */
const EARLIER_MS = 1_000;

const OPTIONS = { keepAlive: true, timeout: IDLE_MS, scheduling: "lifo" } as const;

/** The agent for a protocol, one for each caller. */
function createAgent(isSecure: boolean): HttpAgent {
  return isSecure ? new PromptHttpsAgent(OPTIONS) : new PromptHttpAgent(OPTIONS);
}

class PromptHttpAgent extends HttpAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && leaveEarlier(socket);
  }
}

class PromptHttpsAgent extends HttpsAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && leaveEarlier(socket);
  }
}

/** Node has set the time until the server closes it, or {@link IDLE_MS}. */
function leaveEarlier(socket: Duplex & { timeout?: number; setTimeout?(ms: number): void }): boolean {
  const left = (socket.timeout ?? IDLE_MS) - EARLIER_MS;
  if (left > 0) socket.setTimeout?.(left);
  return left > 0;
}

/** Yields the body as it was written; an error where it cannot be had: a `RangeError` where it is longer than `maxBytes`. */
function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | Error {
  const coding = encoding?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity" || body.length === 0) return body;
  const decode = DECODERS.get(coding);
  if (decode === undefined) return new TypeError("an encoding that was not asked for");
  try {
    return decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    return error instanceof Error ? error : new TypeError("not of its encoding");
  }
}

const DECODERS: ReadonlyMap<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer> = new Map([
  ["gzip", unzipSync],
  ["x-gzip", unzipSync],
  ["deflate", unzipSync],
  ["br", brotliDecompressSync],
]);

/** What came of a request, and whether it is the first server's word. */
export interface FollowedOutcome {
  readonly outcome: HttpOutcome;
  readonly isRedirected: boolean;
}

/** More are a circle. */
const MAX_REDIRECTS = 5;

/**
 * Sends a request, and follows redirects to an origin that is as safe as the first one.
 *
 * @param own - Headers that another origin may see; the others, most often credentials, were given for the first one
 */
export async function sendFollowing(
  send: HttpClient,
  request: HttpRequest,
  own: readonly string[],
): Promise<FollowedOutcome> {
  let at = request;
  let outcome = await send(at);
  for (let redirects = 0; ; redirects++) {
    const target = outcome.kind === "answered" ? targetOf(outcome, at.url) : undefined;
    if (target === undefined || outcome.kind !== "answered") return { outcome, isRedirected: redirects > 0 };
    if (redirects === MAX_REDIRECTS) return { outcome: TOO_MANY, isRedirected: true };
    at = redirected(at, { target, status: outcome.status, own });
    outcome = await send(at);
  }
}

const TOO_MANY: HttpOutcome = { kind: "unanswered", sent: true, cause: new TypeError("too many redirects") };

/** `undefined` where there is no redirect, or none that may be followed. */
function targetOf({ status, headers }: HttpAnswer, from: URL): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.includes(status) || location === undefined || !URL.canParse(location, from.href)) return undefined;
  const target = new URL(location, from.href);
  const isAsSafe = target.protocol === "https:" || (target.protocol === "http:" && from.protocol === "http:");
  return isAsSafe && target.username + target.password === "" ? target : undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** By these a request is to be repeated as it is; by the others, what was posted is answered by a page to be fetched. */
const REPEATED_AS_IT_IS: readonly number[] = [307, 308];

interface Redirect {
  readonly target: URL;
  readonly status: number;
  readonly own: readonly string[];
}

function redirected({ url, headers, body, signal }: HttpRequest, { target, status, own }: Redirect): HttpRequest {
  const kept = Object.entries(headers).filter(([name]) => own.includes(name));
  return {
    url: target,
    headers: target.origin === url.origin ? headers : Object.fromEntries(kept),
    signal,
    ...(body !== undefined && REPEATED_AS_IT_IS.includes(status) ? { body } : {}),
  };
}

/** Headers by name, e.g. `{ authorization: "Bearer …" }`. */
export type HeaderValues = Readonly<Record<string, string>>;

/** What headers have to be, for an error message. */
export const HEADER_VALUES_EXPECTED =
  "header names with string values, without Content-Length and what else frames a message";

/** Whether a value is headers of a form that can be sent. Total. */
export function isHeaderValues(value: unknown): value is HeaderValues {
  return isPlain(value) && Object.entries(value).every(([name, text]) => isHeader(name, text));
}

/** An unawaited promise, a `Map` or a `Headers` has no fields of its own: the credentials in it would get lost. */
export function isPlain(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Most often a key from the environment that is not set, or ends up with a line break in the middle. */
export function isHeader(name: string, value: unknown): boolean {
  if (typeof value !== "string" || FRAMING.includes(name.toLowerCase())) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value.trim());
    return true;
  } catch {
    return false;
  }
}

/** They frame a message, and follow from what is sent. */
const FRAMING: readonly string[] = ["connection", "content-length", "expect", "transfer-encoding", "upgrade"];

/** Puts headers over others: names in lower case, each once, and values without the line break that a file ends with. */
export function mergeHeaders(own: HeaderValues, given: HeaderValues): HeaderValues {
  const lowered = [own, given].flatMap((headers) => Object.entries(headers)).map(lower);
  return Object.fromEntries(lowered);
}

function lower([name, value]: readonly [string, string]): [string, string] {
  return [name.toLowerCase(), value.trim()];
}

/** The system's code, which may be hidden one or more causes deep, or else the name of the error: never its message. */
export function causeCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return error instanceof Error ? error.name : "unknown";
}
