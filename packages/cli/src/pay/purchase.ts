/**
 * A purchase: the request, the challenge, one signature, and the same payment until its outcome is known.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { networkName } from "@farebox/bazaar/facilitator";
import type { PaymentPayload, PaymentRequired, PaymentRequirements, SettlementResponse } from "@farebox/core";
import {
  decodePaymentRequired,
  decodePaymentResponse,
  encodePaymentSignature,
  PAYMENT_IDENTIFIER,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_SIGNATURE,
} from "@farebox/core/protocol";
import { type Payer, PayerError } from "@farebox/testing";
import { describePrice } from "../catalog/price.js";
import { CliError } from "../frame/cli-error.js";
import type { Clock } from "../frame/clock.js";
import { chooseOffer, type Limits } from "./choose-offer.js";

/** A request to pay for. */
export interface Order {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** One step, and how long it took. */
export interface Step {
  readonly step: string;
  readonly tookMs: number;
}

/** What came of an order. */
export interface Purchase {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The offer that was signed for; `undefined`: nothing was signed. */
  readonly offer: PaymentRequirements | undefined;
  /** The most that it costs, in units of 10⁻¹⁸ dollars. */
  readonly cost: bigint | undefined;
  readonly receipt: SettlementResponse | undefined;
  readonly steps: readonly Step[];
}

/** What a purchase needs. */
export interface PurchaserDeps extends Limits {
  readonly payer: Payer;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tells the person a step. */
  readonly tell: (line: string) => void;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly url: string;
}

const MAX_BODY = 64 * 1024 * 1024;
const MAX_WAIT_SECONDS = 30;

/** Buys. One purchaser signs at most once. */
export class Purchaser {
  readonly #deps: PurchaserDeps;
  readonly #steps: Step[] = [];

  constructor(deps: PurchaserDeps) {
    this.#deps = deps;
  }

  /**
   * Requests, pays if that is asked for, and requests again.
   *
   * @throws CliError if nothing was bought; its text says whether money may have moved
   */
  async buy(order: Order): Promise<Purchase> {
    const first = await this.#timed("request", () => this.#send(order, {}, "follow")).catch((error: unknown) => {
      throw unreachable(order.url, error, "Nothing was paid");
    });
    this.#deps.tell(`${order.method} ${first.url}: ${first.status}`);
    if (first.status !== 402) return this.#ended(first, { offer: undefined, cost: undefined, receipt: undefined });
    const challenge = readChallenge(first);
    const choice = chooseOffer(challenge.accepts, this.#deps);
    if (choice.kind === "none") {
      throw new CliError(
        "FAREBOX_CLI_NOT_PAID",
        `nothing was paid: ${choice.reasons.slice(0, 5).join("; ")}`,
        "Raise --max, or set FAREBOX_KEY to a key of such a network",
      );
    }
    const { offer, dollars } = choice;
    const name = networkName(offer.network) ?? offer.network;
    this.#deps.tell(`challenge: ${describePrice(offer)} on ${name} to ${offer.payTo}`);
    const header = await this.#timed("sign", () => this.#sign(challenge, offer));
    this.#deps.tell(`signed by ${this.#deps.payer.address}, valid for ${offer.maxTimeoutSeconds} seconds`);
    // The payment is for the server that was asked. It follows no redirect to another one.
    const paid = await this.#settle({ ...order, url: first.url }, header, offer.maxTimeoutSeconds);
    const receipt = readReceipt(paid);
    this.#deps.tell(`${order.method} ${paid.url}: ${paid.status}`);
    this.#deps.tell(describeOutcome(paid, receipt));
    for (const { step, tookMs } of this.#steps) this.#deps.tell(`${step} took ${tookMs} ms`);
    return this.#ended(paid, { offer, cost: dollars, receipt });
  }

  #ended({ status, headers, body }: Reply, rest: Pick<Purchase, "offer" | "cost" | "receipt">): Purchase {
    return { status, headers, body, ...rest, steps: this.#steps };
  }

  async #sign(challenge: PaymentRequired, offer: PaymentRequirements): Promise<string> {
    const { payer } = this.#deps;
    try {
      const sign = offer.scheme === "upto" ? payer.signUpto : payer.signExact;
      return encodePaymentSignature(withIdentifier(await sign(offer, { challenge }), challenge));
    } catch (cause) {
      if (!(cause instanceof PayerError)) throw cause;
      throw new CliError(
        "FAREBOX_CLI_NOT_PAID",
        `nothing was paid: ${cause.message}`,
        "Ask the seller to mend its offer",
        { cause },
      );
    }
  }

  /** Sends the payment, and the same one again while its outcome is unknown and it has not expired. */
  async #settle(order: Order, header: string, lifeSeconds: number): Promise<Reply> {
    const { clock, signal } = this.#deps;
    const untilMs = clock.now() + lifeSeconds * 1000;
    for (let attempt = 1; ; attempt++) {
      const name = attempt === 1 ? "pay" : `pay again (${attempt})`;
      let problem: string;
      let waitSeconds = Math.min(2 ** attempt, MAX_WAIT_SECONDS);
      try {
        const reply = await this.#timed(name, () => this.#send(order, { [PAYMENT_SIGNATURE]: header }, "manual"));
        const retryAfter = readRetryAfter(reply.headers);
        const isOpen = reply.status === 503 || (reply.status === 409 && retryAfter !== undefined) || isOfProxy(reply);
        if (!isOpen) return reply;
        problem = `status ${reply.status}`;
        waitSeconds = Math.min(retryAfter ?? waitSeconds, MAX_WAIT_SECONDS);
      } catch (error) {
        problem = reasonOf(error);
      }
      if (signal.aborted || clock.now() + waitSeconds * 1000 > untilMs) {
        throw unknownOutcome(order.url, problem, untilMs);
      }
      this.#deps.tell(`the outcome is unknown (${problem}): the same payment is sent again in ${waitSeconds} seconds`);
      await clock.wait(waitSeconds * 1000, signal).catch(() => {
        throw unknownOutcome(order.url, "interrupted", untilMs);
      });
    }
  }

  async #send(
    { url, method, headers, body }: Order,
    payment: Readonly<Record<string, string>>,
    redirect: "follow" | "manual",
  ): Promise<Reply> {
    const { clock, timeoutMs } = this.#deps;
    const signal = AbortSignal.any([this.#deps.signal, clock.deadline(timeoutMs)]);
    const all = new Headers(headers);
    for (const [name, value] of Object.entries(payment)) all.set(name, value);
    const init = { method, headers: all, redirect, signal };
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BODY) break;
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString("utf8");
    return { status: response.status, headers: response.headers, body: text, url: response.url || url };
  }

  async #timed<T>(step: string, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const startedMs = clock.elapsed();
    try {
      return await work();
    } finally {
      this.#steps.push({ step, tookMs: Math.round(clock.elapsed() - startedMs) });
    }
  }
}

function readChallenge({ headers, url }: Reply): PaymentRequired {
  const header = headers.get(PAYMENT_REQUIRED);
  const challenge = header === null ? undefined : decodePaymentRequired(header);
  if (challenge !== undefined && Array.isArray(challenge.accepts)) return challenge;
  const what = header === null ? "has no PAYMENT-REQUIRED header" : "has an unreadable PAYMENT-REQUIRED header";
  throw new CliError(
    "FAREBOX_CLI_NOT_PAID",
    `nothing was paid: the 402 of ${url} ${what}`,
    `Run farebox doctor ${url}`,
  );
}

function readReceipt({ headers }: Reply): SettlementResponse | undefined {
  const header = headers.get(PAYMENT_RESPONSE);
  return header === null ? undefined : decodePaymentResponse(header);
}

/** An id that nobody else knows: by it the same payment gets its response again, if the first one was lost on the way. */
function withIdentifier(payment: PaymentPayload, { extensions }: PaymentRequired): PaymentPayload {
  const declared = extensions?.[PAYMENT_IDENTIFIER];
  if (declared === undefined) return payment;
  const identified = { info: { ...declared.info, id: `pay_${randomUUID()}` } };
  return { ...payment, extensions: { ...payment.extensions, [PAYMENT_IDENTIFIER]: identified } } as PaymentPayload;
}

/** A proxy gave up on the server, which may have settled. A response of the seller's handler is marked by the seller's payments. */
function isOfProxy({ status, headers }: Reply): boolean {
  const isOfPayments = /\bPAYMENT-RESPONSE\b/i.test(headers.get("Access-Control-Expose-Headers") ?? "");
  return !isOfPayments && !headers.has(PAYMENT_RESPONSE) && [502, 504, 520, 521, 522, 523, 524].includes(status);
}

function describeOutcome({ status, headers }: Reply, receipt: SettlementResponse | undefined): string {
  if (receipt?.success === true) return `paid: transaction ${receipt.transaction} on ${receipt.network}`;
  if (receipt !== undefined) return `not paid: ${receipt.errorReason ?? "the settlement failed"}`;
  const challenge = headers.get(PAYMENT_REQUIRED);
  const error = challenge === null ? undefined : decodePaymentRequired(challenge)?.error;
  if (status === 402) return `not paid: ${error ?? "the payment was refused"}`;
  return "no receipt: a metered response has one at its end, and others were not charged";
}

function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function unknownOutcome(url: string, problem: string, untilMs: number): CliError {
  const until = new Date(untilMs).toISOString();
  return new CliError(
    "FAREBOX_CLI_UNKNOWN_OUTCOME",
    `the outcome of the payment for ${url} is unknown (${problem}); it can be charged until ${until}`,
    "Look at the account before you pay again",
  );
}

function unreachable(url: string, error: unknown, consequence: string): CliError {
  if (error instanceof CliError) return error;
  return new CliError(
    "FAREBOX_CLI_UNREACHABLE",
    `${url} cannot be reached: ${reasonOf(error)}. ${consequence}`,
    "Check the URL, and that the server runs",
    { cause: error },
  );
}

/** Why `fetch` failed. Its own message says only that it did. */
function reasonOf(error: unknown): string {
  const { cause, name, message } = Object(error) as {
    readonly cause?: { readonly code?: unknown };
    readonly name?: string;
    readonly message?: string;
  };
  if (name === "TimeoutError") return "no response in time";
  return String(cause?.code ?? message ?? error);
}
