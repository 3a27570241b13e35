/**
 * A paying client: sends a request, pays the challenge, and sends the request again.
 *
 * @see x402 v2, HTTP transport
 * @module
 */
import { createServer, type RequestListener, Server } from "node:http";
import type { AdvertisedRequirements, PaymentPayload, PaymentRequired, SettlementResponse } from "@farebox/core";
import { exchange, type IncomingResponse, type OutgoingRequest } from "../http/exchange.js";
import { listen, originOf } from "../http/listening.js";
import { firstPayable } from "./offers.js";
import { type Payer, PayerError } from "./payer.js";

/**
 * A target to pay: an Express app or another request listener, an `http.Server`, or an http(s) URL. For an app, and for a
 * server that does not listen, the call opens a free port of 127.0.0.1.
 */
export type PayTarget = RequestListener | Server | URL | string;

/** The request, and how to pay for it. */
export interface PayOptions {
  /** Path and query, sent unchanged. Default: those of the URL, or `/` for an app. */
  readonly path?: string;
  /** Default `GET`, or `POST` with a body. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Strings and bytes are sent unchanged, other values as JSON. */
  readonly body?: unknown;
  /** Default: no payer, so the result is the response to the unpaid request. */
  readonly payer?: Payer;
  /** An earlier payment, or the value of its header. It is sent with the first and only request. */
  readonly payment?: PaymentPayload | string;
  /** Chooses an offer; `undefined` pays nothing. Default: the first offer that the payer can pay. */
  readonly select?: (
    offers: readonly AdvertisedRequirements[],
    challenge: PaymentRequired,
  ) => AdvertisedRequirements | undefined;
  /** Changes the signed payment; a string is sent as the value of the header. */
  readonly mutate?: (payment: PaymentPayload) => PaymentPayload | string;
  /** Aborts the connection. */
  readonly signal?: AbortSignal;
  /** Unix milliseconds, for the validity of the payment. Default `Date.now`. */
  readonly now?: () => number;
}

/** The last response. */
export interface PayResult {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingResponse["headers"];
  readonly trailers: IncomingResponse["trailers"];
  readonly body: Buffer;
  /** The body as UTF-8. */
  readonly text: string;
  /**
   * The body as JSON.
   *
   * @throws {@link PayerError} when it is not JSON
   */
  json(): unknown;
  /** The last challenge: the one that was paid, or after a refusal the one with the reason (`challenge.error`). */
  readonly challenge: PaymentRequired | undefined;
  /** The payment that was sent, unless it was a string. It can be passed to `pay` again. */
  readonly payment: PaymentPayload | undefined;
  readonly receipt: SettlementResponse | undefined;
}

/**
 * Requests a resource, and pays for it when the response is 402. A refused payment is a normal result.
 *
 * @throws {@link PayerError} when the target cannot be reached, the connection breaks, or the payer cannot pay the offer that
 *   `select` chose
 */
export async function pay(target: PayTarget, options: PayOptions = {}): Promise<PayResult> {
  const open = await openTarget(target);
  try {
    return await payOpen(open, options);
  } finally {
    await open.close();
  }
}

async function payOpen(open: OpenTarget, options: PayOptions): Promise<PayResult> {
  const request = toRequest(open, options);
  const { payment: given } = options;
  const first = await send(open, given === undefined ? request : withPayment(request, given));
  const challenge = readChallenge(first.headers);
  if (given !== undefined) return toResult(first, challenge, given);

  const signed = first.status === 402 ? await sign(challenge, options) : undefined;
  if (signed === undefined) return toResult(first, challenge, undefined);
  const payment = options.mutate?.(signed) ?? signed;
  const second = await send(open, withPayment(request, payment));
  return toResult(second, readChallenge(second.headers) ?? challenge, payment);
}

async function send({ origin }: OpenTarget, request: OutgoingRequest): Promise<IncomingResponse> {
  try {
    return await exchange(origin, request);
  } catch (error) {
    throw new PayerError(`no complete response to ${request.method} ${request.path}`, { cause: error });
  }
}

async function sign(
  challenge: PaymentRequired | undefined,
  { payer, select = firstPayable, now = Date.now }: PayOptions,
): Promise<PaymentPayload | undefined> {
  if (challenge === undefined || payer === undefined) return undefined;
  const offer = select(challenge.accepts, challenge);
  if (offer === undefined) return undefined;
  return offer.scheme === "upto"
    ? payer.signUpto(offer, { challenge, now })
    : payer.signExact(offer, { challenge, now });
}

function toRequest(open: OpenTarget, options: PayOptions): OutgoingRequest {
  const { body, headers = {} } = options;
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const bytes = body === undefined || body instanceof Uint8Array ? body : Buffer.from(isRaw ? body : stringify(body));
  return {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    path: options.path ?? open.path,
    headers: { ...(isRaw ? {} : { "content-type": "application/json" }), ...lengthOf(bytes), ...headers },
    body: bytes,
    signal: options.signal,
  };
}

function lengthOf(bytes: Uint8Array | undefined): Record<string, string> {
  return bytes === undefined ? {} : { "content-length": String(bytes.byteLength) };
}

function stringify(body: unknown): string {
  const text: unknown = JSON.stringify(body);
  if (typeof text !== "string") throw new PayerError("the body cannot be written as JSON");
  return text;
}

function withPayment(request: OutgoingRequest, payment: PaymentPayload | string): OutgoingRequest {
  const value = typeof payment === "string" ? payment : writePayment(payment);
  return { ...request, headers: { ...request.headers, "payment-signature": value } };
}

function toResult(
  response: IncomingResponse,
  challenge: PaymentRequired | undefined,
  payment: PaymentPayload | string | undefined,
): PayResult {
  const text = response.body.toString("utf8");
  return {
    ...response,
    text,
    json: () => parse(text),
    challenge,
    payment: typeof payment === "string" ? undefined : payment,
    receipt: readReceipt(response.headers),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PayerError(`the body is not JSON: ${JSON.stringify(text.slice(0, 80))}`, { cause: error });
  }
}

/** A target that accepts connections. */
interface OpenTarget {
  readonly origin: URL;
  /** Path and query of the target's URL; `/` for apps and servers. */
  readonly path: string;
  close(): Promise<void>;
}

async function openTarget(target: PayTarget): Promise<OpenTarget> {
  if (typeof target === "string" || target instanceof URL) return openUrl(target);
  if (target instanceof Server) return target.listening ? openListening(target) : openForTheCall(target);
  if (typeof target === "function") return openForTheCall(createServer(target));
  throw new PayerError("a target must be a request listener, an http.Server or a URL");
}

function openUrl(target: string | URL): OpenTarget {
  const url = URL.canParse(String(target)) ? new URL(target) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new PayerError("the URL of a target must start with http:// or https://");
  }
  return { origin: new URL(url.origin), path: url.pathname + url.search, close: async () => {} };
}

function openListening(server: Server): OpenTarget {
  const origin = originOf(server);
  if (origin === undefined) throw new PayerError("the server does not listen on a port");
  return { origin, path: "/", close: async () => {} };
}

async function openForTheCall(server: Server): Promise<OpenTarget> {
  return { ...(await listen(server, 0)), path: "/" };
}

// The three headers of a payment. They are read and written here, apart from the seller's codecs, so that a fault in those
// cannot cancel itself out in a test.

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the challenge of a response; `undefined` without a readable one. */
function readChallenge(headers: Headers): PaymentRequired | undefined {
  const document = decode(headers["payment-required"]);
  return isChallenge(document) ? document : undefined;
}

/** Reads the receipt of a response; `undefined` without a readable one. */
function readReceipt(headers: Headers): SettlementResponse | undefined {
  const document = decode(headers["payment-response"]);
  return isReceipt(document) ? document : undefined;
}

/** Writes the value of `PAYMENT-SIGNATURE`. */
function writePayment(payment: PaymentPayload): string {
  return Buffer.from(JSON.stringify(payment), "utf8").toString("base64");
}

function decode(value: string | string[] | undefined): unknown {
  if (typeof value !== "string") return undefined;
  try {
    return JSON.parse(Buffer.from(value, "base64").toString("utf8"));
  } catch {
    return undefined;
  }
}

function isChallenge(value: unknown): value is PaymentRequired {
  return isRecord(value) && value["x402Version"] === 2 && isRecordArray(value["accepts"]);
}

function isReceipt(value: unknown): value is SettlementResponse {
  return isRecord(value) && typeof value["success"] === "boolean" && typeof value["network"] === "string";
}

function isRecordArray(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
