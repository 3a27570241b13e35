/**
 * A request as the seller's functions see it. Every part that costs something is read when it is asked for.
 *
 * @module
 */

import type { PricedRequest } from "../events/hooks.js";
import type { PaymentPayload } from "../protocol/documents.js";
import {
  type DecodedPayment,
  decodePayment,
  decodePaymentSignature,
  PAYMENT_RETRY_TOKEN,
} from "../protocol/headers.js";
import { fullPathOf, type GateRequest } from "./request.js";

/** A request that a route matched. */
export interface SeenRequest {
  readonly route: { readonly key: string };
  readonly request: GateRequest;
  /** Absolute URL of the resource. */
  readonly url: string;
  readonly locate: () => { readonly pathParams: Readonly<Record<string, string>> };
}

/** Whether a request carries a payment, valid or not. */
export function hasPayment({ payment, paymentSignature }: GateRequest): boolean {
  return payment !== undefined || paymentSignature !== undefined;
}

/** Reads the payment of a request. Never throws. */
export function decodePaymentOf({ payment, paymentSignature }: GateRequest): DecodedPayment {
  return payment === undefined ? decodePaymentSignature(paymentSignature) : decodePayment(payment);
}

/** The request that the seller's functions see. */
export class SellersRequest implements PricedRequest {
  readonly method: string;
  readonly path: string;
  readonly url: string;
  readonly route: string;
  readonly hasPayment: boolean;
  readonly #seen: SeenRequest;
  #payment: { readonly value: PaymentPayload | undefined } | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  /** @param payment - If it is known. The header is removed from a request that was paid for. */
  constructor(seen: SeenRequest, payment?: PaymentPayload) {
    const { request, url, route } = seen;
    this.method = request.method;
    this.path = fullPathOf(request);
    this.url = url;
    this.route = route.key;
    this.hasPayment = payment !== undefined || hasPayment(request);
    this.#seen = seen;
    if (payment !== undefined) this.#payment = { value: freeze(payment) };
  }

  get search(): string {
    return this.#seen.request.search;
  }

  /** For compatibility packages: the path below the mount of the table. */
  get pathInMount(): string {
    return this.#seen.request.path;
  }

  get pathParams(): Readonly<Record<string, string>> {
    return this.#seen.locate().pathParams;
  }

  /** A function without `this`, because sellers take it out of the request. */
  get header(): PricedRequest["header"] {
    const { request } = this.#seen;
    return (name) => {
      if (String(name).toLowerCase() === TOKEN) return undefined;
      // `constructor` and the like: every object has these names.
      const value: unknown = request.header?.(name);
      return typeof value === "string" ? value : undefined;
    };
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= withoutToken(this.#seen.request.headers ?? {});
    return this.#headers;
  }

  get body(): unknown {
    return this.#seen.request.body;
  }

  get payment(): PaymentPayload | undefined {
    if (this.#payment === undefined) {
      const decoded = decodePaymentOf(this.#seen.request);
      this.#payment = { value: decoded.kind === "present" ? freeze(decoded.payment) : undefined };
    }
    return this.#payment.value;
  }

  get native(): unknown {
    return this.#seen.request.native;
  }

  toJSON(): Omit<PricedRequest, "header" | "native"> {
    return writeRequest(this);
  }
}

/** By it a client gets the response to its payment, so it is for nobody else: no hook, and no log. */
const TOKEN = PAYMENT_RETRY_TOKEN.toLowerCase();

function withoutToken(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!(TOKEN in headers)) return headers;
  const others = Object.entries(headers).filter(([name]) => name !== TOKEN);
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(others)));
}

/** A request for JSON: all but the framework's own request. */
export function writeRequest(request: PricedRequest): Omit<PricedRequest, "header" | "native"> {
  const { method, path, search, url, route, pathParams, hasPayment, headers, body, payment } = request;
  return { method, path, search, url, route, pathParams, hasPayment, headers, body: writable(body), payment };
}

/** A parser of the seller's can make anything of a body. */
function writable(body: unknown): unknown {
  try {
    JSON.stringify(body);
    return body;
  } catch {
    return "[not JSON]";
  }
}

/** The payment goes to the facilitator as it is: a hook cannot change it by mistake. It is JSON of a limited depth. */
export function freeze<T extends object>(document: T): T {
  if (Object.isFrozen(document)) return document;
  for (const value of Object.values(document)) if (typeof value === "object" && value !== null) freeze(value);
  return Object.freeze(document);
}
