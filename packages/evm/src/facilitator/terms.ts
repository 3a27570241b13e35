/**
 * The terms of a payment: the `paymentRequirements` of a request, and whether the payment's own `accepted` says the same.
 *
 * @see x402 v2 §5.1.2; schemes exact and upto on EVM
 * @module
 */
import { accept, type Fields, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import type { Address } from "./chain.js";
import { readAddress, readFields, readText, readUint256 } from "./wire-fields.js";

/** What a facilitator settles for: one scheme on one chain. */
export interface PaymentKind {
  readonly scheme: "exact" | "upto";
  /** CAIP-2. */
  readonly network: string;
  readonly chainId: number;
}

/** What is asked for. */
export interface Terms {
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  /** The scheme's own, unchecked. */
  readonly extra: Fields;
}

/** The token's EIP-712 domain, as the seller says it is. */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
}

/** No token has a longer name or version in its EIP-712 domain. */
const MAX_DOMAIN_TEXT = 256;

const INVALID = "invalid_payment_requirements";

/** Reads `paymentRequirements`. Total. */
export function readTerms(requirements: Fields, { scheme, network }: PaymentKind): Reading<Terms> {
  if (requirements["scheme"] !== scheme) return refuse("unsupported_scheme", `the scheme is not ${scheme}`);
  if (requirements["network"] !== network) return refuse("invalid_network", `the network is not ${network}`);

  const asset = readAddress(requirements["asset"]);
  if (asset === undefined) return refuse(INVALID, "asset is not an address");
  const payTo = readAddress(requirements["payTo"]);
  if (payTo === undefined) return refuse(INVALID, "payTo is not an address");
  const amount = readUint256(requirements["amount"]);
  if (amount === undefined) return refuse(INVALID, "amount is not a decimal string");
  if (!isTimeout(requirements["maxTimeoutSeconds"]))
    return refuse(INVALID, "maxTimeoutSeconds is not a number above zero");
  const extra = readFields(requirements["extra"]);
  return extra === undefined ? refuse(INVALID, "extra is not an object") : accept({ asset, payTo, amount, extra });
}

/** How a token is moved on a payer's signature. */
export type TransferMethod = "eip3009" | "permit2";

/** Reads how the token is to be moved. */
export function readTransferMethod({ extra }: Terms, usual: TransferMethod): Reading<TransferMethod> {
  const method = extra["assetTransferMethod"] ?? usual;
  if (method === "eip3009" || method === "permit2") return accept(method);
  return refuse(INVALID, "extra.assetTransferMethod is neither eip3009 nor permit2");
}

/** Reads the token's domain, in which authorizations by EIP-3009 are signed. */
export function readDomain({ extra }: Terms): Reading<TokenDomain> {
  const name = readText(extra["name"], MAX_DOMAIN_TEXT);
  const version = readText(extra["version"], MAX_DOMAIN_TEXT);
  if (name !== undefined && version !== undefined) return accept({ name, version });
  return refuse(INVALID, "extra has no name and version of the token's EIP-712 domain");
}

/**
 * Checks that `accepted` agrees in the five fields that identify an offer. Whatever else it has is not looked at: some
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

function isTimeout(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}
