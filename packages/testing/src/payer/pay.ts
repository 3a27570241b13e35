/**
 * A paying client: asks, pays what it is asked for, and asks again.
 *
 * @see x402 v2, HTTP transport
 * @module
 */
import type { AdvertisedRequirements, PaymentPayload, PaymentRequired, SettlementResponse } from "@farebox/core";
import { exchange, type IncomingAnswer, type OutgoingRequest } from "../http/exchange.js";
import { firstPayable } from "./first-payable.js";
import type { Payer } from "./payer.js";
import { PayerError } from "./payer-error.js";
import { readChallenge, readReceipt, writePayment } from "./payment-headers.js";
import { type OpenTarget, openTarget, type PayTarget } from "./target.js";

/** What to ask for, and how to pay. */
export interface PayOptions {
  /** Path and query, sent as they are. Default: the URL's own, `/` for an app. */
  readonly path?: string;
  /** Default `GET`, or `POST` with a body. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Who pays. Default: nobody; the answer to the unpaid request comes back. */
  readonly payer?: Payer;
  /** A payment made before, or the text of its header: sent with the first request, which is then the only one. */
  readonly payment?: PaymentPayload | string;
  /** Chooses what to pay. Default: the first offer that a payer can pay. `undefined`: nothing is paid. */
  readonly select?: (
    offers: readonly AdvertisedRequirements[],
    challenge: PaymentRequired,
  ) => AdvertisedRequirements | undefined;
  /** Changes the payment after it is signed; text is sent as the header's value. */
  readonly mutate?: (payment: PaymentPayload) => PaymentPayload | string;
  /** Ends the connection when it aborts. */
  readonly signal?: AbortSignal;
  /** Unix milliseconds, for the payment's window. Default `Date.now`. */
  readonly now?: () => number;
}

/** What came back last. */
export interface PayResult {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingAnswer["headers"];
  readonly trailers: IncomingAnswer["trailers"];
  readonly body: Buffer;
  /** The body as UTF-8. */
  readonly text: string;
  /**
   * The body as JSON.
   *
   * @throws {@link PayerError} when it is not JSON
   */
  json(): unknown;
  /** The last challenge that was received: what was paid or, after a refusal, why it was refused (`challenge.error`). */
  readonly challenge: PaymentRequired | undefined;
  /** What was sent, if it was a document; may be given to `pay` again. */
  readonly payment: PaymentPayload | undefined;
  readonly receipt: SettlementResponse | undefined;
}

/**
 * Asks for a resource and pays for it when the answer is 402. A refused payment is a result like any other.
 *
 * @throws {@link PayerError} when the target cannot be reached, the connection breaks off, or the offer that `select`
 *   chose cannot be paid
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
  const first = await ask(open, given === undefined ? request : withPayment(request, given));
  const challenge = readChallenge(first.headers);
  if (given !== undefined) return toResult(first, challenge, given);

  const signed = first.status === 402 ? await sign(challenge, options) : undefined;
  if (signed === undefined) return toResult(first, challenge, undefined);
  const payment = options.mutate?.(signed) ?? signed;
  const second = await ask(open, withPayment(request, payment));
  return toResult(second, readChallenge(second.headers) ?? challenge, payment);
}

async function ask({ origin }: OpenTarget, request: OutgoingRequest): Promise<IncomingAnswer> {
  try {
    return await exchange(origin, request);
  } catch (error) {
    throw new PayerError(`no complete answer to ${request.method} ${request.path}`, { cause: error });
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
  if (typeof text !== "string") throw new PayerError("the body has no form in JSON");
  return text;
}

function withPayment(request: OutgoingRequest, payment: PaymentPayload | string): OutgoingRequest {
  const value = typeof payment === "string" ? payment : writePayment(payment);
  return { ...request, headers: { ...request.headers, "payment-signature": value } };
}

function toResult(
  answer: IncomingAnswer,
  challenge: PaymentRequired | undefined,
  payment: PaymentPayload | string | undefined,
): PayResult {
  const text = answer.body.toString("utf8");
  return {
    ...answer,
    text,
    json: () => parse(text),
    challenge,
    payment: typeof payment === "string" ? undefined : payment,
    receipt: readReceipt(answer.headers),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PayerError(`the body is not JSON: ${JSON.stringify(text.slice(0, 80))}`, { cause: error });
  }
}
