/**
 * What a tool costs, in words: for clients that read nothing but its description.
 *
 * @module
 */
import type { ReportedOffer } from "@farebox/core";

/** `Price: 0.001 USDC (x402, exact, eip155:84532) per call.` */
export function writePriceLine(offers: readonly ReportedOffer[]): string {
  if (offers.length === 0) return "Price: free.";
  return `Price: ${offers.map(describeOffer).join(", or ")} per call.`;
}

function describeOffer({ scheme, network, price }: ReportedOffer): string {
  return `${scheme === "upto" ? "up to " : ""}${price} (x402, ${scheme}, ${network})`;
}
