/**
 * Which offer of a challenge to pay: the first within all limits.
 *
 * @module
 */
import { dollarsOf, networkName } from "@farebox/bazaar/facilitator";
import type { PaymentRequirements } from "@farebox/core";
import { describePrice } from "../catalog/price.js";
import { describeDollars } from "./dollars.js";

/** What may be paid. */
export interface Limits {
  /** In units of 10⁻¹⁸ dollars. */
  readonly max: bigint;
  /** Whether the key is the demo's, which is public. */
  readonly isDemo: boolean;
}

/** An offer to pay, and what it costs at most; or why there is none. */
export type Choice =
  | { readonly kind: "pay"; readonly offer: PaymentRequirements; readonly dollars: bigint }
  | { readonly kind: "none"; readonly reasons: readonly string[] };

/** A payment that could be charged for longer is not signed. */
const MAX_LIFE_SECONDS = 3_600;

/** Chooses in the seller's order. */
export function chooseOffer(accepts: readonly PaymentRequirements[], limits: Limits): Choice {
  const reasons: string[] = [];
  for (const offer of accepts) {
    const dollars = dollarsOf(offer);
    const reason = problemOf(offer, dollars, limits);
    if (reason === undefined && dollars !== undefined) return { kind: "pay", offer, dollars };
    reasons.push(`${describePrice(offer)} on ${networkName(offer.network) ?? offer.network}: ${reason}`);
  }
  return { kind: "none", reasons: reasons.length === 0 ? ["it offers no way to pay"] : [...new Set(reasons)] };
}

function problemOf(
  offer: PaymentRequirements,
  dollars: bigint | undefined,
  { max, isDemo }: Limits,
): string | undefined {
  const { scheme, network, maxTimeoutSeconds, extra } = offer;
  if (!network.startsWith("eip155:"))
    return "only EVM networks can be paid; use a client of its network, such as @x402/svm";
  if (scheme !== "exact" && scheme !== "upto") return `the scheme ${JSON.stringify(scheme)} is unknown`;
  const flow = extra?.["paymentFlow"] ?? "authorization";
  if (flow !== "authorization") return `the payment flow ${JSON.stringify(flow)} is unknown`;
  if (dollars === undefined) return "its value in dollars is unknown";
  if (dollars > max) return `it is more than --max ${describeDollars(max)}`;
  if (maxTimeoutSeconds > MAX_LIFE_SECONDS) return `it could be charged for ${maxTimeoutSeconds} seconds`;
  const name = networkName(network) ?? "";
  if (isDemo && !/sepolia|testnet|apothem/i.test(name))
    return "the demo's key pays on test networks only; set FAREBOX_KEY";
  return undefined;
}
