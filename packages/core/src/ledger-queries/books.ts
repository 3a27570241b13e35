/**
 * Reads and marks the entries of a store's ledger.
 *
 * @see `docs/guides/ledger.md`
 * @module
 */
import { LedgerError } from "../errors.js";
import {
  type Books,
  type CheckedRefund,
  checkArguments,
  createLedger,
  type EntrySearch,
  type Ledger,
} from "../ledger/ledger.js";
import { parsePayerNames } from "../ledger/parse-ledger.js";
import type { LedgerOptions } from "../options.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { LedgerEntry, LedgerRefund, SharedLedger } from "../store/shared-ledger.js";

/**
 * Opens the ledger of a store without an engine, for scripts.
 *
 * @param options - As the option `ledger` of the seller, so far as it says how payers are recorded.
 * @throws ConfigError if the store keeps no ledger, or an option is invalid
 */
export function openLedger(store: PaymentStore, options: Pick<LedgerOptions, "payers" | "secret"> = {}): Ledger {
  const ledger = checkArguments("openLedger", (issues) => {
    const found: SharedLedger | undefined = typeof store === "object" && store !== null ? store.ledger : undefined;
    if (found === undefined) issues.addOutline("store", "a store that keeps a ledger", store);
    return found as SharedLedger;
  });
  const { secret } = checkArguments("openLedger", (issues) =>
    parsePayerNames(issues.checkKeys("options", options, ["payers", "secret"]) ? options : {}, "options", issues),
  );
  const books = openBooks(ledger, async () => {});
  return createLedger({ secret, now: Date.now, openBooks: async () => books });
}

/**
 * Opens the books of `payments.ledger`.
 *
 * @param beforeCounts - Writes what was counted and not written so far. Never rejects.
 */
export function openBooks(ledger: SharedLedger, beforeCounts: () => Promise<void>): Books {
  return {
    entries: (search) => readPages(ledger, search),
    get: async (id) => (await ledger.find(id)) ?? undefined,
    async counts(days) {
      await beforeCounts();
      return ledger.counts(days);
    },
    markRefunded: (id, refund) => markRefunded(ledger, id, refund),
    erase: async (payer) => ledger.erase(payer),
  };
}

/** Entries of one page. */
const PAGE = 200;

async function* readPages(
  ledger: SharedLedger,
  { limit = Number.POSITIVE_INFINITY, ...search }: EntrySearch,
): AsyncGenerator<LedgerEntry> {
  let after = search.after;
  for (let left = limit; left > 0; ) {
    const asked = Math.min(left, PAGE);
    const page = await ledger.list({ ...search, ...(after !== undefined && { after }), limit: asked });
    yield* page;
    left -= page.length;
    after = page.at(-1)?.position;
    if (page.length < asked) return;
  }
}

async function markRefunded(
  ledger: SharedLedger,
  id: string,
  { transaction, amount, atMs }: CheckedRefund,
): Promise<LedgerEntry> {
  for (;;) {
    const entry = await ledger.find(id);
    if (entry === undefined)
      throw new LedgerError("there is no such entry: it was never settled, or is older than the ledger", "unknown");
    const { refunds } = entry;
    const same = refunds.find((one) => one.transaction === transaction);
    if (same !== undefined) {
      if (amount === undefined || BigInt(amount) === BigInt(same.amount)) return entry;
      throw new LedgerError(`this transaction is marked with ${same.amount} already, not ${amount}`, "conflict");
    }
    const left = BigInt(entry.amount) - refunds.reduce((sum, one) => sum + BigInt(one.amount), 0n);
    const given = amount === undefined ? left : BigInt(amount);
    if (given > left || left === 0n) {
      throw new LedgerError(`${left} of ${entry.amount} can still be given back, not ${amount ?? "more"}`, "amount");
    }
    const all: readonly LedgerRefund[] = [...refunds, { transaction, amount: given.toString(), atMs }];
    const status = given === left ? "refunded" : "settled";
    const known = refunds.length;
    // Another process may have marked it meanwhile.
    if (await ledger.refund({ id: entry.id, known, refunds: all, status })) return { ...entry, refunds: all, status };
  }
}
