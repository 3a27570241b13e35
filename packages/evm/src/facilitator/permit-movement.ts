/**
 * A payment by Permit2 as a movement of money.
 *
 * @see x402 v2, scheme `exact` on EVM, §2, Phases 3 and 4; scheme `upto` on EVM, §1, Phases 3 and 4
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import type { Hash, Permit2Chain, SignedPermit } from "./chain.js";
import type { Moved, Movement } from "./movement.js";

/** What is moved, and for whom. */
export interface PermitTerms {
  readonly payer: string;
  /** Atomic units; at most what was signed for. */
  readonly amount: bigint;
  readonly signed: SignedPermit;
}

/** Makes a movement of a signed permit. */
export function createPermitMovement(terms: PermitTerms, chain: Permit2Chain): Movement {
  return new PermitMovement(terms, chain);
}

class PermitMovement implements Movement {
  readonly payer: string;
  readonly amount: bigint;
  readonly identity: string;
  readonly fingerprint: string;
  readonly #chain: Permit2Chain;
  /** The approval is used only where an allowance lacks: whoever carries it out first uses it up. */
  #signed: SignedPermit;

  constructor({ payer, amount, signed }: PermitTerms, chain: Permit2Chain) {
    const { from, nonce, token, amount: most, deadline, to, validAfter, facilitator, signature } = signed.permit;
    this.payer = payer;
    this.amount = amount;
    this.identity = ["permit2", from, nonce].join("|").toLowerCase();
    this.fingerprint = [token, most, deadline, to, validAfter, facilitator, signature].join("|").toLowerCase();
    this.#chain = chain;
    this.#signed = signed;
  }

  async verify(nowSeconds: number): Promise<Refusal | undefined> {
    const early = this.amount === 0n ? undefined : this.#checkWindow(BigInt(nowSeconds));
    if (early !== undefined) return early;
    try {
      return (await this.#checkSignature()) ?? (await this.#checkNonce()) ?? (await this.#checkMoney(nowSeconds));
    } catch (error) {
      return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
    }
  }

  submit(): Promise<Hash> {
    return this.#chain.submit(this.#signed, this.amount);
  }

  async findEarlier(): Promise<Moved | undefined> {
    const { from, nonce } = this.#signed.permit;
    return (await this.#chain.isNonceUsed(from, nonce)) ? this.#chain.findTransfer(this.#signed) : undefined;
  }

  #checkWindow(now: bigint): Refusal | undefined {
    const { validAfter, deadline } = this.#signed.permit;
    if (validAfter > now) {
      return refuse("invalid_exact_evm_payload_authorization_valid_after", "the payment is not valid yet");
    }
    if (deadline < now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
      const message = `the payment has less than ${SETTLEMENT_MARGIN_SECONDS} seconds left`;
      return refuse("invalid_exact_evm_payload_authorization_valid_before", message);
    }
    return undefined;
  }

  async #checkSignature(): Promise<Refusal | undefined> {
    if (await this.#chain.verifySignature(this.#signed)) return undefined;
    return refuse("invalid_exact_evm_payload_signature", "the payer has not signed this");
  }

  async #checkNonce(): Promise<Refusal | undefined> {
    const { from, nonce } = this.#signed.permit;
    const isUsed = await this.#chain.isNonceUsed(from, nonce);
    return isUsed ? refuse("invalid_transaction_state", "the nonce is used up") : undefined;
  }

  /** Nothing can be moved whatever the payer has. */
  async #checkMoney(nowSeconds: number): Promise<Refusal | undefined> {
    if (this.amount === 0n) return undefined;
    const { from, token } = this.#signed.permit;
    const [balance, allowance] = await Promise.all([
      this.#chain.balanceOf(token, from),
      this.#chain.allowanceOf(token, from),
    ]);
    if (balance < this.amount) return refuse("insufficient_funds", "the payer has less than the amount");
    if (allowance >= this.amount) this.#signed = { ...this.#signed, approval: undefined };
    else if (!this.#isApproved(BigInt(nowSeconds))) return NOT_ALLOWED;
    const trial = await this.#chain.simulate(this.#signed, this.amount);
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  }

  #isApproved(now: bigint): boolean {
    const { approval } = this.#signed;
    return approval !== undefined && approval.deadline >= now + BigInt(SETTLEMENT_MARGIN_SECONDS);
  }
}

const NOT_ALLOWED = refuse("permit2_allowance_required", "the payer has not allowed Permit2 to move the amount");
