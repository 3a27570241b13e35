/**
 * The challenge, the way to pay that was chosen, and a signed payment for it.
 *
 * @module
 */
import type { OptionData } from "../src/page-data.js";

/** One of the challenge's offers. */
export interface Requirements {
  readonly scheme: string;
  readonly network: string;
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** The document that asks for payment. */
export interface Challenge {
  readonly error?: string;
  readonly resource: unknown;
  readonly accepts: readonly Requirements[];
  readonly extensions?: Readonly<Record<string, { readonly info?: Readonly<Record<string, unknown>> }>>;
}

/** A way to pay. */
export interface Option {
  readonly requirements: Requirements;
  readonly data: OptionData;
}

/** What a wallet has signed. */
export interface Signed {
  readonly payer: string;
  readonly payload: object;
  /** What the payment says besides about extensions. */
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** A step that the person sees. */
export type Step = "connect" | "network" | "allow" | "sign" | "send";

/** What a wallet's part of the payment needs from the page. */
export interface Signing {
  readonly challenge: Challenge;
  /** Unix seconds by the server's clock. */
  readonly now: () => number;
  /** Says what is waited for. */
  readonly onStep: (step: Step, text: string) => void;
  readonly onBalance: (atomic: bigint) => void;
  readonly texts: Readonly<Record<string, string>>;
  readonly wallet: string;
}

/** Why a payment did not come about, in words for the person. */
export class PayError extends Error {}

/** Writes the value of `PAYMENT-SIGNATURE`. */
export function writePayment(challenge: Challenge, { requirements }: Option, signed: Signed): string {
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = requirements;
  const identifier = challenge.extensions?.["payment-identifier"] && {
    "payment-identifier": { info: { ...challenge.extensions["payment-identifier"].info, id: `page_${randomHex(16)}` } },
  };
  const extensions = { ...identifier, ...signed.extensions };
  return encodeBase64(
    JSON.stringify({
      x402Version: 2,
      resource: challenge.resource,
      accepted: { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra },
      payload: signed.payload,
      ...(Object.keys(extensions).length > 0 && { extensions }),
    }),
  );
}

/** Text as base64. */
function encodeBase64(text: string): string {
  return bytesToBase64(new TextEncoder().encode(text));
}

/** Bytes as base64. */
export function bytesToBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** JSON in base64; `undefined` if it is none. */
export function decodeJson(base64: string | null): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64 ?? ""), (character) => character.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Random bytes in hexadecimal. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

/** `10000` of 6 decimals is `0.01`. */
function formatUnits(atomic: bigint, decimals: number): string {
  const digits = atomic.toString().padStart(decimals + 1, "0");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 || fraction === "" ? (decimals === 0 ? digits : whole) : `${whole}.${fraction}`;
}

/** An amount of the option's token. */
export function amountText(atomic: bigint, { decimals, symbol }: OptionData): string {
  return `${decimals === null ? atomic : formatUnits(atomic, decimals)} ${symbol}`;
}
