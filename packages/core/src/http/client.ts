/**
 * The HTTP client for facilitators and nodes: one request, one response of limited size.
 *
 *   createHttpClient   one request, over connections that are reused
 *   sendFollowing      one request, and its redirects
 *   isHeaderValues     checks a seller's headers; `mergeHeaders` puts them over ours
 *
 * It uses `node:http` and not `fetch`, because `node:http` says whether anything was sent. If nothing was sent, no money has moved.
 * It is also faster.
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
  /** The body of a POST. Default: the request is a GET. */
  readonly body?: string;
  /** Aborted when the caller gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of a request. */
export type HttpOutcome =
  | HttpResponse
  /** The head of a response arrived, but not its whole body. `cause` is a `RangeError` if the body is too long. */
  | { readonly kind: "broken"; readonly status: number; readonly cause: Error }
  /** No response arrived. If `sent` is `false`, the server provably never saw the request. */
  | { readonly kind: "no-response"; readonly sent: boolean; readonly cause: Error };

/** A complete response. */
export interface HttpResponse {
  readonly kind: "responded";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as UTF-8. */
  readonly text: string;
}

/** Sends requests over reused connections. Never rejects, and follows no redirect. */
export type HttpClient = (request: HttpRequest) => Promise<HttpOutcome>;

/** The limits of a client. */
export interface HttpClientOptions {
  /** The longest body, both encoded and decoded. */
  readonly maxBodyBytes: number;
  /** Milliseconds for connecting. Default 10000, which leaves time to settle with another facilitator. */
  readonly connectMs?: number;
}

/** Creates a client. */
export function createHttpClient({ maxBodyBytes, connectMs = 10_000 }: HttpClientOptions): HttpClient {
  const agents = { http: createAgent(false), https: createAgent(true) };
  return (request) =>
    new Promise((resolve) => {
      const { url, body, signal } = request;
      if (signal?.aborted) return resolve({ kind: "no-response", sent: false, cause: reasonOf(signal.reason) });
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

/** One request in flight. */
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
    // An error after a complete response is ignored. The listener stays, because an unheard error would end the process.
    request.on("error", (cause: Error) => this.#response?.complete || this.#fail(cause));
    // A server that switches protocols unasked causes no error. After a response, its own end counts.
    request.once("close", () => this.#response ?? this.#fail(new TypeError("closed without a response")));
    options.signal?.addEventListener("abort", this.#giveUp);
  }

  /** Nothing is sent before the connection is made, and over TLS before the server is verified. */
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
    else this.#end({ kind: "responded", status, headers, text: decoded.toString("utf8") });
  }

  #fail(cause: Error): void {
    const status = this.#response?.statusCode;
    if (status === undefined) this.#end({ kind: "no-response", sent: this.#sent, cause });
    else this.#end({ kind: "broken", status, cause });
  }

  readonly #giveUp = (): void => this.#breakOff(reasonOf(this.#options.signal?.reason));

  /** Fails first, because a destroyed request does not report on its response. */
  #breakOff(cause: Error): void {
    this.#fail(cause);
    this.#request.destroy();
  }

  /** Resolves. Later calls do nothing. */
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

/** An idle connection is kept this long, or as long as the server announces. */
const IDLE_MS = 5_000;

/**
 * A connection is closed this long before the server would close it. A request sent while the server is closing would have an unknown
 * outcome.
 */
const CLOSE_EARLIER_MS = 1_000;

const OPTIONS = { keepAlive: true, timeout: IDLE_MS, scheduling: "lifo" } as const;

/** Creates the agent for a protocol. Each client has its own. */
function createAgent(isSecure: boolean): HttpAgent {
  return isSecure ? new PromptHttpsAgent(OPTIONS) : new PromptHttpAgent(OPTIONS);
}

class PromptHttpAgent extends HttpAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && closeEarlier(socket);
  }
}

class PromptHttpsAgent extends HttpsAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && closeEarlier(socket);
  }
}

/** Node has set `timeout` to the time that the server announces, or {@link IDLE_MS}. */
function closeEarlier(socket: Duplex & { timeout?: number; setTimeout?(ms: number): void }): boolean {
  const left = (socket.timeout ?? IDLE_MS) - CLOSE_EARLIER_MS;
  if (left > 0) socket.setTimeout?.(left);
  return left > 0;
}

/** Returns the decoded body, or an error: a `RangeError` if it is longer than `maxBytes`. */
function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | Error {
  const coding = encoding?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity" || body.length === 0) return body;
  const decode = DECODERS.get(coding);
  if (decode === undefined) return new TypeError("an unknown encoding");
  try {
    return decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    return error instanceof Error ? error : new TypeError("not valid in its encoding");
  }
}

const DECODERS: ReadonlyMap<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer> = new Map([
  ["gzip", unzipSync],
  ["x-gzip", unzipSync],
  ["deflate", unzipSync],
  ["br", brotliDecompressSync],
]);

/** The outcome of a request, and where it comes from. */
export interface FollowedOutcome {
  readonly outcome: HttpOutcome;
  /** The last URL, if a redirect was followed. */
  readonly redirectedTo: URL | undefined;
  /** Whether a redirect turned a POST into a GET, so that the last server did not get the body. */
  readonly lostBody: boolean;
}

/** More redirects count as a loop. */
const MAX_REDIRECTS = 5;

/**
 * Sends a request, and follows redirects, but never from https to http.
 *
 * @param own - Names of the headers that other origins may see. The others are usually credentials for the first origin.
 */
export async function sendFollowing(
  send: HttpClient,
  request: HttpRequest,
  own: readonly string[],
): Promise<FollowedOutcome> {
  let at = request;
  let outcome = await send(at);
  for (let redirects = 0; ; redirects++) {
    const target = outcome.kind === "responded" ? targetOf(outcome, at.url) : undefined;
    const lostBody = request.body !== undefined && at.body === undefined;
    if (target === undefined || outcome.kind !== "responded") {
      return { outcome, redirectedTo: redirects > 0 ? at.url : undefined, lostBody };
    }
    if (redirects === MAX_REDIRECTS) return { outcome: TOO_MANY, redirectedTo: target, lostBody };
    at = redirected(at, { target, status: outcome.status, own });
    outcome = await send(at);
  }
}

const TOO_MANY: HttpOutcome = { kind: "no-response", sent: true, cause: new TypeError("too many redirects") };

/** The target of a redirect, or `undefined` without one that may be followed. */
function targetOf({ status, headers }: HttpResponse, from: URL): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.includes(status) || location === undefined || !URL.canParse(location, from.href)) return undefined;
  const target = new URL(location, from.href);
  const isAsSafe = target.protocol === "https:" || (target.protocol === "http:" && from.protocol === "http:");
  return isAsSafe && target.username + target.password === "" ? target : undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** With these statuses the request is repeated unchanged. With the others, a POST is followed by a GET. */
const REPEATED_UNCHANGED: readonly number[] = [307, 308];

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
    ...(body !== undefined && REPEATED_UNCHANGED.includes(status) ? { body } : {}),
  };
}

/** Headers by name, e.g. `{ authorization: "Bearer …" }`. */
export type HeaderValues = Readonly<Record<string, string>>;

/** Describes valid headers, for error messages. */
export const HEADER_VALUES_EXPECTED =
  "header names with string values, without Content-Length and other headers that frame a message";

/** Whether a value is headers that can be sent. Never throws. */
export function isHeaderValues(value: unknown): value is HeaderValues {
  return isPlain(value) && Object.entries(value).every(([name, text]) => isHeader(name, text));
}

/** Whether a value is a plain object. The credentials in a promise, a `Map` or a `Headers` would be lost. */
export function isPlain(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether a header can be sent. Usual mistakes: an unset environment variable, or a line break inside a key. */
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

/** Headers that frame a message. The client sets them. */
const FRAMING: readonly string[] = ["connection", "content-length", "expect", "transfer-encoding", "upgrade"];

/** Merges headers, the given ones over our own. Names are lower-cased, and values trimmed, e.g. of a file's last line break. */
export function mergeHeaders(own: HeaderValues, given: HeaderValues): HeaderValues {
  const lowered = [own, given].flatMap((headers) => Object.entries(headers)).map(lower);
  return Object.fromEntries(lowered);
}

function lower([name, value]: readonly [string, string]): [string, string] {
  return [name.toLowerCase(), value.trim()];
}

/** The system code of an error or of its causes, e.g. `ECONNREFUSED`, or its name. Never its message. */
export function causeCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return error instanceof Error ? error.name : "unknown";
}
