/**
 * The body of `verify` and `settle`, as far as it is the same for both schemes and both transfer methods. The body is
 * untrusted, so each reader is total: it yields a typed value, or none, or the reason for a refusal.
 *
 * @see x402 v2 §5.1.2 and §7.1; schemes `exact` and `upto` on EVM
 * @module
 */
import { isJsonObject } from "@farebox/core/protocol";
import { accept, type Fields, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import type { Address, Hex } from "viem";
import { isAddressShaped, lowerCase } from "../address.js";
import type { AssetTransferMethod } from "../compile-terms.js";
import { isWord, readUint256 } from "../payload-fields.js";

/** The objects of a request. */
export interface Envelope {
  readonly accepted: Fields;
  readonly payload: Fields;
  readonly requirements: Fields;
  /** The payment's extensions; `{}` without any. */
  readonly extensions: Fields;
}

/** Reads the body. */
export function readEnvelope(request: unknown): Reading<Envelope> {
  const body = readFields(request);
  if (body === undefined) return refuse("invalid_payload", "the request is not an object");
  if (body["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the request is not 2");
  const payment = readFields(body["paymentPayload"]);
  if (payment === undefined) return refuse("invalid_payload", "paymentPayload is not an object");
  if (payment["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the payment is not 2");
  const requirements = readFields(body["paymentRequirements"]);
  if (requirements === undefined) return refuse("invalid_payment_requirements", "paymentRequirements is not an object");
  const accepted = readFields(payment["accepted"]);
  if (accepted === undefined) return refuse("invalid_payload", "accepted is not an object");
  const payload = readFields(payment["payload"]);
  if (payload === undefined) return refuse("invalid_payload", "payload is not an object");
  return accept({ accepted, payload, requirements, extensions: readFields(payment["extensions"]) ?? {} });
}

/** Reads the payer as the client wrote it: the `from` of an authorization. */
export function readPayer(authorization: unknown): string | undefined {
  const from = readFields(authorization)?.["from"];
  return isAddressShaped(from) ? from : undefined;
}

/** One scheme on one chain. */
export interface PaymentKind {
  readonly scheme: "exact" | "upto";
  /** CAIP-2. */
  readonly network: string;
  readonly chainId: number;
}

/** The terms of a payment: the `paymentRequirements` of a request. Addresses are in lower case. */
export interface Terms {
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  /** The scheme's own fields, unchecked. */
  readonly extra: Fields;
}

const INVALID = "invalid_payment_requirements";

/** Reads `paymentRequirements`. */
export function readTerms(requirements: Fields, { scheme, network }: PaymentKind): Reading<Terms> {
  if (requirements["scheme"] !== scheme) return refuse("unsupported_scheme", `the scheme is not ${scheme}`);
  if (requirements["network"] !== network) return refuse("invalid_network", `the network is not ${network}`);

  const asset = readAddress(requirements["asset"]);
  if (asset === undefined) return refuse(INVALID, "asset is not an address");
  const payTo = readAddress(requirements["payTo"]);
  if (payTo === undefined) return refuse(INVALID, "payTo is not an address");
  const amount = readUint256(requirements["amount"]);
  if (amount === undefined) return refuse(INVALID, "amount is not a decimal string");
  const seconds = requirements["maxTimeoutSeconds"];
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds <= 0) {
    return refuse(INVALID, "maxTimeoutSeconds is not a number above zero");
  }
  const extra = readFields(requirements["extra"]);
  return extra === undefined ? refuse(INVALID, "extra is not an object") : accept({ asset, payTo, amount, extra });
}

/** Reads the transfer method of the terms. */
export function readTransferMethod({ extra }: Terms, usual: AssetTransferMethod): Reading<AssetTransferMethod> {
  const method = extra["assetTransferMethod"] ?? usual;
  if (method === "eip3009" || method === "permit2") return accept(method);
  return refuse(INVALID, "extra.assetTransferMethod is neither eip3009 nor permit2");
}

/** The token's EIP-712 domain, in the seller's words. */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
}

/** No token has a longer name or version in its EIP-712 domain. */
const MAX_DOMAIN_TEXT = 256;

/** Reads the token's domain, in which payers sign authorizations by EIP-3009. */
export function readDomain({ extra }: Terms): Reading<TokenDomain> {
  const name = readText(extra["name"], MAX_DOMAIN_TEXT);
  const version = readText(extra["version"], MAX_DOMAIN_TEXT);
  if (name !== undefined && version !== undefined) return accept({ name, version });
  return refuse(INVALID, "extra has no name and version of the token's EIP-712 domain");
}

/**
 * Checks that `accepted` agrees with the terms in the five fields that identify an offer. Other fields do not count: some
 * clients drop fields that they do not know.
 */
export function checkAccepted(
  accepted: Fields,
  terms: Pick<Terms, "asset" | "payTo" | "amount">,
  { scheme, network }: PaymentKind,
): Refusal | undefined {
  if (accepted["scheme"] !== scheme) return refuse("invalid_scheme", "accepted has another scheme");
  if (accepted["network"] !== network) return refuse("invalid_network", "accepted has another network");
  if (readAddress(accepted["asset"]) !== terms.asset) return refuse("invalid_payload", "accepted has another asset");
  if (readAddress(accepted["payTo"]) !== terms.payTo) {
    return refuse("invalid_exact_evm_payload_recipient_mismatch", "accepted has another payTo");
  }
  if (readUint256(accepted["amount"] ?? accepted["maxAmountRequired"]) !== terms.amount) {
    return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "accepted has another amount");
  }
  return undefined;
}

/** Reads an object: not `null`, not an array. */
export function readFields(value: unknown): Fields | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Reads an address, in lower case. A wrong checksum is accepted. */
export function readAddress(value: unknown): Address | undefined {
  return isAddressShaped(value) ? lowerCase(value) : undefined;
}

/** Reads 32 bytes, in lower case. */
export function readBytes32(value: unknown): Hex | undefined {
  return isWord(value) ? lowerCase(value) : undefined;
}

const BYTES = /^0x(?:[0-9a-fA-F]{2})+$/;

/** Reads at least one byte and at most `limit` bytes. */
export function readBytes(value: unknown, limit: number): Hex | undefined {
  if (typeof value !== "string" || value.length > 2 + limit * 2 || !BYTES.test(value)) return undefined;
  return `0x${value.slice(2)}`;
}

/** Reads text of 1 to `limit` characters. */
export function readText(value: unknown, limit: number): string | undefined {
  return typeof value === "string" && value.length > 0 && value.length <= limit ? value : undefined;
}
