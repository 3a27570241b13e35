/**
 * The body of `verify` or `settle`, read as far as that goes without asking the chain.
 *
 * @see x402 v2 §6.1.2, §7.1
 * @module
 */
import { accept, type Fields, fieldsOf, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { encodeAddress } from "../address.js";
import { type AvmPayment, readAvmPayment } from "../exact/payment.js";
import { readTerms, type Terms } from "../exact/terms.js";
import { isSameNetwork } from "../networks.js";

/** What this facilitator settles, and for whom it pays the fee. */
export interface Settles {
  readonly network: string;
  readonly feePayer: string;
  /** The most that it pays for one group, in millionths of an Algo. */
  readonly maxFeeMicroAlgos: bigint;
}

/** A payment, and what is asked for. */
export interface AskedPayment {
  readonly payment: AvmPayment;
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
  const payment = readAvmPayment(payload, terms.value);
  if (!payment.ok) return payment;
  if (payment.value.sponsoredFee > settles.maxFeeMicroAlgos) {
    const message = `the fee is above ${settles.maxFeeMicroAlgos} millionths of an Algo`;
    return refuse("invalid_exact_avm_fee_too_high", message);
  }
  return accept({ payment: payment.value, terms: terms.value });
}

function readOwnTerms(requirements: Fields, { network, feePayer }: Settles): Reading<Terms> {
  if (requirements["scheme"] !== "exact") return refuse("unsupported_scheme", "the scheme is not exact");
  if (!isSameNetwork(requirements["network"], network)) {
    return refuse("invalid_network", `the network is not ${network}`);
  }
  const timeout = requirements["maxTimeoutSeconds"];
  if (typeof timeout !== "number" || !Number.isFinite(timeout) || timeout <= 0) {
    return refuse("invalid_payment_requirements", "maxTimeoutSeconds is not a number above zero");
  }
  const terms = readTerms(requirements);
  if (!terms.ok || terms.value.feePayer === undefined || encodeAddress(terms.value.feePayer) === feePayer) return terms;
  return refuse("invalid_exact_avm_invalid_fee_payer", "extra.feePayer is not the address that pays fees here");
}

/** The five fields that identify an offer; whatever else `accepted` has is not looked at. */
function compare(accepted: Fields, requirements: Fields): Refusal | undefined {
  if (accepted["scheme"] !== requirements["scheme"]) return refuse("invalid_scheme", "accepted has another scheme");
  if (!isSameNetwork(accepted["network"], requirements["network"])) {
    return refuse("invalid_network", "accepted has another network");
  }
  if (accepted["asset"] !== requirements["asset"]) {
    return refuse("invalid_exact_avm_asset_mismatch", "accepted has another asset");
  }
  if (accepted["payTo"] !== requirements["payTo"]) {
    return refuse("invalid_exact_avm_receiver_mismatch", "accepted has another payTo");
  }
  if ((accepted["amount"] ?? accepted["maxAmountRequired"]) !== requirements["amount"]) {
    return refuse("invalid_exact_avm_amount_mismatch", "accepted has another amount");
  }
  return undefined;
}
