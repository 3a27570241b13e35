/**
 * The ledger of a token in memory: balances, used authorizations, transfers. It moves money by the rules of EIP-3009, and of
 * Permit2 with the proxies of x402. Every account allows Permit2. There are no contract wallets.
 *
 * @see EIP-3009; Permit2, `SignatureTransfer`
 * @module
 */
import { randomBytes } from "node:crypto";
import { StateError } from "@farebox/core";
import type { Address, Hash, SignedAuthorization, SignedPermit } from "@farebox/evm/facilitator";

/** The token of the ledger. `name` and `version` are those of its EIP-712 domain. */
export interface LedgerAsset {
  readonly address: Address;
  readonly name: string;
  readonly version: string;
}

/** One transfer. Addresses and nonce are in lower case. */
export interface Transfer {
  readonly transaction: Hash;
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly nonce: `0x${string}`;
}

/** The ledger, as a test uses it. */
export interface Ledger {
  readonly asset: LedgerAsset;
  /**
   * Adds atomic units to the balance of an address, or removes them for a negative amount.
   *
   * @throws {@link StateError} when the balance would be negative
   */
  fund(address: Address, amount: bigint): void;
  /** Atomic units. */
  balanceOf(address: Address): bigint;
  /** Every settled payment, oldest first. */
  readonly transfers: readonly Transfer[];
  /** Keeps transactions pending until {@link Ledger.resumeMining}. */
  pauseMining(): void;
  /** Executes pending transactions in their order, and from now on each transaction at once. */
  resumeMining(): void;
}

/** A token: its ledger, and the operations of a chain. */
export interface Token {
  readonly ledger: Ledger;
  isUsed(authorizer: Address, nonce: string): boolean;
  /** Why a transfer would revert now; `undefined` when it would not. Does not check the signature. */
  problemOf(signed: SignedAuthorization): string | undefined;
  /** Sends a transaction. It is executed at once, or when mining resumes. */
  send(signed: SignedAuthorization, signatureIsValid: boolean): Hash;
  outcomeOf(transaction: Hash): "confirmed" | "reverted" | "pending";
  /** The same for payments by Permit2, of which at most the signed amount is taken. */
  readonly permits: {
    isUsed(owner: Address, nonce: bigint): boolean;
    problemOf(signed: SignedPermit, amount: bigint): string | undefined;
    send(signed: SignedPermit, amount: bigint, signatureIsValid: boolean): Hash;
    /** The transfer that used the nonce for this recipient. */
    find(signed: SignedPermit): { readonly transaction: Hash; readonly amount: bigint } | undefined;
  };
}

/** Options of `createToken`. */
export interface TokenOptions {
  readonly asset: LedgerAsset;
  /** The chain id of the EIP-712 domain. */
  readonly chainId: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Creates a token with empty balances. */
export function createToken({ asset, chainId, now }: TokenOptions): Token {
  const balances = createBalances();
  const used = new Set<string>();
  const outcomes = new Map<Hash, "confirmed" | "reverted">();
  const transfers: Transfer[] = [];
  const miner = createMiner();

  const isUsed = (authorizer: Address, nonce: string): boolean => used.has(authorizationKey(authorizer, nonce));
  const problemOf = (signed: SignedAuthorization): string | undefined => {
    const { from, value, nonce } = signed.authorization;
    const problem = domainProblem(signed, asset, chainId) ?? windowProblem(signed, Math.floor(now() / 1000));
    if (problem !== undefined) return problem;
    if (isUsed(from, nonce)) return "authorization is used";
    return balances.of(from) < value ? "transfer amount exceeds balance" : undefined;
  };
  const permitted = new Map<string, Transfer>();
  const permitProblemOf = (signed: SignedPermit, amount: bigint): string | undefined => {
    const { from, token, nonce, amount: most } = signed.permit;
    if (lower(token) !== lower(asset.address)) return "no such token";
    if (signed.chainId !== chainId) return "invalid signature";
    const problem = permitWindowProblem(signed, Math.floor(now() / 1000));
    if (problem !== undefined) return problem;
    if (permitted.has(permitKey(from, nonce))) return "nonce is used";
    if (amount > most) return "more than the permitted amount";
    return balances.of(from) < amount ? "transfer amount exceeds balance" : undefined;
  };
  const move = (transfer: Transfer): void => {
    balances.add(transfer.from, -transfer.amount);
    balances.add(transfer.to, transfer.amount);
    transfers.push(transfer);
  };
  const send = (execute: (transaction: Hash) => void, findProblem: () => string | undefined): Hash => {
    const transaction: Hash = `0x${randomBytes(32).toString("hex")}`;
    miner.mine(() => {
      const succeeds = findProblem() === undefined;
      if (succeeds) execute(transaction);
      outcomes.set(transaction, succeeds ? "confirmed" : "reverted");
    });
    return transaction;
  };

  return {
    ledger: { asset, transfers, fund: balances.add, balanceOf: balances.of, ...miner.control },
    isUsed,
    problemOf,
    outcomeOf: (transaction) => outcomes.get(transaction) ?? "pending",
    send: (signed, signatureIsValid) =>
      send(
        (transaction) => {
          const { from, to, value: amount, nonce } = signed.authorization;
          used.add(authorizationKey(from, nonce));
          move({ transaction, from: lower(from), to: lower(to), amount, nonce: lower(nonce) });
        },
        () => (signatureIsValid ? problemOf(signed) : "invalid signature"),
      ),
    permits: {
      isUsed: (owner, nonce) => permitted.has(permitKey(owner, nonce)),
      problemOf: permitProblemOf,
      send: (signed, amount, signatureIsValid) =>
        send(
          (transaction) => {
            const { from, to, nonce } = signed.permit;
            const word = `0x${nonce.toString(16).padStart(64, "0")}` as const;
            const transfer = { transaction, from: lower(from), to: lower(to), amount, nonce: word };
            permitted.set(permitKey(from, nonce), transfer);
            move(transfer);
          },
          () => (signatureIsValid ? permitProblemOf(signed, amount) : "invalid signature"),
        ),
      find: ({ permit: { from, to, nonce } }) => {
        const found = permitted.get(permitKey(from, nonce));
        return found?.to === lower(to) ? found : undefined;
      },
    },
  };
}

interface Balances {
  of(address: Address): bigint;
  add(address: Address, amount: bigint): void;
}

function createBalances(): Balances {
  const balances = new Map<string, bigint>();
  const of = (address: Address): bigint => balances.get(lower(address)) ?? 0n;
  return {
    of,
    add: (address, amount) => {
      const balance = of(address) + amount;
      if (balance < 0n) throw new StateError(`${address} would have ${balance} atomic units`);
      balances.set(lower(address), balance);
    },
  };
}

interface Miner {
  /** Executes a transaction now, or when mining resumes. */
  mine(transaction: () => void): void;
  readonly control: Pick<Ledger, "pauseMining" | "resumeMining">;
}

function createMiner(): Miner {
  let waiting: (() => void)[] | undefined;
  return {
    mine: (transaction) => {
      if (waiting === undefined) transaction();
      else waiting.push(transaction);
    },
    control: {
      pauseMining: () => {
        waiting ??= [];
      },
      resumeMining: () => {
        const transactions = waiting ?? [];
        waiting = undefined;
        for (const transaction of transactions) transaction();
      },
    },
  };
}

/** On chain, a signature for another domain recovers another address. So the domain of the offer must be that of the token. */
function domainProblem(signed: SignedAuthorization, asset: LedgerAsset, chainId: number): string | undefined {
  const { name, version, chainId: signedFor } = signed.domain;
  if (lower(signed.asset) !== lower(asset.address)) return "no such token";
  return name === asset.name && version === asset.version && signedFor === chainId ? undefined : "invalid signature";
}

function windowProblem({ authorization }: SignedAuthorization, nowSeconds: number): string | undefined {
  if (BigInt(nowSeconds) <= authorization.validAfter) return "authorization is not yet valid";
  return BigInt(nowSeconds) >= authorization.validBefore ? "authorization is expired" : undefined;
}

function permitWindowProblem({ permit }: SignedPermit, nowSeconds: number): string | undefined {
  if (BigInt(nowSeconds) < permit.validAfter) return "payment is not yet valid";
  return BigInt(nowSeconds) > permit.deadline ? "signature is expired" : undefined;
}

function permitKey(owner: Address, nonce: bigint): string {
  return `${lower(owner)}|${nonce}`;
}

function authorizationKey(authorizer: Address, nonce: string): string {
  return `${authorizer}|${nonce}`.toLowerCase();
}

function lower(hex: `0x${string}`): `0x${string}` {
  return `0x${hex.slice(2).toLowerCase()}`;
}
