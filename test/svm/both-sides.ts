/**
 * A seller and our facilitator, to which tests send changed payments, on a chain where every account has enough to pay. The
 * chain's balances are checked, so that nothing moves.
 *
 * @module
 */
import type { FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { exactSvm } from "@farebox/svm";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { expect } from "vitest";
import {
  FEE_PAYER,
  keypair,
  NETWORK,
  PAY_TO,
  PAYER,
  type Plan,
  type PublicKey,
  payload,
  requirements,
  STRANGER,
} from "../../packages/svm/src/payments.fixture.js";
import { expectUnsettled, requestFor } from "../facilitator/unsettled.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";

export const scheme = exactSvm();
export const OTHER_MINT: PublicKey = keypair(50).publicKey;
export const NOW = 1_800_000_000;

const RICH = 1_000_000n;

export class BothSides {
  readonly local: LocalSvm;
  readonly facilitator: FacilitatorScheme;
  readonly #lamports: bigint;

  private constructor(local: LocalSvm) {
    this.local = local;
    const options = {
      rpcUrl: local.rpcUrl,
      privateKey: FEE_PAYER.secretKey,
      pollingIntervalMs: 10,
      requestTimeoutMs: 60_000,
    };
    this.facilitator = createExactSvmScheme({ chain: createRpcSvmChain({ network: NETWORK, ...options }) });
    this.#lamports = local.lamportsOf(FEE_PAYER.publicKey);
  }

  static async open(): Promise<BothSides> {
    const local = await startLocalSvm(FEE_PAYER.publicKey);
    local.createMint(OTHER_MINT);
    for (const owner of [PAYER.publicKey, STRANGER.publicKey, FEE_PAYER.publicKey, PAY_TO]) {
      local.fund(owner, RICH);
      local.fund(owner, RICH, OTHER_MINT);
    }
    return new BothSides(local);
  }

  /** A payload that the chain would execute. */
  payload(change: Partial<Plan> = {}): { readonly transaction: string } {
    return payload({ blockhash: this.local.blockhash(), ...change });
  }

  /** Expects both sides to refuse a payload for the same reason. */
  async expectRefused(paid: unknown, reason: string, offer: PaymentRequirements = requirements()): Promise<void> {
    expect(scheme.readPayment(paid, offer, NOW)).toEqual({ kind: "refused", reason });
    await this.expectUnsettled(requestFor(paid, offer), reason);
  }

  /** Expects the facilitator to refuse a request. */
  async expectUnsettled(request: unknown, reason: string): Promise<void> {
    await expectUnsettled(this.facilitator, request, reason);
  }

  expectNothingMoved(): void {
    expect(this.local.asked).not.toContain("sendTransaction");
    for (const owner of [PAYER.publicKey, STRANGER.publicKey, FEE_PAYER.publicKey, PAY_TO]) {
      expect(this.local.balanceOf(owner)).toBe(RICH);
    }
    expect(this.local.lamportsOf(FEE_PAYER.publicKey)).toBe(this.#lamports);
  }
}
