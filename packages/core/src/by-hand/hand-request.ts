/**
 * What a server that sells by hand says of a request and of its response, in the forms of the gate; and what it gets from there.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { describeValue, ResponseError } from "../errors.js";
import { writeContent } from "../events/hooks.js";
import { isHost } from "../http/urls.js";
import { writeCanonicalText } from "../protocol/canonical-text.js";
import { PAYMENT_RETRY_TOKEN } from "../protocol/headers.js";
import type { BodyDigest, GateRequest } from "../route/request.js";
import type { GateResponse } from "../sale/answers.js";
import type { HandlerResponse } from "../sale/charge.js";

/** Headers of a request: of Node, Express and most frameworks, or the `Headers` of the Fetch API. */
export type HeadersByHand =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | Iterable<readonly [name: string, value: string]>;

/** A request, as hooks and price functions see it. Requests of Node, Express and the Fetch API have this form. */
export interface RequestByHand {
  /**
   * HTTP method.
   *
   * @defaultValue `"GET"`
   */
  readonly method?: string | undefined;
  /** Absolute, or a path with its query. The resource is made of it if none is named. */
  readonly url?: string | undefined;
  readonly headers?: HeadersByHand | undefined;
  /** The parsed body. The payment is bound to it: a duplicate with another body is refused. A stream counts as no body. */
  readonly body?: unknown;
}

/** About one call. */
export interface OptionsByHand {
  /**
   * Absolute URL of the resource.
   *
   * @defaultValue the route's `resource`, or the URL of the request
   */
  readonly resource?: string | undefined;
  /** The request that asks for the resource, if there is one. */
  readonly request?: RequestByHand | undefined;
  /** For price functions and `req.payment`: `{ city: "Paris" }`. */
  readonly pathParams?: Readonly<Record<string, string>> | undefined;
  /** The client's address or session, if it is certain. A duplicate of the same client shares the first response. */
  readonly client?: string | undefined;
}

/** A response, ready to send. */
export interface ResponseByHand {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** The seller's response, given again. */
export interface KeptResponseByHand extends Omit<ResponseByHand, "headers"> {
  /** A header with several values has a list, for example `Set-Cookie`. */
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** The seller's own response to a paid request. */
export interface PaidResponseByHand {
  /**
   * From 200 to 599.
   *
   * @defaultValue `200`
   */
  readonly status?: number | undefined;
  /** As of requests: `{ "Set-Cookie": ["a=1", "b=2"] }`, or the `Headers` of the Fetch API. */
  readonly headers?: HeadersByHand | undefined;
  /** Text and bytes as they are, anything else as JSON, but no promise or stream. Default: empty. */
  readonly body?: unknown;
}

/** A request for the gate. */
export class HandRequest implements GateRequest {
  readonly method: string;
  readonly path: string;
  readonly mountPath = "";
  readonly search: string;
  readonly origin: string | undefined;
  readonly resource: string | undefined;
  readonly error: string | undefined;
  readonly paymentSignature: string | undefined;
  readonly payment: unknown;
  readonly client: string | undefined;
  readonly body: unknown;
  /** The seller's own object, for functions of the seller's. */
  readonly native: RequestByHand | undefined;
  readonly #url: URL | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  /**
   * @param payment - The header's text, or the payment itself: anything that a client can send.
   * @param resource - Absolute URL, for a call that names none.
   */
  constructor(
    payment: unknown,
    resource: string | undefined,
    { request: native, client, ...options }: OptionsByHand & { readonly error?: string | undefined },
  ) {
    const request = native ?? {};
    const named = options.resource ?? resource;
    // A URL in a call may come from a client. The part that can be used decides.
    const url = parseUrl(named ?? originalUrlOf(request));
    this.native = native;
    this.#url = url;
    this.method = typeof request.method === "string" ? request.method : "GET";
    this.path = url === undefined ? "/" : pathOf(url);
    this.search = url?.search ?? "";
    this.origin = url?.origin === UNKNOWN ? this.#hostOrigin() : isHttp(url) ? url?.origin : undefined;
    this.resource = named === undefined || url === undefined || url.origin === UNKNOWN ? undefined : named;
    this.error = options.error;
    this.paymentSignature = typeof payment === "string" ? payment : undefined;
    this.payment = typeof payment === "string" || payment === null ? undefined : payment;
    this.client = client;
    this.body = isStream(request.body) ? undefined : (request.body ?? undefined);
  }

  get accept(): string | undefined {
    return this.header("accept");
  }

  get userAgent(): string | undefined {
    return this.header("user-agent");
  }

  get retryToken(): string | undefined {
    return this.header(PAYMENT_RETRY_TOKEN);
  }

  get hasBody(): boolean {
    return this.body !== undefined;
  }

  /** The scheme of the connection is not known. Sellers behind TLS set `publicUrl`, or name the resource. */
  #hostOrigin(): string | undefined {
    const host = this.header("host");
    return isHost(host) ? `http://${host}` : undefined;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= readHeaders(this.native?.headers);
    return this.#headers;
  }

  header(name: string): string | undefined {
    return this.headers[name.toLowerCase()];
  }

  /** The payment is bound to the path of a resource, and not to its host. A resource without a path is bound as a whole. */
  digestBody(): BodyDigest {
    const whole = isHttp(this.#url) ? "" : (this.#url?.href ?? "");
    if (whole === "" && this.body === undefined) return "";
    try {
      const hash = createHash("sha256");
      writeCanonicalText([whole, this.body], hash);
      return hash.digest("base64url");
    } catch {
      return { problem: "no_text" };
    }
  }
}

/** Stands for the origin of a path. */
const UNKNOWN = "http://unknown.invalid";

function parseUrl(text: unknown): URL | undefined {
  return typeof text === "string" && URL.canParse(text, UNKNOWN) ? new URL(text, UNKNOWN) : undefined;
}

/** Express cuts the mount off `url`. */
function originalUrlOf(request: RequestByHand): unknown {
  return "originalUrl" in request ? request.originalUrl : request.url;
}

function isHttp(url: URL | undefined): boolean {
  return url?.protocol === "http:" || url?.protocol === "https:";
}

function pathOf({ pathname }: URL): string {
  return pathname.startsWith("/") ? pathname : `/${pathname}`;
}

/** A body that nobody has read. */
function isStream(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return (
    ("getReader" in body && typeof body.getReader === "function") || ("pipe" in body && typeof body.pipe === "function")
  );
}

function readHeaders(headers: HeadersByHand | undefined = {}): Readonly<Record<string, string>> {
  const read: Record<string, string> = Object.create(null);
  for (const [name, value] of entriesOf(headers)) if (value !== undefined) read[name.toLowerCase()] = textOf(value);
  return Object.freeze(read);
}

function entriesOf(headers: HeadersByHand): Iterable<readonly [string, unknown]> {
  return Symbol.iterator in headers ? (headers as Iterable<[string, unknown]>) : Object.entries(headers);
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** A response of the gate, as servers send it. */
export function toResponseByHand({ status, headers, body }: GateResponse): ResponseByHand {
  return { status, headers: toRecord(headers), body };
}

/** A kept response, as servers send it again. */
export function toKeptByHand({ status, headers, body }: GateResponse): KeptResponseByHand {
  const read: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of headers) read[name] = typeof value === "string" ? value : [...value];
  return { status, headers: { ...read }, body };
}

/** Several values of one header are joined. */
export function toRecord(headers: GateResponse["headers"]): Readonly<Record<string, string>> {
  return Object.fromEntries(headers.map(([name, value]) => [name, textOf(value)]));
}

/**
 * The seller's response as the gate keeps it. Without a response, and with one that is larger than what is held, there is none to
 * keep.
 *
 * @throws ResponseError when it could not be sent.
 */
export function toHandlerResponse(response: PaidResponseByHand | undefined, holdBytes: number): HandlerResponse {
  if (response === undefined) return { status: 200, headers: [], body: undefined };
  try {
    return readResponse(response, holdBytes);
  } catch (cause) {
    if (cause instanceof ResponseError) throw cause;
    throw new ResponseError("response", "an object that can be read and written as JSON", response, { cause });
  }
}

function readResponse(response: PaidResponseByHand, holdBytes: number): HandlerResponse {
  if (typeof response !== "object" || response === null) {
    throw new ResponseError("response", "{ status, headers, body }", response);
  }
  const { status = 200, headers: given = {}, body = "" } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new ResponseError("response.status", "a whole number from 200 to 599", status);
  }
  const headers = readResponseHeaders(given);
  const written = writeContent(body);
  if (written === undefined) {
    throw new ResponseError("response.body", "text, bytes or a value of JSON, and no promise or stream", body);
  }
  const isJson = !(typeof body === "string" || typeof written !== "string");
  if (isJson && !headers.some(([name]) => name.toLowerCase() === "content-type")) {
    headers.push(["Content-Type", "application/json; charset=utf-8"]);
  }
  const bytes = typeof written === "string" ? Buffer.from(written) : written;
  return { status, headers, body: bytes.byteLength > holdBytes ? undefined : bytes };
}

/** @throws ResponseError when a server of Node could not send one of them. */
function readResponseHeaders(given: unknown): [name: string, value: string | readonly string[]][] {
  if (typeof given !== "object" || given === null) {
    throw new ResponseError("response.headers", "an object with headers by name", given);
  }
  const read = new Map<string, [name: string, value: string | readonly string[]]>();
  for (const [name, value] of entriesOf(given as HeadersByHand)) {
    if (value === undefined) continue;
    const values = (Array.isArray(value) ? value : [value]).map((one) => checkHeader(name, one));
    // The Fetch API tells each of several cookies by itself.
    const all = [read.get(String(name).toLowerCase())?.[1] ?? [], values].flat();
    const [first] = all;
    read.set(name.toLowerCase(), [name, all.length === 1 && first !== undefined ? first : all]);
  }
  return [...read.values()];
}

function checkHeader(name: unknown, value: unknown): string {
  try {
    validateHeaderName(String(name));
    if (typeof value !== "string" && typeof value !== "number") throw new TypeError("not a text");
    validateHeaderValue(String(name), String(value));
    return String(value);
  } catch (cause) {
    const path = `response.headers[${describeValue(name)}]`;
    throw new ResponseError(path, "the name and the value of a header", value, { cause });
  }
}
