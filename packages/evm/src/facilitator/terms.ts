/**
 * The terms of an exact payment: the `paymentRequirements` of a request, and whether the payment's own `accepted` says
 * the same.
 *
 * @see x402 v2 §5.1.2; scheme exact on EVM, EIP-3009
 * @module
 */
import type { Address } from "./chain.js";
import { accept, type Reading, type Refusal, refuse } from "./refusal.js";
import { type Fields, readAddress, readFields, readText, readUint256 } from "./wire-fields.js";

/** What is asked for. */
export interface Terms {
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units, above zero. */
  readonly amount: bigint;
  /** The token's EIP-712 domain, as the seller says it is. */
  readonly name: string;
  readonly version: string;
}

/** No token has a longer name or version in its EIP-712 domain. */
const MAX_DOMAIN_TEXT = 256;

const INVALID = "invalid_payment_requirements";

/** Reads `paymentRequirements`. Total. */
export function readTerms(requirements: Fields, network: string): Reading<Terms> {
  if (requirements["scheme"] !== "exact") return refuse("unsupported_scheme", "the scheme is not exact");
  if (requirements["network"] !== network) return refuse("invalid_network", `the network is not ${network}`);

  const asset = readAddress(requirements["asset"]);
  if (asset === undefined) return refuse(INVALID, "asset is not an address");
  const payTo = readAddress(requirements["payTo"]);
  if (payTo === undefined) return refuse(INVALID, "payTo is not an address");
  const amount = readUint256(requirements["amount"]);
  if (amount === undefined || amount === 0n) return refuse(INVALID, "amount is not a decimal string above zero");
  if (!isTimeout(requirements["maxTimeoutSeconds"]))
    return refuse(INVALID, "maxTimeoutSeconds is not a number above zero");

  const domain = readDomain(requirements["extra"]);
  return domain.ok ? accept({ asset, payTo, amount, ...domain.value }) : domain;
}

/**
 * Checks that `accepted` agrees in the five fields that identify an offer. Whatever else it has is not looked at: some
 * clients drop fields that they do not know.
 */
export function checkAccepted(accepted: Fields, terms: Terms, network: string): Refusal | undefined {
  if (accepted["scheme"] !== "exact") return refuse("invalid_scheme", "accepted has another scheme");
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

function readDomain(extra: unknown): Reading<{ readonly name: string; readonly version: string }> {
  const fields = readFields(extra);
  if (fields === undefined) return refuse(INVALID, "extra is not an object");
  const method = fields["assetTransferMethod"] ?? "eip3009";
  if (method !== "eip3009") return refuse(INVALID, "extra.assetTransferMethod is not eip3009");
  const name = readText(fields["name"], MAX_DOMAIN_TEXT);
  const version = readText(fields["version"], MAX_DOMAIN_TEXT);
  if (name === undefined || version === undefined) {
    return refuse(INVALID, "extra has no name and version of the token's EIP-712 domain");
  }
  return accept({ name, version });
}

function isTimeout(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}
