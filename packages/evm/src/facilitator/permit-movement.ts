/**
 * A payment by Permit2 as a movement of money.
 *
 * @see x402 v2, scheme `exact` on EVM, §2, Phases 3 and 4; scheme `upto` on EVM, §1, Phases 3 and 4
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import type { Hash, Permit2Chain, SignedPermit, Simulation } from "./chain.js";
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
  readonly #signed: SignedPermit;
  /** With an approval only where an allowance lacks: whoever carries it out first uses it up. */
  #chosen: SignedPermit;

  constructor({ payer, amount, signed }: PermitTerms, chain: Permit2Chain) {
    const { from, nonce, token, amount: most, deadline, to, validAfter, facilitator, signature } = signed.permit;
    this.payer = payer;
    this.amount = amount;
    this.identity = ["permit2", from, nonce].join("|").toLowerCase();
    this.fingerprint = [token, most, deadline, to, validAfter, facilitator, signature].join("|").toLowerCase();
    this.#chain = chain;
    this.#signed = signed;
    this.#chosen = signed;
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

  /** The approval comes first. Whatever becomes of it, the payment itself is not sent before it is on chain. */
  async submit(): Promise<Hash> {
    const { approvalTransaction } = this.#chosen;
    if (approvalTransaction !== undefined) await this.#chain.approvals?.carryOut(approvalTransaction);
    return this.#chain.submit(this.#chosen, this.amount);
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
    const lacking = await this.#chooseAllowance(allowance, BigInt(nowSeconds));
    if (lacking !== undefined) return lacking;
    const trial = await this.#simulate();
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  }

  /** Keeps the cheapest that will do: the allowance there is, one by EIP-2612, one that takes a transaction. */
  async #chooseAllowance(allowance: bigint, now: bigint): Promise<Refusal | undefined> {
    const { approval, approvalTransaction, ...payment } = this.#signed;
    this.#chosen = payment;
    if (allowance >= this.amount) return undefined;
    if (approval !== undefined && approval.deadline >= now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
      this.#chosen = { ...payment, approval };
      return undefined;
    }
    const { approvals } = this.#chain;
    if (approvals === undefined || approvalTransaction === undefined) return NOT_ALLOWED;
    const fault = await approvals.findFault(approvalTransaction);
    if (fault !== undefined) return refuse("permit2_allowance_required", `the approval is not carried out: ${fault}`);
    this.#chosen = { ...payment, approvalTransaction };
    return undefined;
  }

  async #simulate(): Promise<Simulation> {
    const { approvalTransaction } = this.#chosen;
    if (approvalTransaction === undefined) return this.#chain.simulate(this.#chosen, this.amount);
    const trial = this.#chain.approvals?.simulate(this.#chosen, approvalTransaction, this.amount);
    return trial ?? { ok: false, problem: "approvals are not carried out here" };
  }
}

const NOT_ALLOWED = refuse("permit2_allowance_required", "the payer has not allowed Permit2 to move the amount");
