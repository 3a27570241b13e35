/**
 * Payments for load: each one has a nonce of its own.
 *
 * To sign takes longer than to serve. A seller checks no signature after 64 good ones, as long as the facilitator accepts the
 * payments. So a load begins with payments that are signed, and goes on with new payments that repeat a signature: the bytes
 * are as many, and the seller's work is the same.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { AcceptedRequirements, PaymentRequired } from "@farebox/core";
import { createPayer, type Payer } from "@farebox/testing";
import { record } from "../recorded.js";

/** Payments that a load sends before it counts: more than a seller checks. */
export const SIGNED_FIRST = 128;

/** How many payers there are. */
const PAYERS = 64;

/** How long a payment that repeats a signature is valid. */
const VALID_SECONDS = 60;

/** A signed payment in pieces, without its nonce and its expiry. */
interface Template {
  readonly beforeExpiry: string;
  readonly beforeNonce: string;
  readonly end: string;
}

/** Makes payments for the first offer of a route: the values of `PAYMENT-SIGNATURE`. */
export class Mint {
  readonly #challenge: PaymentRequired;
  readonly #payers: readonly Payer[] = Array.from({ length: PAYERS }, () => createPayer());
  readonly #templates: Template[] = [];
  /** No other process has it. */
  readonly #noncePrefix = randomBytes(24).toString("hex");
  #count = 0;

  private constructor(challenge: PaymentRequired) {
    this.#challenge = challenge;
  }

  /** Reads the terms at a URL that asks for payment. */
  static async open(payAt: string): Promise<Mint> {
    const { headers } = await record(payAt);
    return new Mint(JSON.parse(Buffer.from(headers["payment-required"] ?? "", "base64").toString("utf8")));
  }

  /** A payment that its payer has signed. It is valid as long as the offer says, and `laterMs` longer. */
  async sign(laterMs = 0): Promise<string> {
    const payer = this.#payers[this.#count++ % PAYERS] as Payer;
    const offer = this.#challenge.accepts[0] as AcceptedRequirements;
    const now = () => Date.now() + laterMs;
    const sign = offer.scheme === "upto" ? payer.signUpto : payer.signExact;
    const payment = JSON.stringify(await sign(offer, { challenge: this.#challenge, now }));
    if (offer.scheme === "exact" && this.#templates.length < PAYERS) this.#templates.push(toTemplate(payment));
    return encode(payment);
  }

  /** A new payment by `exact` that repeats the signature of one that was signed. */
  next(): string {
    const template = this.#templates[this.#count % this.#templates.length];
    if (template === undefined) throw new Error("sign comes first");
    const nonce = this.#noncePrefix + (this.#count++).toString(16).padStart(16, "0");
    const expiry = Math.floor(Date.now() / 1000) + VALID_SECONDS;
    return encode(template.beforeExpiry + expiry + template.beforeNonce + nonce + template.end);
  }
}

function toTemplate(payment: string): Template {
  const { validBefore, nonce } = JSON.parse(payment).payload.authorization;
  const [beforeExpiry = "", afterExpiry = ""] = payment.split(validBefore, 2);
  const [beforeNonce = "", end = ""] = afterExpiry.split(nonce.slice(2), 2);
  return { beforeExpiry, beforeNonce, end };
}

/** JSON of these payments is ASCII. */
function encode(payment: string): string {
  return Buffer.from(payment, "latin1").toString("base64");
}
