/**
 * Payments of three payers. Nonces are the same in every sequence, so that a signature is made, and checked, once for all of them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { AcceptedRequirements, PaymentPayload, PaymentRequired, Scheme } from "@farebox/core";

import { exactEvm, uptoEvm } from "@farebox/evm";
import { createPayer } from "@farebox/testing";
import type { Change } from "../faults/random/plan.js";
import type { SendStep } from "./plan.js";

const PAYERS = [1, 2, 3].map((key) => createPayer({ privateKey: `0x${String(key).padStart(64, "0")}` }));

/** The payers' addresses. */
export const ADDRESSES: readonly string[] = PAYERS.map(({ address }) => address);

/** Which payer an address belongs to, for transcripts. */
export function payerOf(address: string): string {
  const at = ADDRESSES.findIndex((one) => one.toLowerCase() === address.toLowerCase());
  return at === -1 ? address : `payer ${at}`;
}

/** What a request asks for with its payment. */
export interface Variant {
  readonly path: "/goods" | "/more";
  readonly wish: number;
  /** A header. */
  readonly model: number;
  readonly withId: boolean;
  readonly isReversed: boolean;
  /** The client's own address. */
  readonly from: "127.0.0.1" | "127.0.0.2";
}

/** A payment of a sequence. */
export interface Payment {
  /** From 1. */
  readonly number: number;
  readonly payer: 0 | 1 | 2;
  readonly nonce: string;
  readonly document: PaymentPayload | string;
  readonly hasId: boolean;
  readonly step: SendStep;
  readonly home: Variant;
}

const signatures = new Map<string, Promise<PaymentPayload>>();
const good = new Set<string>();

/** Whether a payer has made this signature. */
export function isGood(signature: string): boolean {
  return good.has(signature);
}

/** Signs a payment for an offer, and spoils it as its step says. */
export async function sign(
  step: SendStep,
  number: number,
  challenge: PaymentRequired,
  nowMs: number,
): Promise<Payment> {
  const [offer] = challenge.accepts;
  if (offer === undefined) throw new Error("nothing is offered");
  const nonce = `0x${createHash("sha256").update(`nonce ${number}`).digest("hex")}` as const;
  // 15 seconds are left of those that expire soon.
  const atMs = nowMs - (step.isShort ? 285_000 : 0);
  const { payload } = await signOnce(step.payer, offer, nonce, atMs);
  const id = createHash("sha256").update(nonce).digest("base64url");
  const extensions = step.hasId
    ? { ...challenge.extensions, "payment-identifier": { info: { required: false, id } } }
    : challenge.extensions;
  const { resource } = challenge;
  const whole = {
    x402Version: 2,
    accepted: offer,
    payload,
    resource,
    ...(extensions && { extensions }),
  } as PaymentPayload;
  const home = { path: "/goods", wish: 1, model: 1, withId: step.hasId, isReversed: false, from: "127.0.0.1" } as const;
  return { number, payer: step.payer, nonce, document: spoil(whole, step.flaw), hasId: step.hasId, step, home };
}

function signOnce(
  payer: number,
  offer: AcceptedRequirements,
  nonce: `0x${string}`,
  atMs: number,
): Promise<PaymentPayload> {
  const key = JSON.stringify([payer, unquoted(offer), nonce, Math.floor(atMs / 1000)]);
  const known = signatures.get(key);
  if (known !== undefined) return known;
  const signer = PAYERS[payer] ?? PAYERS[0];
  if (signer === undefined) throw new Error("there are no payers");
  const options = { nonce, now: () => atMs };
  const signed = offer.scheme === "upto" ? signer.signUpto(offer, options) : signer.signExact(offer, options);
  const noted = signed.then((payment) => {
    good.add(String(payment.payload["signature"]));
    return payment;
  });
  signatures.set(key, noted);
  return noted;
}

function spoil(payment: PaymentPayload, flaw: SendStep["flaw"]): PaymentPayload | string {
  const { accepted } = payment;
  switch (flaw) {
    case "no base64":
      return "{not base64}";
    case "other amount":
      return { ...payment, accepted: { ...accepted, amount: "1" } };
    case "other payee":
      return { ...payment, accepted: { ...accepted, payTo: ADDRESSES[0] ?? "" } };
    case "other network":
      return { ...payment, accepted: { ...accepted, network: "eip155:1" } };
    case "version 1":
      return { ...payment, x402Version: 1 } as unknown as PaymentPayload;
    case "forged": {
      const signature = String(payment.payload["signature"]);
      const digit = signature[20] === "0" ? "1" : "0";
      const forged = `${signature.slice(0, 20)}${digit}${signature.slice(21)}`;
      return { ...payment, payload: { ...payment.payload, signature: forged } };
    }
    default:
      return payment;
  }
}

/** The value of `PAYMENT-SIGNATURE`. */
export function write({ document, hasId }: Payment, { withId, isReversed }: Variant): string {
  if (typeof document === "string") return document;
  const { extensions: _, ...rest } = document;
  const sent = hasId && !withId ? rest : document;
  return Buffer.from(JSON.stringify(isReversed ? reversed(sent) : sent)).toString("base64");
}

/** The same document with every object's keys the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, reversed(one)]),
  );
}

/** What a request with a payment asks for, if it differs from the payment's first one. */
export function changed(home: Variant, change: Change): Variant {
  switch (change) {
    case "other body":
      return { ...home, wish: 2 };
    case "other header":
      return { ...home, model: 2 };
    case "other route":
      return { ...home, path: "/more" };
    case "other key order":
      return { ...home, isReversed: true };
    case "without id":
      return { ...home, withId: false };
    case "other address":
      return { ...home, from: "127.0.0.2" };
    default:
      return home;
  }
}

/** No signature says anything of a quote, and each quote is another. */
function unquoted(requirements: { readonly extra?: unknown }): object {
  return { ...requirements, extra: { ...Object(requirements.extra), quote: undefined } };
}

type Checked = ReturnType<NonNullable<Scheme["checkSignature"]>>;

/** The schemes of every seller. What they find out about a signature is found out once. */
export const SCHEMES: readonly Scheme[] = [exactEvm(), uptoEvm()].map((scheme) => {
  const found = new Map<string, Checked>();
  return {
    ...scheme,
    checkSignature(payload: unknown, requirements: Parameters<NonNullable<Scheme["checkSignature"]>>[1]): Checked {
      const key = JSON.stringify([payload, unquoted(requirements)]);
      const known = found.get(key);
      if (known !== undefined) return known;
      const finding = scheme.checkSignature?.(payload, requirements) ?? { kind: "signed" as const };
      found.set(key, finding);
      return finding;
    },
  };
});
