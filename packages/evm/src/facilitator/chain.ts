/**
 * The chain as the schemes see it: a port. `createRpcChain` is the implementation over JSON-RPC; a ledger in memory
 * can stand in for it.
 *
 * Every method may reject when the chain cannot be reached; an error's message is for a log and holds no key and no URL
 * with credentials. What a stranger's payment can cause is always a value.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import type { SchemeHealth } from "@farebox/core";
import type { ProxyKind } from "../permit2/proxies.js";
import type { Permit } from "../permit2/read-permit.js";

/** `0x` and 40 hexadecimal digits, in any case; compare without regard to case. */
export type Address = `0x${string}`;

/** `0x` and an even number of hexadecimal digits. */
export type Hex = `0x${string}`;

/** `0x` and 64 hexadecimal digits: a transaction's hash. */
export type Hash = `0x${string}`;

/** The message that a payer signs: one transfer, valid once, within a window of time. */
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
  /** 65 bytes from a key; of any length from a contract wallet (ERC-1271). Not yet known to be valid. */
  readonly signature: Hex;
}

/** An allowance for Permit2 that the payer has signed, to be handed to the token together with the payment. */
export interface SignedApproval {
  /** Atomic units; the proxies take no other than the payment's own maximum. */
  readonly value: bigint;
  /** Unix time in seconds. */
  readonly deadline: bigint;
  /** 65 bytes. Not yet known to be valid. */
  readonly signature: Hex;
}

/** An allowance for Permit2 that the payer has signed as a transaction of its own. Not yet known to be the payer's. */
export interface ApprovalTransaction {
  /** The payer; in lower case, as is the token. */
  readonly from: Address;
  readonly token: Address;
  /** What is sent to the network, byte for byte. */
  readonly serialized: Hex;
  readonly hash: Hash;
  /** The payer's count of transactions, of which this is the next. */
  readonly nonce: number;
  readonly gas: bigint;
  /** Wei for a unit of gas. */
  readonly maxFeePerGas: bigint;
  readonly data: Hex;
}

/** A payment by Permit2, with the payer's signature. */
export interface SignedPermit {
  readonly chainId: number;
  /** Which proxy carries it out. */
  readonly kind: ProxyKind;
  /** Addresses in lower case; the signature is not yet known to be valid. */
  readonly permit: Permit;
  /** Where the payer has not allowed Permit2 to move the token yet (EIP-2612). */
  readonly approval?: SignedApproval | undefined;
  /** The same for a token without EIP-2612; needs {@link Permit2Chain.approvals}. */
  readonly approvalTransaction?: ApprovalTransaction | undefined;
}

/** What carries out approvals that payers have signed as transactions. */
export interface ApprovalChain {
  /** What keeps the approval from being carried out now, for a log; `undefined` when nothing does. */
  findFault(approval: ApprovalTransaction): Promise<string | undefined>;
  /** Tries the approval, and behind it the transfer of `amount`, without sending anything. */
  simulate(signed: SignedPermit, approval: ApprovalTransaction, amount: bigint): Promise<Simulation>;
  /**
   * Gives the payer what it lacks to pay for the gas, sends the approval, and waits until it is on chain. Rejects when it is
   * not there in time, or has failed; it may be called again.
   */
  carryOut(approval: ApprovalTransaction): Promise<void>;
}

/** What Permit2 and its proxies do on a chain. */
export interface Permit2Chain {
  /** Whether the payer signed this: with the key of `from`, or as the contract at `from` says (ERC-1271). */
  verifySignature(signed: SignedPermit): Promise<boolean>;
  /** Atomic units of `asset` that `owner` has. */
  balanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Atomic units of `asset` that Permit2 may move of `owner`'s. */
  allowanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Whether the nonce is used up: by a transfer of whatever token, or because the payer took it back. */
  isNonceUsed(owner: Address, nonce: bigint): Promise<boolean>;
  /** Tries to move `amount` without sending anything. `problem` is for a log. */
  simulate(signed: SignedPermit, amount: bigint): Promise<Simulation>;
  /** Sends the transfer of `amount`. Rejects only when provably nothing was broadcast. */
  submit(signed: SignedPermit, amount: bigint): Promise<Hash>;
  /** Carries out approvals that payers have signed as transactions; without it none is. */
  readonly approvals?: ApprovalChain;
  /** Finds the call of the proxy that used the nonce to pay this recipient in this token, and what it moved. */
  findTransfer(signed: SignedPermit): Promise<{ readonly transaction: Hash; readonly amount: bigint } | undefined>;
}

/** What a transfer would do if it were mined now. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * What is known about a transaction.
 *
 * - `confirmed`: on chain, deep enough, and it did what it was sent for.
 * - `reverted`: on chain, deep enough, and it failed.
 * - `pending`: not on chain as far as anyone knows, or not deep enough; it may still come.
 * - `dropped`: never to come, because another transaction of the sender took its place.
 * - `dropped-early`: the same, told while there is time to send the transfer again and to wait for that.
 */
export type TransactionOutcome = "confirmed" | "reverted" | "pending" | "dropped" | "dropped-early";

/** One chain, with an account that can send transactions on it. */
export interface EvmChain {
  readonly network: `eip155:${number}`;
  /** The accounts that send transactions. */
  readonly signers: readonly Address[];
  /** Payments by Permit2; without it there are none here. */
  readonly permit2?: Permit2Chain;
  /** Whether the payer signed this: with the key of `from`, or as the contract at `from` says (ERC-1271). */
  verifySignature(signed: SignedAuthorization): Promise<boolean>;
  /** Atomic units of `asset` that `owner` has. */
  balanceOf(asset: Address, owner: Address): Promise<bigint>;
  /** Whether the nonce is used up: by a transfer, or because the payer cancelled it. */
  isAuthorizationUsed(asset: Address, authorizer: Address, nonce: Hex): Promise<boolean>;
  /** Tries the transfer without sending it. `problem` is for a log. */
  simulate(signed: SignedAuthorization): Promise<Simulation>;
  /**
   * Sends the transfer. Once it resolves, the transaction is out, or may be. Rejects only when provably nothing was
   * broadcast, so that it may be called again.
   */
  submit(signed: SignedAuthorization): Promise<Hash>;
  /**
   * Waits, for a bounded time, until the transaction is as deep as this chain is asked to wait for.
   *
   * @param waitedMs - How much of that time is used up already, because another transaction was waited for first. Default 0.
   */
  outcomeOf(transaction: Hash, waitedMs?: number): Promise<TransactionOutcome>;
  /**
   * Finds the transaction that used the nonce for exactly this transfer: asset, from, to and value. A cancelled
   * authorization, and one used for another transfer, has none.
   */
  findTransfer(signed: SignedAuthorization): Promise<Hash | undefined>;
  /** Whether the network answers and the signer can pay for transactions. Never rejects. */
  health(): Promise<SchemeHealth>;
}
