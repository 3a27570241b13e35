/**
 * The chain as the schemes see it: a port. `createRpcChain` implements it over JSON-RPC; tests implement it in memory.
 *
 * A method may reject with a {@link ChainError} when the chain cannot be reached. The message is for a log, and contains no
 * key and no URL with credentials. Everything that a client's payment can cause is a value, never an error.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import { FareboxError, type SchemeHealth } from "@farebox/core";
import type { SettlementOutcome } from "@farebox/core/facilitator";
import { legible } from "@farebox/core/scheme";
import { BaseError, ExecutionRevertedError, HttpRequestError, RpcRequestError } from "viem";
import type { Permit, ProxyKind } from "../permit2/permit2.js";

/** `0x` and 40 hexadecimal digits. Compare without regard to case. */
export type Address = `0x${string}`;

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`;

/** A transaction's hash: `0x` and 64 hexadecimal digits. */
export type Hash = `0x${string}`;

/** The message that a payer signs by EIP-3009: one transfer, valid once, within a window of time. */
export interface TransferAuthorization {
  /** The payer. */
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly value: bigint;
  /** Unix time in seconds; the transfer is valid strictly after it. */
  readonly validAfter: bigint;
  /** Unix time in seconds; the transfer is valid strictly before it. */
  readonly validBefore: bigint;
  /** 32 bytes, chosen by the payer; usable once per payer and asset. */
  readonly nonce: Hex;
}

/** An authorization, the token it is for, and the payer's signature over both. */
export interface SignedAuthorization {
  /** The token's contract; also the `verifyingContract` of the EIP-712 domain. */
  readonly asset: Address;
  /** The rest of the token's EIP-712 domain. */
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number };
  readonly authorization: TransferAuthorization;
  /** 65 bytes from a key, any length from a contract wallet (ERC-1271). Not verified yet. */
  readonly signature: Hex;
}

/** An allowance for Permit2 that the payer has signed by EIP-2612. The proxy hands it to the token with the payment. */
export interface SignedApproval {
  /** Atomic units. The proxies accept only the payment's own maximum. */
  readonly value: bigint;
  /** Unix time in seconds. */
  readonly deadline: bigint;
  /** 65 bytes. Not verified yet. */
  readonly signature: Hex;
}

/** An allowance for Permit2 that the payer has signed as a transaction. The signature is not verified yet. */
export interface ApprovalTransaction {
  /** The payer. In lower case, like the token. */
  readonly from: Address;
  readonly token: Address;
  /** The bytes to send to the network. */
  readonly serialized: Hex;
  readonly hash: Hash;
  readonly nonce: number;
  readonly gas: bigint;
  /** Wei for a unit of gas. */
  readonly maxFeePerGas: bigint;
  readonly data: Hex;
}

/** A payment by Permit2, with the payer's signature and approvals. */
export interface SignedPermit {
  readonly chainId: number;
  /** Which proxy carries it out. */
  readonly kind: ProxyKind;
  /** Addresses are in lower case. The signature is not verified yet. */
  readonly permit: Permit;
  /** Allows Permit2 to move the token, if the payer has not allowed it yet (EIP-2612). */
  readonly approval?: SignedApproval | undefined;
  /** The same for a token without EIP-2612; needs {@link Permit2Chain.approvals}. */
  readonly approvalTransaction?: ApprovalTransaction | undefined;
}

/** Carries out approvals that payers have signed as transactions. */
export interface ApprovalChain {
  /** Why the approval cannot be carried out now, for a log; `undefined` when it can. Resolves after the payer's approvals under way. */
  findFault(approval: ApprovalTransaction): Promise<string | undefined>;
  /** Tries the approval and then the transfer of `amount`, without sending anything. */
  simulate(signed: SignedPermit, approval: ApprovalTransaction, amount: bigint): Promise<Simulation>;
  /**
   * Gives the payer the coin it lacks for the gas, sends the approval, and waits until it is on chain. Rejects if it is not
   * there in time, or failed. May be called again.
   */
  carryOut(approval: ApprovalTransaction): Promise<void>;
}

/** Permit2 and its proxies on a chain. */
export interface Permit2Chain {
  /** Whether the payer signed this: with the key of `from`, or by the contract at `from` (ERC-1271). */
  verifySignature(signed: SignedPermit): Promise<boolean>;
  /** Atomic units of `asset` that `owner` has. */
  balanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Atomic units of `owner`'s `asset` that Permit2 may move. */
  allowanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Whether the nonce is used: by a transfer of any token, or because the payer took it back. */
  isNonceUsed(owner: Address, nonce: bigint): Promise<boolean>;
  /** Tries to move `amount` without sending anything. `problem` is for a log. */
  simulate(signed: SignedPermit, amount: bigint): Promise<Simulation>;
  /** Sends the transfer of `amount`. Rejects only if provably nothing was broadcast. */
  submit(signed: SignedPermit, amount: bigint): Promise<Hash>;
  /** Without it, no approval is carried out that a payer has signed as a transaction. */
  readonly approvals?: ApprovalChain;
  /** Finds the call of the proxy that used the nonce to pay this recipient in this token, and the amount it moved. */
  findTransfer(signed: SignedPermit): Promise<{ readonly transaction: Hash; readonly amount: bigint } | undefined>;
}

/** Whether a transfer would succeed if it were mined now. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * The outcome of a transaction, as far as it is known.
 *
 * - `confirmed`: on chain, deep enough, and successful.
 * - `reverted`: on chain, deep enough, and failed.
 * - `pending`: not known to be on chain, or not deep enough. It may still get there.
 * - `dropped`: crowded out. Another transaction of the sender took its nonce, so it never gets there.
 * - `dropped-early`: the same, known while there is time to send the transfer again and to wait for that.
 */
export type TransactionOutcome = "confirmed" | "reverted" | "pending" | "dropped" | "dropped-early";

/** One chain, with an account that can send transactions on it. */
export interface EvmChain {
  readonly network: `eip155:${number}`;
  /** Addresses of the accounts that send transactions. */
  readonly signers: readonly Address[];
  /** Without it, this chain settles no payments by Permit2. */
  readonly permit2?: Permit2Chain;
  /** Whether the payer signed this: with the key of `from`, or by the contract at `from` (ERC-1271). */
  verifySignature(signed: SignedAuthorization): Promise<boolean>;
  /** Atomic units of `asset` that `owner` has. */
  balanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Whether the nonce is used: by a transfer, or because the payer cancelled it. */
  isAuthorizationUsed(asset: Address, authorizer: Address, nonce: Hex): Promise<boolean>;
  /** Tries the transfer without sending it. `problem` is for a log. */
  simulate(signed: SignedAuthorization): Promise<Simulation>;
  /**
   * Sends the transfer. When it resolves, the transaction is out, or may be. Rejects only if provably nothing was broadcast.
   * May then be called again.
   */
  submit(signed: SignedAuthorization): Promise<Hash>;
  /**
   * Waits, for a bounded time, until the transaction is deep enough.
   *
   * @param waitedMs - How much of that time is used up, because another transaction was waited for first. Default 0.
   */
  outcomeOf(transaction: Hash, waitedMs?: number): Promise<TransactionOutcome>;
  /**
   * Finds the transaction that used the nonce for exactly this transfer: asset, from, to and value. There is no such
   * transaction if the payer cancelled the authorization, or used its nonce for another transfer.
   */
  findTransfer(signed: SignedAuthorization): Promise<Hash | undefined>;
  /**
   * Sets whom it asks before it signs a transaction: with the most wei that this can cost, value included. `undefined` means
   * no; otherwise the result is told the real cost, if that gets known. The last one set is asked.
   */
  meterGas?(book: BookGas): void;
  /** Whether the network responds and the signer can pay for transactions. Never rejects. */
  health(): Promise<ChainHealth>;
}

/** Books wei: see {@link EvmChain.meterGas}. */
export type BookGas = (mostWei: bigint) => ((costWei: bigint) => void) | undefined;

/** The health of a chain, with its signer's balance. */
export interface ChainHealth extends SchemeHealth {
  /** Wei, in digits. Absent if the node did not say. */
  readonly balance?: string;
}

/** The outcomes of a chain's transactions, in the words of the settlement desk. */
export function outcomesOn(chain: Pick<EvmChain, "outcomeOf">) {
  return async (transaction: string, waitedMs: number): Promise<SettlementOutcome> => {
    const outcome = await chain.outcomeOf(transaction as Hash, waitedMs);
    return outcome === "reverted" ? "failed" : outcome;
  };
}

/**
 * The chain could not be asked, or refused a transaction. The message repeats the node's own in short. Neither the message
 * nor the error contains a key, a URL or a signature. There is no `cause`, because RPC URLs have keys in their path.
 */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}

/** Converts any error of a call to a node. */
export function toChainError(error: unknown): ChainError {
  return error instanceof ChainError ? error : new ChainError(problemOf(error));
}

/** Describes an error in one short line. Texts of nodes and contracts are untrusted, so they are made {@link legible}. */
export function problemOf(error: unknown): string {
  if (error instanceof ChainError) return error.message;
  if (!(error instanceof BaseError)) return error instanceof Error ? error.name : "not an error";
  const reverted = error.walk((cause) => cause instanceof ExecutionRevertedError);
  if (reverted instanceof ExecutionRevertedError) return legible(reverted.shortMessage);
  const said = error.walk((cause) => cause instanceof RpcRequestError);
  if (said instanceof RpcRequestError) return legible(`the node said: ${said.details}`);
  const failed = error.walk((cause) => cause instanceof HttpRequestError);
  if (failed instanceof HttpRequestError && failed.status !== undefined)
    return `the node responded with status ${failed.status}`;
  return legible(error.shortMessage);
}

/** The messages of nodes when a contract fails other than by a revert. There is no code for that. */
const FAILED = /revert|invalid ?(?:fe ?)?opcode|invalid jump|out ?of ?gas|stack (?:under|over)flow|evm error/i;

/** Whether a call failed in the called contract, as opposed to a call that could not be made. */
export function isRevert(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  if (error.walk((cause) => cause instanceof ExecutionRevertedError) !== null) return true;
  const said = error.walk((cause) => cause instanceof RpcRequestError);
  return said instanceof RpcRequestError && FAILED.test(said.details);
}
