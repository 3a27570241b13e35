/**
 * Requests to a facilitator's scheme, and the expectation that one is refused.
 *
 * @module
 */
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { isReason } from "@farebox/core/protocol";
import { expect } from "vitest";

/** A payment and its terms. */
export function requestFor(paid: unknown, offer: PaymentRequirements): FacilitatorRequest {
  const paymentPayload = { x402Version: 2, accepted: offer, payload: paid } as FacilitatorRequest["paymentPayload"];
  return { x402Version: 2, paymentPayload, paymentRequirements: offer };
}

/** Expects verify and settle to refuse a request for the same reason. */
export async function expectUnsettled(facilitator: FacilitatorScheme, request: unknown, reason: string): Promise<void> {
  expect(isReason(reason)).toBe(true);
  const asked = request as FacilitatorRequest;
  expect(await facilitator.verify(asked)).toMatchObject({ isValid: false, invalidReason: reason });
  const settled = await facilitator.settle(asked);
  expect(settled).toMatchObject({ success: false, errorReason: reason, transaction: "" });
}
