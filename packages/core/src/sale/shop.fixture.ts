/**
 * A gate for tests: a scheme without signatures, a fake facilitator, and a clock that only the test moves.
 *
 * @module
 */

import { createPaymentsGate } from "../engine.js";
import type { LogFields, Logger } from "../events/logger.js";
import type { Facilitator, FacilitatorRequest } from "../facilitator/facilitator.js";
import type { PaymentsOptions, RoutesConfig, StartTimer } from "../options.js";
import { parsePrice } from "../price/price.js";
import type { PaymentPayload, SettlementResponse, VerifyResponse } from "../protocol/documents.js";
import { encodePaymentSignature } from "../protocol/headers.js";
import { isJsonObject } from "../protocol/json.js";
import type { GateRequest } from "../route/request.js";
import type { PaymentReading, Scheme } from "../scheme/scheme.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { HandlerResponse } from "./charge.js";
import type { Decision, HeldAdmission, PrepaidAdmission } from "./decision.js";

export const NETWORK = "eip155:84532" as const;
export const ASSET = "0xASSET";
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" as const;
export const PAYER = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
export const NOW_SECONDS = 1_800_000_000;

export const ROUTES: RoutesConfig = {
  "GET /weather": { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO }, description: "Weather" },
  "GET /news": { accepts: { network: NETWORK, price: "$0.02", payTo: PAY_TO } },
};

/** A payload of the test's scheme. Without a nonce, it is refused. */
export interface TestPayload {
  readonly nonce: string;
  readonly payer: string;
  readonly expiresAtSeconds: number;
}

/** `exact` without signatures: the reading repeats the payload. */
export function createTestScheme(changes: Partial<Scheme> = {}): Scheme {
  return {
    scheme: "exact",
    networks: "eip155:*",
    compileTerms({ price, payTo }) {
      const asset = { id: ASSET, symbol: "USDC", decimals: 6, extra: { name: "USDC", version: "2" } };
      const parsed =
        typeof price === "string" ? parsePrice(price, [asset]) : { ok: true as const, amount: BigInt(price.amount) };
      if (!parsed.ok) return { ok: false, issues: [{ term: "price", expected: parsed.expected }] };
      return { ok: true, asset, amount: parsed.amount, payTo };
    },
    sameAddress: (a, b) => a.toLowerCase() === b.toLowerCase(),
    readPayment: (payload, { network }, nowSeconds): PaymentReading => {
      const { nonce, payer, expiresAtSeconds } = payload as TestPayload;
      if (typeof nonce !== "string") return { kind: "refused", reason: "invalid_payload" };
      return {
        kind: expiresAtSeconds < nowSeconds ? "expired" : "readable",
        payload: { nonce, payer, expiresAtSeconds },
        identity: `${network}|${nonce}`,
        payer,
        expiresAtSeconds,
        expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
      };
    },
    ...changes,
  };
}

/** A facilitator whose responses the test sets. An `Error` is thrown, and a function is called. */
export interface FakeFacilitator extends Facilitator {
  verifies: unknown;
  settles: unknown;
  /** Default: a promise that never settles. */
  supports: unknown;
  /** Every call, in order. */
  readonly calls: { readonly operation: "verify" | "settle"; readonly request: FacilitatorRequest }[];
  count(operation: "verify" | "settle"): number;
}

export const VALID: VerifyResponse = { isValid: true, payer: PAYER };
export const SETTLED: SettlementResponse = { success: true, transaction: "0xabc", network: NETWORK, payer: PAYER };

export function createFakeFacilitator(): FakeFacilitator {
  const respond = async (value: unknown): Promise<never> => {
    if (value instanceof Error) throw value;
    return (typeof value === "function" ? await value() : value) as never;
  };
  const facilitator: FakeFacilitator = {
    verifies: VALID,
    settles: SETTLED,
    supports: new Promise(() => {}),
    calls: [],
    count: (operation) => facilitator.calls.filter((call) => call.operation === operation).length,
    verify(request) {
      facilitator.calls.push({ operation: "verify", request });
      return respond(facilitator.verifies);
    },
    settle(request) {
      facilitator.calls.push({ operation: "settle", request });
      const { nonce } = request.paymentPayload.payload;
      const { settles } = facilitator;
      // A transaction pays for one payment.
      const isOther = nonce !== "n1" && typeof settles === "object" && settles !== null && !(settles instanceof Error);
      const { success, transaction } = settles as SettlementResponse;
      const settled = isOther && success && transaction === SETTLED.transaction;
      return respond(settled ? { ...settles, transaction: `${transaction}-${nonce}` } : settles);
    },
    supported: () => respond(facilitator.supports),
  };
  return facilitator;
}

export interface ShopOptions extends Partial<PaymentsOptions> {
  readonly routes?: RoutesConfig;
  readonly scheme?: Scheme;
}

export function createShop({ routes = ROUTES, scheme = createTestScheme(), ...options }: ShopOptions = {}) {
  const { clock, timer, passTime } = createTime();
  const now = () => clock.ms;
  const facilitator = createFakeFacilitator();
  const store = options.store ?? createMemoryStore(now);
  const log: { readonly event: string; readonly fields: LogFields }[] = [];
  // The pool tests check the events of facilitators.
  const note = (event: string, fields: LogFields) =>
    void (event.startsWith("facilitator_") || log.push({ event, fields }));
  const logger: Logger = { info: note, warn: note, error: note };
  const given = { facilitator, now, timer, logger, ...options, store };
  const { engine, gate } = createPaymentsGate(routes, given, { schemes: [scheme] });
  const ask = async (request: Partial<GateRequest> = {}) => gate.decide({ ...REQUEST, ...request });
  return {
    clock,
    passTime,
    engine,
    facilitator,
    store,
    log,
    ask,
    /** Sends a request with a payment. */
    pay: (payment: PaymentOverrides = {}, request: Partial<GateRequest> = {}) =>
      ask({ ...request, paymentSignature: headerOf(payment) }),
  };
}

/** A clock and timers that only move when the test passes time. */
export function createTime() {
  const clock = { ms: NOW_SECONDS * 1000 };
  const timers = new Set<{ readonly atMs: number; readonly act: () => void }>();
  const timer: StartTimer = (act, delayMs) => {
    const started = { atMs: clock.ms + delayMs, act };
    timers.add(started);
    return () => void timers.delete(started);
  };
  /** Moves the clock, fires the timers that are due, and waits for pending work. */
  const passTime = async (ms: number) => {
    // Earlier calls get as far as they can before the clock moves.
    await new Promise(setImmediate);
    clock.ms += ms;
    for (const started of [...timers]) {
      if (started.atMs > clock.ms || !timers.delete(started)) continue;
      started.act();
    }
    await new Promise(setImmediate);
  };
  return { clock, timer, passTime };
}

export const REQUEST: GateRequest = {
  method: "GET",
  path: "/weather",
  mountPath: "",
  search: "",
  origin: "http://shop.example",
  accept: undefined,
  userAgent: undefined,
  paymentSignature: undefined,
};

export interface PaymentOverrides {
  readonly payload?: Partial<TestPayload> & Record<string, unknown>;
  readonly accepted?: Partial<PaymentPayload["accepted"]>;
  readonly extensions?: Readonly<Record<string, unknown>> | null;
  readonly resource?: unknown;
}

export function paymentOf({ payload, accepted, ...rest }: PaymentOverrides = {}): PaymentPayload {
  const offer = { scheme: "exact", network: NETWORK, asset: ASSET, payTo: PAY_TO, amount: "10000" };
  return {
    x402Version: 2,
    accepted: { ...offer, ...accepted },
    payload: { nonce: "n1", payer: PAYER, expiresAtSeconds: NOW_SECONDS + 300, ...payload },
    ...rest,
  };
}

export function headerOf(payment: PaymentOverrides = {}): string {
  return encodePaymentSignature(paymentOf(payment));
}

export const HANDLED: HandlerResponse = {
  status: 200,
  headers: [["Content-Type", "text/plain"]],
  body: Buffer.from("sunny"),
};

/** A response, with its headers by lower-case name and its body parsed. */
export function responseOf(decision: Decision) {
  if (decision.kind !== "respond") throw new TypeError(`expected a response, got ${decision.kind}`);
  return readResponse(decision.response);
}

export function readResponse({ status, headers, body }: Extract<Decision, { kind: "respond" }>["response"]) {
  const byName = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)]));
  const text = Buffer.from(body).toString("utf8");
  return { status, headers: byName, text, json: parse(text) };
}

/** Decodes a payment header: base64 of JSON. */
export function decodeHeader(value: string | undefined): Readonly<Record<string, unknown>> {
  return parse(Buffer.from(value ?? "", "base64").toString("utf8"));
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

export function admissionOf(decision: Decision) {
  if (!isHeld(decision)) throw new TypeError(`not admitted: ${JSON.stringify(responseOf(decision).json)}`);
  return decision.admission;
}

/** Whether the handler runs, and its response is held until the payment has settled. */
export function isHeld(decision: Decision): decision is { kind: "run"; admission: HeldAdmission } {
  return decision.kind === "run" && decision.admission.isHeld;
}

/** Whether the handler runs for a payment that has settled. */
export function isPrepaid(decision: Decision): decision is { kind: "run"; admission: PrepaidAdmission } {
  return decision.kind === "run" && !decision.admission.isHeld;
}

/** The kind of a decision, in one word. */
export function stageOf(decision: Decision): "pass" | "granted" | "respond" | "held" | "prepaid" {
  if (decision.kind === "pass") return decision.isGranted ? "granted" : "pass";
  if (decision.kind === "respond") return "respond";
  return decision.admission.isHeld ? "held" : "prepaid";
}
