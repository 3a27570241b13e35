/**
 * The body of `verify` or `settle`, read as far as that goes without asking the chain.
 *
 * @see x402 v2 §6.1.2, §7.1
 * @module
 */
import { accept, type Fields, fieldsOf, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { encodeBase58 } from "../base58.js";
import { readSvmPayment, type SvmPayment } from "../exact/payment.js";
import { readTerms, type Terms } from "../exact/terms.js";

/** What this facilitator settles, and for whom it pays the fee. */
export interface Settles {
  readonly network: string;
  readonly feePayer: string;
  /** The most that it pays above the price of the signatures. */
  readonly maxPriorityFeeLamports: bigint;
}

/** A payment, and what is asked for. */
export interface AskedPayment {
  readonly payment: SvmPayment;
  readonly terms: Terms;
}

/** Reads a request. Total: any JSON yields a reading. */
export function readExactPayment(request: unknown, settles: Settles): Reading<AskedPayment> {
  const { x402Version, paymentPayload, paymentRequirements } = fieldsOf(request);
  const { x402Version: ofPayment, accepted, payload } = fieldsOf(paymentPayload);
  if (x402Version !== 2 || ofPayment !== 2) return refuse("invalid_x402_version", "x402Version is not 2");
  const requirements = fieldsOf(paymentRequirements);
  const terms = readOwnTerms(requirements, settles);
  if (!terms.ok) return terms;
  const disagreement = compare(fieldsOf(accepted), requirements);
  if (disagreement !== undefined) return disagreement;
  const payment = readSvmPayment(payload, terms.value);
  if (!payment.ok) return payment;
  if (payment.value.priorityFeeLamports > settles.maxPriorityFeeLamports) {
    const reason = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high";
    return refuse(reason, `the priority fee is above ${settles.maxPriorityFeeLamports} lamports`);
  }
  return accept({ payment: payment.value, terms: terms.value });
}

function readOwnTerms(requirements: Fields, { network, feePayer }: Settles): Reading<Terms> {
  if (requirements["scheme"] !== "exact") return refuse("unsupported_scheme", "the scheme is not exact");
  if (requirements["network"] !== network) return refuse("invalid_network", `the network is not ${network}`);
  const timeout = requirements["maxTimeoutSeconds"];
  if (typeof timeout !== "number" || !Number.isFinite(timeout) || timeout <= 0) {
    return refuse("invalid_payment_requirements", "maxTimeoutSeconds is not a number above zero");
  }
  const terms = readTerms(requirements);
  if (!terms.ok || encodeBase58(terms.value.feePayer) === feePayer) return terms;
  const message = "extra.feePayer is not the address that pays fees here";
  return refuse("invalid_exact_svm_fee_payer_not_managed_by_facilitator", message);
}

/** The five fields that identify an offer; whatever else `accepted` has is not looked at. */
function compare(accepted: Fields, requirements: Fields): Refusal | undefined {
  if (accepted["scheme"] !== requirements["scheme"]) return refuse("invalid_scheme", "accepted has another scheme");
  if (accepted["network"] !== requirements["network"]) return refuse("invalid_network", "accepted has another network");
  if (accepted["asset"] !== requirements["asset"]) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "accepted has another asset");
  }
  if (accepted["payTo"] !== requirements["payTo"]) {
    return refuse("invalid_exact_svm_payload_recipient_mismatch", "accepted has another payTo");
  }
  if ((accepted["amount"] ?? accepted["maxAmountRequired"]) !== requirements["amount"]) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "accepted has another amount");
  }
  return undefined;
}
