/**
 * Sales by hand, for servers that respond with 402, verify and settle in code of their own: other frameworks, WebSockets,
 * queues. Each step goes through the gate, so one payment buys once, in all processes.
 *
 *   challenge   gate.challengeAt                                           what the resource costs
 *   verify      gate.decideAt → verified | granted | replay | refused      as for a request
 *   settle      admission.complete → settled | released | refused          as when a handler responds
 *   release     admission.release, admission.cancel                         nothing is charged
 *
 * @see `docs/guides/by-hand.md`
 * @module
 */
import { createHash } from "node:crypto";
import { StateError } from "../errors.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import { privateCacheControl } from "../http/cache-control.js";
import type { RouteConfig, StartTimer } from "../options.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { sameNetwork } from "../protocol/caip2.js";
import { writeCanonicalText } from "../protocol/canonical-text.js";
import type { PaymentRequired, PaymentRequirements, SettlementResponse } from "../protocol/documents.js";
import {
  decodePaymentRequired,
  decodePaymentResponse,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
} from "../protocol/headers.js";
import { isJsonObject, parseJson } from "../protocol/json.js";
import { isReason } from "../protocol/reasons.js";
import { isPaymentRequired } from "../protocol/validate.js";
import type { GateResponse } from "../sale/answers.js";
import type { HandlerResponse } from "../sale/charge.js";
import type { Admission, Decision, HeldAdmission } from "../sale/decision.js";
import type { Payment } from "../sale/handler.js";
import type { Sales } from "../sale/sale.js";
import {
  HandRequest,
  type KeptResponseByHand,
  type OptionsByHand,
  type PaidResponseByHand,
  type ResponseByHand,
  toHandlerResponse,
  toKeptByHand,
  toRecord,
  toResponseByHand,
} from "./hand-request.js";

/** What is sold by hand: a route, and where its resource is. */
export interface RouteByHand extends RouteConfig {
  /**
   * Absolute URL of the resource, for calls that name none.
   *
   * @example "https://api.example.com/weather"
   */
  readonly resource?: string;
}

/** A resource that is sold by hand. Each call is one step of a sale. */
export interface SaleByHand {
  /** Asks a client to pay: 402. No hook is asked. Never rejects for anything that a client can send. */
  challenge(options?: ChallengeOptionsByHand): Promise<ChallengeByHand>;
  /**
   * Claims a payment and has it verified. A payment is `verified` once: until it is released, and whatever process it is sent to.
   * Never rejects for anything that a client can send.
   *
   * @param payment - The value of `PAYMENT-SIGNATURE`, or the payment itself where it does not come in a header; `undefined`: there
   *   is none, and the client is asked to pay.
   */
  verify(payment: unknown, options?: OptionsByHand): Promise<VerificationByHand>;
}

/** About one challenge. */
export interface ChallengeOptionsByHand extends OptionsByHand {
  /**
   * Why the client has to pay.
   *
   * @defaultValue `"Payment required"`
   */
  readonly error?: string | undefined;
}

/** What a client gets that has to pay. */
export interface ChallengeByHand extends ResponseByHand {
  /** The challenge, for transports without headers. `undefined`: there is nothing to pay (200), or no way to pay right now (503). */
  readonly document: PaymentRequired | undefined;
}

/** What became of a payment that was to be verified. */
export type VerificationByHand =
  /** The payment is good, and nobody else has it: serve, then settle or release. */
  | { readonly kind: "verified"; readonly payment: PaymentByHand }
  /** A hook let the request through, or it costs nothing: serve without payment. */
  | { readonly kind: "granted" }
  /** The payment has bought this before: send the response that it bought. */
  | { readonly kind: "replay"; readonly response: KeptResponseByHand; readonly receipt: SettlementResponse | undefined }
  | RefusalByHand;

/** Nothing is sold: send this response. */
export interface RefusalByHand {
  readonly kind: "refused";
  readonly response: ResponseByHand;
  /** The code of the protocol: `insufficient_funds`; `undefined` if there is none, as for a request without a payment. */
  readonly reason: string | undefined;
  /** As the client is told: `invalid_payment_requirements: amount is not as offered`. */
  readonly error: string;
  /** Of a settlement that failed. */
  readonly receipt: SettlementResponse | undefined;
}

/** A verified payment. If it is neither settled nor released, it is free again when its time is over. */
export interface PaymentByHand {
  readonly payer: string;
  /** What was accepted. */
  readonly requirements: PaymentRequirements;
  /** As `req.payment` of a handler: `signal`, and `settle` and `charge` for what is metered. */
  readonly details: Payment;
  /** Of a payment that has settled before: with `settle: "before"`, or if an earlier response was lost. */
  readonly receipt: SettlementResponse | undefined;
  /**
   * Settles the payment. The first call counts; every later one resolves to the same. Never rejects for what a facilitator, a chain
   * or a store does.
   *
   * @throws ResponseError when the response could not be sent. Nothing is charged then, and the payment is released.
   * @throws AmountError when the amount is invalid, or more than was authorized.
   * @throws StateError when the payment was released, or the scheme takes all or nothing and the amount is not all.
   */
  settle(options?: SettleOptionsByHand): Promise<SettlementByHand>;
  /**
   * Charges nothing: the same payment can be sent again. One that has settled before runs once more then. Does nothing after
   * `settle`. Never rejects.
   */
  release(options?: ReleaseOptionsByHand): Promise<void>;
}

/** About one settlement. */
export interface SettleOptionsByHand {
  /**
   * For a scheme that charges less than was authorized: `"10000"`, `"12.34%"`, or `"$0.0123"` if the price is in dollars. Default: as
   * metered, or all.
   */
  readonly amount?: string | undefined;
  /**
   * What the client is about to get. It is kept until the client has it, so that the same payment sent again gets it, too. A
   * response that is not charged, such as a 404, charges nothing. Default: a response of 200 that is not kept.
   */
  readonly response?: PaidResponseByHand | undefined;
}

/** Why a payment is released. */
export interface ReleaseOptionsByHand {
  /**
   * `"client_gone"`: the client disconnected. Clients that do so again and again have to pay first.
   *
   * @defaultValue `"not_chargeable"`
   */
  readonly reason?: "not_chargeable" | "client_gone" | undefined;
}

/** How a settlement ended. */
export type SettlementByHand =
  /** The money moved: send the response, with these headers. */
  | {
      readonly kind: "settled";
      readonly receipt: SettlementResponse;
      /** `PAYMENT-RESPONSE`, and a `Cache-Control` that keeps shared caches off the response. */
      readonly headers: Readonly<Record<string, string>>;
      /** The client did not get the response: it is kept for the same payment sent again. Never rejects. */
      undelivered(): Promise<void>;
    }
  /** The response is not charged: send it with these headers. */
  | { readonly kind: "released"; readonly headers: Readonly<Record<string, string>> }
  | RefusalByHand;

/** What sales by hand need. */
export interface ByHandDeps {
  readonly gate: Pick<Sales, "decideAt" | "challengeAt">;
  readonly verified: VerifiedByHand;
  /** How much of a response is kept, in bytes. */
  readonly holdBytes: number;
  readonly timer: StartTimer;
}

/**
 * Creates a sale.
 *
 * @param resource - For calls that name none.
 */
export function createSaleByHand(route: PricedRoute, resource: string | undefined, deps: ByHandDeps): SaleByHand {
  const { gate } = deps;
  return {
    async challenge(options = {}) {
      const request = new HandRequest(undefined, resourceOf(resource, options), options);
      const decision = await gate.challengeAt(route, request, () => placeOf(options));
      if (decision.kind !== "respond") return { status: 200, headers: {}, body: "", document: undefined };
      return { ...toResponseByHand(decision.response), document: documentOf(decision.response) };
    },
    async verify(payment, options = {}) {
      const request = new HandRequest(payment, resourceOf(resource, options), options);
      const decision = await gate.decideAt(route, request, () => placeOf(options));
      return toVerification(decision, deps);
    },
  };
}

/** Without a resource, a client could not be told what it pays for. */
function resourceOf(resource: string | undefined, options: OptionsByHand): string | undefined {
  if (resource === undefined && options.resource === undefined && options.request?.url === undefined) {
    throw new StateError("by hand: name the resource, in the route or in the call, or pass the request with its url");
  }
  return resource;
}

function placeOf({ pathParams = {} }: OptionsByHand) {
  return { routeTemplate: undefined, pathParams };
}

function toVerification(decision: Decision, deps: ByHandDeps): VerificationByHand {
  if (decision.kind === "pass") return { kind: "granted" };
  if (decision.kind === "run") return { kind: "verified", payment: new HandPayment(decision.admission, deps) };
  const { response, isReplay = false } = decision;
  if (!isReplay) return toRefusal(response);
  return { kind: "replay", response: toKeptByHand(response), receipt: receiptOf(response.headers) };
}

function toRefusal(response: GateResponse): RefusalByHand {
  const error = errorOf(response);
  const [code] = error.split(":", 1);
  return {
    kind: "refused",
    response: toResponseByHand(response),
    reason: isReason(code) ? code : undefined,
    error,
    receipt: receiptOf(response.headers),
  };
}

/** What a response says about the payment: a challenge in its header, any other one in its body. */
function errorOf({ headers, body }: GateResponse): string {
  const challenge = headerOf(headers, PAYMENT_REQUIRED);
  const document = challenge === undefined ? undefined : decodePaymentRequired(challenge);
  if (document?.error !== undefined) return document.error;
  const json = parseJson(String(body));
  const error = json.ok && isJsonObject(json.value) ? json.value["error"] : undefined;
  return typeof error === "string" ? error : "";
}

/** The body has all of a challenge, unless it is a page or the seller's. The header may be shortened. */
function documentOf({ headers, body }: GateResponse): PaymentRequired | undefined {
  const header = headerOf(headers, PAYMENT_REQUIRED);
  if (header === undefined) return undefined;
  const json = parseJson(String(body));
  return json.ok && isPaymentRequired(json.value) ? json.value : decodePaymentRequired(header);
}

function receiptOf(headers: GateResponse["headers"]): SettlementResponse | undefined {
  const value = headerOf(headers, PAYMENT_RESPONSE);
  return value === undefined ? undefined : decodePaymentResponse(value);
}

function headerOf(headers: GateResponse["headers"], sought: string): string | undefined {
  const value = headers.find(([name]) => name === sought)?.[1];
  return value === undefined ? undefined : String(value);
}

/** One verified payment, until it is settled, released or free again. */
class HandPayment implements PaymentByHand {
  readonly payer: string;
  readonly requirements: PaymentRequirements;
  readonly details: Payment;
  readonly receipt: SettlementResponse | undefined;
  readonly #admission: Admission;
  readonly #deps: ByHandDeps;
  readonly #stopTimer: (() => void) | undefined;
  #settling: Promise<SettlementByHand> | undefined;
  #releasing: Promise<void> | undefined;
  #expired: Promise<GateResponse> | undefined;

  constructor(admission: Admission, deps: ByHandDeps) {
    const { payment, request, receipt } = admission;
    this.payer = payment.payer;
    this.requirements = request.paymentRequirements;
    this.details = payment;
    this.receipt = receipt;
    this.#admission = admission;
    this.#deps = deps;
    deps.verified.add(request, this);
    if (receipt !== undefined) {
      // It cannot expire any more, and a server may forget it.
      const delayMs = this.requirements.maxTimeoutSeconds * 1000;
      this.#stopTimer = deps.timer(() => void this.release({ reason: "client_gone" }), delayMs);
    } else if (admission.isHeld) {
      admission.onExpired((instead) => {
        this.#expired = instead;
        deps.verified.remove(request, this);
      });
    }
  }

  async settle({ amount, response }: SettleOptionsByHand = {}): Promise<SettlementByHand> {
    if (this.#settling !== undefined) return this.#settling;
    if (this.#expired !== undefined) return toRefusal(await this.#expired);
    if (this.#releasing !== undefined) throw new StateError("settle: the payment was released");
    let held: HandlerResponse;
    try {
      held = toHandlerResponse(response, this.#deps.holdBytes);
    } catch (error) {
      // As if a handler had thrown.
      await this.release();
      throw error;
    }
    if (amount !== undefined) this.details.settle(amount);
    this.#settling = this.#settle(held);
    return this.#settling;
  }

  async release({ reason = "not_chargeable" }: ReleaseOptionsByHand = {}): Promise<void> {
    if (this.#settling !== undefined || this.#expired !== undefined) return;
    this.#releasing ??= this.#release(reason);
    await this.#releasing;
  }

  async #settle(response: HandlerResponse): Promise<SettlementByHand> {
    const admission = this.#admission;
    try {
      return await (admission.isHeld ? complete(admission, response) : this.#deliver(response));
    } finally {
      this.#end();
    }
  }

  /** The payment has settled before it was served. */
  async #deliver({ status, headers: given }: HandlerResponse): Promise<SettlementByHand> {
    const admission = this.#admission;
    if (admission.isHeld) throw new TypeError("the payment has yet to settle");
    const isFailed = status >= 500;
    if (status >= 400) await admission.fail(status);
    admission.done();
    const headers = isFailed ? [...admission.headers, ...admission.failureHeaders] : admission.headers;
    // The response was streamed, as with a handler: it is not kept, but made once more. What a failure is owed has been decided.
    return settled(headers, given, async () => (status >= 400 ? undefined : admission.cancel()));
  }

  async #release(reason: "not_chargeable" | "client_gone"): Promise<void> {
    const admission = this.#admission;
    this.#end();
    if (admission.isHeld && reason === "not_chargeable") return admission.release();
    await admission.cancel();
    if (admission.isHeld) admission.handlerEnded();
  }

  #end(): void {
    this.#stopTimer?.();
    this.#deps.verified.remove(this.#admission.request, this);
  }
}

async function complete(admission: HeldAdmission, response: HandlerResponse): Promise<SettlementByHand> {
  admission.handlerEnded();
  const release = await admission.complete(response);
  if (release.kind === "replace") return toRefusal(release.response);
  if (!release.paid) return { kind: "released", headers: toRecord(release.headers) };
  admission.done();
  return settled(release.headers, response.headers, () => admission.unreleased(response));
}

function settled(
  headers: GateResponse["headers"],
  given: HandlerResponse["headers"],
  undelivered: () => Promise<void>,
): SettlementByHand {
  const receipt = receiptOf(headers);
  if (receipt === undefined) throw new TypeError("a paid response without a receipt");
  const current = given.find(([name]) => name.toLowerCase() === "cache-control")?.[1];
  const cacheControl = privateCacheControl(current === undefined ? undefined : String(current));
  return { kind: "settled", receipt, headers: { ...toRecord(headers), "Cache-Control": cacheControl }, undelivered };
}

/** So many terms are remembered. Each takes a few kilobytes. */
const MAX_ROUTES = 256;

/** Routes by the text of their terms, for servers whose terms are only known at a request. The oldest are forgotten. */
export class RoutesByTerms {
  readonly #byKey = new Map<string, PricedRoute>();

  /** How many there are. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Terms with functions have no text: they are compiled anew each time. */
  get(terms: RouteConfig, compile: () => PricedRoute): PricedRoute {
    const key = keyOf(terms);
    if (key === undefined) return compile();
    const known = this.#byKey.get(key);
    const route = known ?? compile();
    if (known !== undefined) this.#byKey.delete(key);
    this.#byKey.set(key, route);
    const [oldest] = this.#byKey.size > MAX_ROUTES ? this.#byKey.keys() : [];
    if (oldest !== undefined) this.#byKey.delete(oldest);
    return route;
  }
}

/** The payments that are verified and neither settled nor released, by what their payers signed. */
export class VerifiedByHand {
  readonly #byPayload = new Map<string, PaymentByHand>();

  /** How many there are. */
  get size(): number {
    return this.#byPayload.size;
  }

  /** Finds a payment again, by its canonical payload and the terms that it accepted. */
  find({ payload }: { readonly payload: unknown }, terms: PaymentRequirements): PaymentByHand | undefined {
    try {
      const found = this.#byPayload.get(keyOf(payload) ?? "");
      return found !== undefined && areSameTerms(found.requirements, terms) ? found : undefined;
    } catch {
      // The terms may be what a client sent.
      return undefined;
    }
  }

  add({ paymentPayload }: FacilitatorRequest, payment: PaymentByHand): void {
    const key = keyOf(paymentPayload.payload);
    if (key !== undefined) this.#byPayload.set(key, payment);
  }

  remove({ paymentPayload }: FacilitatorRequest, payment: PaymentByHand): void {
    const key = keyOf(paymentPayload.payload);
    if (key !== undefined && this.#byPayload.get(key) === payment) this.#byPayload.delete(key);
  }
}

/** `undefined`: the value has no text. */
function keyOf(value: unknown): string | undefined {
  try {
    const hash = createHash("sha256");
    writeCanonicalText(value, hash);
    return hash.digest("base64url");
  } catch {
    return undefined;
  }
}

function areSameTerms(ours: PaymentRequirements, theirs: PaymentRequirements): boolean {
  return (
    ours.scheme === theirs.scheme &&
    ours.amount === theirs.amount &&
    sameNetwork(ours.network, theirs.network) &&
    ours.asset.toLowerCase() === theirs.asset.toLowerCase() &&
    ours.payTo.toLowerCase() === theirs.payTo.toLowerCase()
  );
}
