/**
 * Receipts by URL: how a client learns what a metered response has cost, if it reads neither trailers nor events.
 *
 * The URL has the payment's identity and a token, so that only the client that got the response can read its receipt.
 *
 * @see `docs/guides/metered.md`
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { SettlementResponse } from "../protocol/documents.js";
import { PAYMENT_RECEIPT_URL } from "../protocol/headers.js";
import { type GateResponse, type Headers, receiptOf, receiptPending, receiptUnknown } from "../sale/answers.js";
import type { PaidRequest } from "../sale/request.js";
import type { PaymentRecord, PaymentStore } from "../store/payment-store.js";

/** Where receipts are, below the origin of the server. */
export const RECEIPTS_PATH = "/.well-known/x402/receipts/";

/** What receipts need. */
export interface ReceiptsDeps {
  readonly store: Pick<PaymentStore, "find">;
  /** Final before the first payment. */
  readonly secret: () => Uint8Array;
  /** Where clients reach this server. Default: where the request went. */
  readonly publicUrl: string | undefined;
}

/** Gives out receipts. */
export class Receipts {
  readonly #deps: ReceiptsDeps;
  /** Whether a handler of the server responds to the URLs. */
  #isServed = false;

  constructor(deps: ReceiptsDeps) {
    this.#deps = deps;
  }

  /** From now on responses name the URL of their receipt. */
  serve(): void {
    this.#isServed = true;
  }

  /** The header that names the URL of a receipt. */
  headersFor({ claim, matched }: Pick<PaidRequest, "claim" | "matched">): Headers {
    if (!this.#isServed || !URL.canParse(matched.requestUrl)) return [];
    const { publicUrl = new URL(matched.requestUrl).origin } = this.#deps;
    return [[PAYMENT_RECEIPT_URL, publicUrl + RECEIPTS_PATH + this.#nameOf(claim.identity)]];
  }

  /** The receipt of a name from such a URL. Rejects if the store fails. */
  async find(name: string): Promise<GateResponse> {
    const identity = this.#identityOf(name);
    const record = identity === undefined ? undefined : await this.#deps.store.find(identity);
    return record === undefined ? receiptUnknown() : toResponse(record);
  }

  #nameOf(identity: string): string {
    return `${Buffer.from(identity).toString("base64url")}.${this.#digestOf(identity).toString("base64url")}`;
  }

  #identityOf(name: string): string | undefined {
    const [, encoded, token] = NAME.exec(name) ?? [];
    if (encoded === undefined || token === undefined) return undefined;
    const identity = Buffer.from(encoded, "base64url").toString();
    const isGood = timingSafeEqual(Buffer.from(token, "base64url"), this.#digestOf(identity));
    return isGood ? identity : undefined;
  }

  #digestOf(identity: string): Buffer {
    return createHmac("sha256", this.#deps.secret())
      .update(JSON.stringify(["farebox-receipt-1", identity]))
      .digest();
  }
}

/** An identity has up to 2000 characters. */
const NAME = /^([\w-]{1,11000})\.([\w-]{43})$/;

function toResponse({ state, receipt }: PaymentRecord): GateResponse {
  const isOver = state === "settled" || state === "owed" || state === "rejected" || state === "due";
  return isOver && receipt !== undefined ? receiptOf(receipt satisfies SettlementResponse) : receiptPending();
}
