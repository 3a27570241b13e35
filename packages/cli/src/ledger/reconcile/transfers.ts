/**
 * Transfers on a chain, and how they compare with the entries of a ledger.
 *
 * @module
 */
import type { LedgerEntry } from "@farebox/core";
import { describeAmount } from "../amounts.js";

/** Money that moved to a payee. */
export interface Transfer {
  readonly network: string;
  readonly asset: string;
  /** `undefined`: the chain does not say it in one word. */
  readonly from: string | undefined;
  readonly to: string;
  readonly amount: bigint;
  readonly transaction: string;
  /** Unix milliseconds; `undefined`: the node does not know. */
  readonly atMs: number | undefined;
}

/** What became of a transaction that moved nothing to a payee. */
export type Fate = "absent" | "failed" | "succeeded";

/** What a chain knows. */
export interface ChainView {
  /** All transfers of the assets to the payees around that time. */
  readonly transfers: readonly Transfer[];
  fateOf(transaction: string): Promise<Fate>;
}

/** Something that does not agree. */
export interface Discrepancy {
  /**
   * - `missing`: the chain has no such transaction.
   * - `failed`: the transaction failed.
   * - `differs`: its transfer has another amount, payee, payer or asset.
   * - `repeated`: another entry has this transfer already.
   * - `unrecorded`: no entry has a transfer to a payee.
   */
  readonly kind: "missing" | "failed" | "differs" | "repeated" | "unrecorded";
  readonly entry: LedgerEntry | undefined;
  readonly transfer: Transfer | undefined;
  readonly message: string;
}

/** How the entries of one network compare with its chain. */
export interface Comparison {
  readonly matched: number;
  readonly discrepancies: readonly Discrepancy[];
}

/** Which entries and transfers count. Those around them are only used to match. */
export interface Window {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Compares. Each transfer is for one entry. */
export async function compare(
  entries: readonly LedgerEntry[],
  { transfers, fateOf }: ChainView,
  { sinceMs, untilMs }: Window,
): Promise<Comparison> {
  const left = new Map<string, Transfer[]>();
  for (const transfer of transfers) {
    const key = transfer.transaction.toLowerCase();
    left.set(key, [...(left.get(key) ?? []), transfer]);
  }
  const seen = new Set(left.keys());
  const discrepancies: Discrepancy[] = [];
  let matched = 0;
  const open: LedgerEntry[] = [];
  for (const entry of entries) {
    const own = left.get(entry.transaction.toLowerCase()) ?? [];
    const at = own.findIndex((transfer) => differenceOf(entry, transfer) === undefined);
    if (at === -1) open.push(entry);
    else {
      own.splice(at, 1);
      if (isWithin(entry.settledAtMs)) matched += 1;
    }
  }
  function isWithin(atMs: number | undefined): boolean {
    return atMs === undefined || (atMs >= sinceMs && atMs < untilMs);
  }
  for (const entry of open) {
    const own = left.get(entry.transaction.toLowerCase()) ?? [];
    const transfer = own.shift();
    if (!isWithin(entry.settledAtMs)) continue;
    discrepancies.push(await explain(entry, transfer, { isSeen: seen.has(entry.transaction.toLowerCase()), fateOf }));
  }
  for (const transfer of [...left.values()].flat()) {
    if (!isWithin(transfer.atMs)) continue;
    const message = `no entry has this transfer of ${describeAmount(transfer.amount, transfer)} to ${transfer.to}`;
    discrepancies.push({ kind: "unrecorded", entry: undefined, transfer, message });
  }
  return { matched, discrepancies };
}

async function explain(
  entry: LedgerEntry,
  transfer: Transfer | undefined,
  { isSeen, fateOf }: { readonly isSeen: boolean; readonly fateOf: ChainView["fateOf"] },
): Promise<Discrepancy> {
  if (transfer !== undefined) {
    return { kind: "differs", entry, transfer, message: differenceOf(entry, transfer) ?? "it differs" };
  }
  if (isSeen) return { kind: "repeated", entry, transfer, message: "another entry has its transfer already" };
  const fate = await fateOf(entry.transaction);
  if (fate === "absent") return { kind: "missing", entry, transfer, message: "the chain has no such transaction" };
  if (fate === "failed") return { kind: "failed", entry, transfer, message: "its transaction failed" };
  return {
    kind: "differs",
    entry,
    transfer,
    message: "its transaction moved nothing of this asset to a payee of the ledger",
  };
}

/** How a transfer differs from what the entry says; `undefined`: it is the one. */
function differenceOf(entry: LedgerEntry, transfer: Transfer): string | undefined {
  const { asset, payee, payer, amount } = entry;
  if (!isSame(transfer.asset, asset)) return `the asset is ${transfer.asset}, and the ledger says ${asset}`;
  if (!isSame(transfer.to, payee)) return `the payee is ${transfer.to}, and the ledger says ${payee}`;
  if (transfer.amount !== BigInt(amount)) {
    return `the amount is ${describeAmount(transfer.amount, entry)}, and the ledger says ${describeAmount(BigInt(amount), entry)}`;
  }
  // A payer that is hashed or erased cannot be compared.
  const isPlain = payer !== undefined && !payer.startsWith("hmac:") && transfer.from !== undefined;
  if (isPlain && !isSame(transfer.from as string, payer))
    return `the payer is ${transfer.from}, and the ledger says ${payer}`;
  return undefined;
}

function isSame(a: string, b: string): boolean {
  return a === b || (a.startsWith("0x") && a.toLowerCase() === b.toLowerCase());
}
