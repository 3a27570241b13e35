/**
 * A seller and our facilitator, to which tests send changed payments, on a ledger where every account has enough to pay. The
 * ledger's balances are checked, so that nothing moves.
 *
 * @module
 */
import { exactAvm } from "@farebox/avm";
import { createAlgodChain, createExactAvmScheme } from "@farebox/avm/facilitator";
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { expect } from "vitest";
import {
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  requirements,
  STRANGER,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { expectUnsettled, requestFor } from "../facilitator/unsettled.js";
import { RICH } from "./ledger.js";
import { LocalAlgod } from "./local-algod.js";

export const scheme = exactAvm();
export const OTHER_ASSET = 31566704n;
export const NOW = 1_800_000_000;

/** The body of a request to the facilitator. */
export function toRequest(paid: unknown, offer: PaymentRequirements = requirements()): FacilitatorRequest {
  return requestFor(paid, offer);
}

/** A new instance of our facilitator's scheme. */
export function facilitatorOf(local: LocalAlgod, options: object = {}): FacilitatorScheme {
  const { url: algodUrl } = local;
  // The second ends only what the node leaves open: it is asked once in any case.
  const times = { pollingIntervalMs: 10, confirmTimeoutMs: 100, requestTimeoutMs: 60_000 };
  const chain = createAlgodChain({ network: NETWORK, algodUrl, privateKey: FEE_PAYER.sk, ...times, ...options });
  return createExactAvmScheme({ chain });
}

export class BothSides {
  readonly local: LocalAlgod;
  readonly facilitator: FacilitatorScheme;
  readonly #before: ReadonlyMap<string, bigint>;

  private constructor(local: LocalAlgod) {
    this.local = local;
    for (const address of [PAYER.addr, STRANGER.addr, FEE_PAYER.addr, PAY_TO]) {
      for (const asset of [0n, USDC, OTHER_ASSET]) local.ledger.give(address, RICH, asset);
    }
    this.facilitator = facilitatorOf(local);
    this.#before = local.ledger.snapshot();
  }

  static async open(): Promise<BothSides> {
    return new BothSides(await LocalAlgod.start());
  }

  /** Expects both sides to refuse a payload for the same reason. */
  async expectRefused(paid: unknown, reason: string, offer: PaymentRequirements = requirements()): Promise<void> {
    expect(scheme.readPayment(paid, offer, NOW)).toEqual({ kind: "refused", reason });
    await this.expectUnsettled(toRequest(paid, offer), reason);
  }

  /** Expects the facilitator to refuse a request. */
  async expectUnsettled(request: unknown, reason: string): Promise<void> {
    await expectUnsettled(this.facilitator, request, reason);
  }

  expectNothingMoved(): void {
    expect(this.local.sent).toBe(false);
    expect(this.local.ledger.snapshot()).toEqual(this.#before);
  }
}
