/**
 * A payment by Permit2: read from a request, verified on chain, and encoded as a call. If the payer has not allowed Permit2
 * to move the amount, one of the signed approvals is carried out with the payment.
 *
 * @see x402 v2, scheme `exact` on EVM, §2 and Annex; scheme `upto` on EVM, §1 and Annex
 * @module
 */
import type { DeskPayment, Transfer } from "@farebox/core/facilitator";
import { accept, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { encodeFunctionData, parseAbi, slice } from "viem";
import { lowerCase } from "../address.js";
import { SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import { PROXIES, permitInLowerCase, readPermit } from "../permit2/permit2.js";
import { readApproval, readApprovalTransaction } from "./approvals.js";
import type { Address, Hash, Hex, Permit2Chain, SignedPermit, Simulation } from "./chain.js";
import { checkAccepted, type Envelope, type PaymentKind, type Terms } from "./wire.js";

/**
 * Reads a payment that agrees with its terms in everything but the amount. Asks neither the chain nor a clock, and verifies
 * no signature.
 */
export function readPermitPayment(
  { accepted, payload, extensions }: Envelope,
  terms: Terms,
  { scheme, network, chainId }: PaymentKind,
): Reading<SignedPermit> {
  const read = readPermit(payload, scheme);
  if (read === undefined) return refuse("invalid_payload", "permit2Authorization or signature is not of its form");
  const permit = permitInLowerCase(read);
  const disagreement = checkAccepted(accepted, { ...terms, amount: permit.amount }, { scheme, network, chainId });
  if (disagreement !== undefined) return disagreement;
  if (permit.spender !== lowerCase(PROXIES[scheme])) {
    return refuse("invalid_payload", `the spender is not the proxy of ${scheme}`);
  }
  if (permit.token !== terms.asset) return refuse("invalid_payload", "the payment is in another token than asset");
  if (permit.to !== terms.payTo) {
    return refuse("invalid_exact_evm_payload_recipient_mismatch", "the payment is for another address than payTo");
  }
  const approval = readApproval(extensions, permit);
  const approvalTransaction = readApprovalTransaction(extensions, permit, chainId);
  return accept({ chainId, kind: scheme, permit, approval, approvalTransaction });
}

/** A payment for the settlement desk. */
export class PermitPayment implements DeskPayment {
  readonly payer: string;
  readonly amount: bigint;
  readonly identity: string;
  readonly fingerprint: string;
  readonly outcomeOf: DeskPayment["outcomeOf"];
  readonly #chain: Permit2Chain;
  readonly #signed: SignedPermit;
  /** Has an approval only if an allowance is missing, because an approval can be used up by others. */
  #chosen: SignedPermit;

  /** @param amount - Atomic units to take; at most the amount in the signature. */
  constructor(
    { payer, amount, signed }: { readonly payer: string; readonly amount: bigint; readonly signed: SignedPermit },
    chain: Permit2Chain,
    outcomeOf: DeskPayment["outcomeOf"],
  ) {
    const { from, nonce, token, amount: most, deadline, to, validAfter, facilitator, signature } = signed.permit;
    this.payer = payer;
    this.amount = amount;
    this.identity = ["permit2", from, nonce].join("|").toLowerCase();
    this.fingerprint = [token, most, deadline, to, validAfter, facilitator, signature].join("|").toLowerCase();
    this.outcomeOf = outcomeOf;
    this.#chain = chain;
    this.#signed = signed;
    this.#chosen = signed;
  }

  /** Checks the time, the signature and the nonce, then the money. The cheapest check comes first. */
  async verify(nowSeconds: number): Promise<Refusal | undefined> {
    const { from, nonce, validAfter, deadline } = this.#signed.permit;
    const now = BigInt(nowSeconds);
    if (this.amount > 0n && validAfter > now) {
      return refuse("invalid_exact_evm_payload_authorization_valid_after", "the payment is not valid yet");
    }
    if (this.amount > 0n && deadline < now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
      const message = `the payment has less than ${SETTLEMENT_MARGIN_SECONDS} seconds left`;
      return refuse("invalid_exact_evm_payload_authorization_valid_before", message);
    }
    try {
      if (!(await this.#chain.verifySignature(this.#signed))) {
        return refuse("invalid_exact_evm_payload_signature", "the payer has not signed this");
      }
      const isUsed = await this.#chain.isNonceUsed(from, nonce);
      if (isUsed) return refuse("invalid_transaction_state", "the nonce is used up");
      // A settlement at zero moves no money, so the payer's balance does not matter.
      return this.amount === 0n ? undefined : await this.#checkMoney(now);
    } catch (error) {
      return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
    }
  }

  async #checkMoney(now: bigint): Promise<Refusal | undefined> {
    const { from, token } = this.#signed.permit;
    const [balance, allowance] = await Promise.all([
      this.#chain.balanceOf(token, from),
      this.#chain.allowanceOf(token, from),
    ]);
    if (balance < this.amount) return refuse("insufficient_funds", "the payer has less than the amount");
    const refusal = await this.#tryAllowance(allowance, now);
    if (refusal === undefined || allowance >= this.amount || this.#signed.approvalTransaction === undefined)
      return refusal;
    // The same approval may have been carried out for another payment meanwhile.
    const latest = await this.#chain.allowanceOf(token, from);
    return latest < this.amount ? refusal : this.#tryAllowance(latest, now);
  }

  async #tryAllowance(allowance: bigint, now: bigint): Promise<Refusal | undefined> {
    const lacking = await this.#chooseAllowance(allowance, now);
    if (lacking !== undefined) return lacking;
    const trial = await this.#simulate();
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  }

  /** Chooses the cheapest: an existing allowance, one by EIP-2612, one that takes a transaction. */
  async #chooseAllowance(allowance: bigint, now: bigint): Promise<Refusal | undefined> {
    const { approval, approvalTransaction, ...payment } = this.#signed;
    this.#chosen = payment;
    if (allowance >= this.amount) return undefined;
    if (approval !== undefined && approval.deadline >= now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
      this.#chosen = { ...payment, approval };
      return undefined;
    }
    const { approvals } = this.#chain;
    if (approvals === undefined || approvalTransaction === undefined) {
      return refuse("permit2_allowance_required", "the payer has not allowed Permit2 to move the amount");
    }
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

  /** Carries out the approval first. The payment is not sent before the approval is on chain. */
  async submit(): Promise<Hash | ""> {
    if (this.amount === 0n) return "";
    const { approvalTransaction } = this.#chosen;
    if (approvalTransaction !== undefined) await this.#chain.approvals?.carryOut(approvalTransaction);
    return this.#chain.submit(this.#chosen, this.amount);
  }

  async findEarlier(): Promise<Transfer | undefined> {
    const { from, nonce } = this.#signed.permit;
    return (await this.#chain.isNonceUsed(from, nonce)) ? this.#chain.findTransfer(this.#signed) : undefined;
  }
}

const STRUCTS = [
  "struct Approval { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
] as const;

const EXACT_ABI = parseAbi([
  ...STRUCTS,
  "struct Witness { address to; uint256 validAfter; }",
  "function settle(Permit permit, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Approval approval, Permit permit, address owner, Witness witness, bytes signature)",
]);

const UPTO_ABI = parseAbi([
  ...STRUCTS,
  "struct Witness { address to; address facilitator; uint256 validAfter; }",
  "function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Approval approval, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
]);

/** Encodes the call that carries a payment out. `upto` takes `amount`; `exact` takes the amount in the signature. */
export function encodePermitCall(
  { kind, permit, approval }: SignedPermit,
  amount: bigint,
): { readonly to: Address; readonly data: Hex } {
  const { from, token, nonce, deadline, to, validAfter, facilitator, signature } = permit;
  const message = { permitted: { token, amount: permit.amount }, nonce, deadline };
  const allowance = approval && {
    value: approval.value,
    deadline: approval.deadline,
    r: slice(approval.signature, 0, 32),
    s: slice(approval.signature, 32, 64),
    v: Number.parseInt(approval.signature.slice(-2), 16),
  };
  return { to: PROXIES[kind], data: facilitator === undefined ? encodeExact() : encodeUpto(facilitator) };

  function encodeExact(): Hex {
    const args = [message, from, { to, validAfter }, signature] as const;
    if (allowance === undefined) return encodeFunctionData({ abi: EXACT_ABI, functionName: "settle", args });
    return encodeFunctionData({ abi: EXACT_ABI, functionName: "settleWithPermit", args: [allowance, ...args] });
  }

  function encodeUpto(settler: Hex): Hex {
    const args = [message, amount, from, { to, facilitator: settler, validAfter }, signature] as const;
    if (allowance === undefined) return encodeFunctionData({ abi: UPTO_ABI, functionName: "settle", args });
    return encodeFunctionData({ abi: UPTO_ABI, functionName: "settleWithPermit", args: [allowance, ...args] });
  }
}
