/**
 * A stand-in for Algorand's ledger: balances, and groups of transactions applied to them. It knows payments and transfers with
 * their dangerous fields, so that tests see the harm. It knows no programs, rewards or frozen accounts.
 *
 * @module
 */
import { createPublicKey, verify } from "node:crypto";
import { type Address, computeGroupID, type SignedTransaction, type Transaction } from "algosdk";
import { GENESIS_HASH, ROUND } from "../../packages/avm/src/payments.fixture.js";

const KEY_HEADER = Buffer.from("302a300506032b6570032100", "hex");
const MIN_FEE = 1000n;

/** Stands for Algos in the table of balances. */
const ALGO = 0n;

/** Why a group is refused. */
export class LedgerError extends Error {}

/** Whether signatures may be missing. */
export interface Rules {
  readonly signatures: "all" | "may-be-missing";
}

export class Ledger {
  round: number = ROUND + 10;
  /** Atomic units by asset and address; absent if the account has not opted in. */
  #balances = new Map<string, bigint>();
  readonly #rounds = new Map<string, number>();

  give(address: Address, amount: bigint, asset: bigint = ALGO): void {
    this.#balances.set(keyOf(address, asset), amount);
  }

  balanceOf(address: Address | string, asset: bigint = ALGO): bigint | undefined {
    return this.#balances.get(keyOf(address, asset));
  }

  /** All balances, for comparison. */
  snapshot(): ReadonlyMap<string, bigint> {
    return new Map(this.#balances);
  }

  /** The round in which a transaction got on chain. Forgotten after a thousand rounds, like by a node. */
  roundOf(id: string): number | undefined {
    const round = this.#rounds.get(id);
    return round !== undefined && round > this.round - 1000 ? round : undefined;
  }

  /** The transactions of a round. */
  idsIn(round: number): readonly string[] {
    return [...this.#rounds].filter(([, own]) => own === round).map(([id]) => id);
  }

  /** Tries a group. @throws LedgerError when it would fail */
  try(group: readonly SignedTransaction[], rules: Rules): ReadonlyMap<string, bigint> {
    checkGroup(group);
    for (const signed of group) this.#checkOne(signed, rules);
    const fees = group.reduce((sum, { txn }) => sum + txn.fee, 0n);
    if (fees < MIN_FEE * BigInt(group.length)) throw new LedgerError("fees are too small");
    const balances = new Map(this.#balances);
    for (const { txn } of group) applyTo(balances, txn);
    return balances;
  }

  /** Applies a group as a whole, or not at all. */
  apply(group: readonly SignedTransaction[]): void {
    this.#balances = new Map(this.try(group, { signatures: "all" }));
    this.round++;
    for (const { txn } of group) this.#rounds.set(txn.txID(), this.round);
  }

  #checkOne({ txn, sig }: SignedTransaction, { signatures }: Rules): void {
    if (this.#rounds.has(txn.txID())) throw new LedgerError("transaction already in ledger");
    if (BigInt(this.round) < txn.firstValid || BigInt(this.round) > txn.lastValid) throw new LedgerError("round");
    if (!GENESIS_HASH.equals(txn.genesisHash ?? Buffer.alloc(0))) throw new LedgerError("genesis hash");
    if (sig === undefined && signatures === "may-be-missing") return;
    const key = Buffer.concat([KEY_HEADER, txn.sender.publicKey]);
    const isSigned =
      sig !== undefined && verify(null, txn.bytesToSign(), createPublicKey({ key, format: "der", type: "spki" }), sig);
    if (!isSigned) throw new LedgerError("signature");
  }
}

function checkGroup(group: readonly SignedTransaction[]): void {
  if (group.length === 0 || group.length > 16) throw new LedgerError("group size");
  if (group.length === 1 && group[0]?.txn.group === undefined) return;
  const said = group.map(({ txn }) => Buffer.from(txn.group ?? []));
  for (const { txn } of group) Reflect.deleteProperty(txn, "group");
  const id = Buffer.from(computeGroupID(group.map(({ txn }) => txn)));
  group.forEach(({ txn }, nth) => {
    const own = said[nth];
    if (own !== undefined && own.length > 0) txn.group = own;
  });
  if (!said.every((own) => own.equals(id))) throw new LedgerError("group id");
}

function applyTo(balances: Map<string, bigint>, txn: Transaction): void {
  move(balances, { asset: ALGO, from: txn.sender, to: FEE_SINK, amount: txn.fee });
  if (txn.payment !== undefined) {
    const { amount, receiver, closeRemainderTo: close } = txn.payment;
    move(balances, { asset: ALGO, from: txn.sender, to: receiver, amount });
    if (close !== undefined) empty(balances, { asset: ALGO, from: txn.sender, to: close });
  }
  if (txn.assetTransfer !== undefined) {
    const { assetIndex: asset, amount, receiver, closeRemainderTo: close, assetSender } = txn.assetTransfer;
    move(balances, { asset, from: assetSender ?? txn.sender, to: receiver, amount });
    if (close !== undefined) empty(balances, { asset, from: txn.sender, to: close });
  }
}

interface Move {
  readonly asset: bigint;
  readonly from: Address;
  readonly to: Address;
}

/** Receives the fees. */
const FEE_SINK = { toString: () => "the fee sink" } as Address;

function move(balances: Map<string, bigint>, { asset, from, to, amount }: Move & { readonly amount: bigint }): void {
  if (amount === 0n) return;
  const [source, target] = [keyOf(from, asset), keyOf(to, asset)];
  const has = balances.get(source) ?? 0n;
  if (has < amount) throw new LedgerError(`overspend of ${from}`);
  if (asset !== ALGO && !balances.has(target)) throw new LedgerError(`${to} has not opted in to ${asset}`);
  balances.set(source, has - amount);
  balances.set(target, (balances.get(target) ?? 0n) + amount);
}

function empty(balances: Map<string, bigint>, { asset, from, to }: Move): void {
  move(balances, { asset, from, to, amount: balances.get(keyOf(from, asset)) ?? 0n });
}

function keyOf(address: Address | string, asset: bigint): string {
  return `${address}/${asset}`;
}

/** The initial balance of every account that has one. */
export const RICH = 10_000_000n;
