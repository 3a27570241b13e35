/**
 * `payments.ledger`: what was sold, to whom, and what was given back.
 *
 * @see `docs/guides/ledger.md`
 * @module
 */
import { ConfigError, LedgerError } from "../errors.js";
import { createIssues, type Issues } from "../issues.js";
import type { LedgerOptions } from "../options.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import { dayOf, MemoryLedger } from "../store/memory-ledger.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { LedgerCount, LedgerEntry, LedgerRefund, LedgerSearch, SharedLedger } from "../store/shared-ledger.js";
import { idOf, isEntryId, type PayerNames, payerName } from "./new-entry.js";
import { parsePayerNames } from "./parse-ledger.js";

/** A time: a `Date`, Unix milliseconds, or ISO text such as `2026-11-27` (in UTC). */
export type LedgerTime = Date | number | string;

/** Which entries of the ledger. A field that is left out does not matter. */
export interface LedgerQuery {
  /** Settled from this time on. */
  readonly since?: LedgerTime;
  /** Settled before this time. */
  readonly until?: LedgerTime;
  /** The key of a route, e.g. `GET /weather/:city`. */
  readonly route?: string;
  /** An address; also where payers are hashed. */
  readonly payer?: string;
  /** CAIP-2. */
  readonly network?: string;
  readonly status?: LedgerEntry["status"];
  /** The `position` of the last entry of the page before. */
  readonly after?: string;
  /** How many at most. Default: all. */
  readonly limit?: number;
}

/** A refund that the seller has made. */
export interface Refund {
  /** The transaction that gave the money back. */
  readonly transaction: string;
  /** Atomic units, as digits. Default: all that was not given back so far. */
  readonly amount?: string;
  /** Default: now. */
  readonly at?: LedgerTime;
}

/** The ledger of a store. Every method rejects if the store fails. */
export interface Ledger {
  /**
   * Yields entries in the order in which they were recorded, read page by page. The order is about that of `settledAtMs`.
   *
   * @example for await (const entry of payments.ledger.entries({ since: "2026-11-01", route: "GET /weather" })) …
   * @throws ConfigError if the query is invalid
   */
  entries(query?: LedgerQuery): AsyncIterable<LedgerEntry>;
  /**
   * Returns an entry, or `undefined`.
   *
   * @param id - Its id; or the identity of the payment, which events and hooks name as `payment`.
   */
  get(id: string): Promise<LedgerEntry | undefined>;
  /**
   * Returns how often something was not sold, for each day (UTC), route and reason. A process that is killed may lose the last second.
   *
   * @throws ConfigError if a time is invalid
   */
  counts(range?: { readonly since?: LedgerTime; readonly until?: LedgerTime }): Promise<readonly LedgerCount[]>;
  /**
   * Marks a payment as given back, wholly or in part, and returns its entry. It moves no money. The same transaction marks an entry once,
   * however often it is passed.
   *
   * @param id - As for {@link Ledger.get}.
   * @throws LedgerError if there is no such entry, if all refunds together would be more than was paid, or if that transaction was marked
   * with another amount
   * @throws ConfigError if the refund is invalid
   */
  markRefunded(id: string, refund: Refund): Promise<LedgerEntry>;
  /**
   * Removes a payer from all entries, with the URLs of what it bought. Returns from how many. The transactions stay, and the chain shows
   * who sent them.
   *
   * @param payer - Its address; also where payers are hashed.
   */
  erase(payer: string): Promise<number>;
}

/**
 * Opens the ledger of a store without an engine, for scripts.
 *
 * @param options - As the option `ledger` of the seller, so far as it says how payers are recorded.
 * @throws ConfigError if the store keeps no ledger, or an option is invalid
 */
export function openLedger(store: PaymentStore, options: Pick<LedgerOptions, "payers" | "secret"> = {}): Ledger {
  const { ledger } = check("openLedger", (issues) => {
    const ledger: unknown = typeof store === "object" && store !== null ? store.ledger : undefined;
    if (ledger === undefined) issues.addOutline("store", "a store that keeps a ledger", store);
    return { ledger: store?.ledger };
  });
  const names = check("openLedger", (issues) =>
    parsePayerNames(issues.checkKeys("options", options, ["payers", "secret"]) ? options : {}, "options", issues),
  );
  return new Books({ ledger: ledger ?? new MemoryLedger(0), now: Date.now, beforeCounts: async () => {}, ...names });
}

/** What the books need. */
export interface BooksDeps extends PayerNames {
  readonly ledger: SharedLedger;
  readonly now: () => number;
  /** Writes what was counted and not written so far. Never rejects. */
  readonly beforeCounts: () => Promise<void>;
}

/** Entries of one page. */
const PAGE = 200;

/** Reads and marks the entries of a store. */
export class Books implements Ledger {
  readonly #deps: BooksDeps;

  constructor(deps: BooksDeps) {
    this.#deps = deps;
  }

  entries(query: LedgerQuery = {}): AsyncIterable<LedgerEntry> {
    const { limit = Number.POSITIVE_INFINITY, ...search } = check("ledger.entries", (issues) =>
      this.#parse(query, issues),
    );
    const { ledger } = this.#deps;
    return {
      async *[Symbol.asyncIterator]() {
        let after = search.after;
        for (let left = limit; left > 0; ) {
          const asked = Math.min(left, PAGE);
          const page = await ledger.list({ ...search, ...(after !== undefined && { after }), limit: asked });
          yield* page;
          left -= page.length;
          after = page.at(-1)?.position;
          if (page.length < asked) return;
        }
      },
    };
  }

  async get(id: string): Promise<LedgerEntry | undefined> {
    check("ledger.get", (issues) => demandText("id", id, issues));
    return (await this.#deps.ledger.find(entryIdOf(id))) ?? undefined;
  }

  async counts(
    range: { readonly since?: LedgerTime; readonly until?: LedgerTime } = {},
  ): Promise<readonly LedgerCount[]> {
    const days = check("ledger.counts", (issues) => {
      const isObject = issues.checkKeys("range", range, ["since", "until"]);
      const { since, until }: { readonly since?: unknown; readonly until?: unknown } = isObject ? range : {};
      return {
        sinceDay: dayOf(parseTime("range.since", since, issues) ?? 0),
        untilDay: dayOf((parseTime("range.until", until, issues) ?? YEAR_10000_MS) - 1),
      };
    });
    await this.#deps.beforeCounts();
    return this.#deps.ledger.counts(days);
  }

  async markRefunded(id: string, refund: Refund): Promise<LedgerEntry> {
    const { transaction, amount, atMs } = check("ledger.markRefunded", (issues) =>
      this.#parseRefund(id, refund, issues),
    );
    const { ledger } = this.#deps;
    for (;;) {
      const entry = await ledger.find(entryIdOf(id));
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

  async erase(payer: string): Promise<number> {
    check("ledger.erase", (issues) => demandText("payer", payer, issues));
    return this.#deps.ledger.erase(payerName(payer, this.#deps));
  }

  #parse(query: LedgerQuery, issues: Issues): Omit<LedgerSearch, "limit"> & { readonly limit?: number } {
    if (!issues.checkKeys("query", query, QUERY_KEYS)) return {};
    const { since, until, route, payer, network, status, after, limit }: LedgerQuery = query;
    const [sinceMs, untilMs] = [parseTime("query.since", since, issues), parseTime("query.until", until, issues)];
    for (const [name, text] of Object.entries({ route, payer, network })) {
      if (text !== undefined) demandText(`query.${name}`, text, issues);
    }
    if (status !== undefined && status !== "settled" && status !== "refunded")
      issues.add("query.status", '"settled" or "refunded"', status);
    if (after !== undefined && !(typeof after === "string" && /^\d{1,18}$/.test(after)))
      issues.add("query.after", "the position of an entry", after);
    if (limit !== undefined && !(typeof limit === "number" && limit >= 0))
      issues.add("query.limit", "a number, from 0", limit);
    return {
      ...(sinceMs !== undefined && { sinceMs }),
      ...(untilMs !== undefined && { untilMs }),
      ...(route !== undefined && { route }),
      ...(typeof payer === "string" && { payer: payerName(payer, this.#deps) }),
      ...(typeof network === "string" && { network: canonicalNetwork(network) }),
      ...(status !== undefined && { status }),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    };
  }

  #parseRefund(
    id: string,
    refund: Refund,
    issues: Issues,
  ): { readonly transaction: string; readonly amount: string | undefined; readonly atMs: number } {
    demandText("id", id, issues);
    const isObject = issues.checkKeys("refund", refund, ["transaction", "amount", "at"]);
    const { transaction, amount, at }: Partial<Refund> = isObject ? refund : {};
    if (typeof transaction !== "string" || !/^[!-~]{1,200}$/.test(transaction))
      issues.add("refund.transaction", "the id of a transaction: 1 to 200 printable ASCII characters", transaction);
    if (amount !== undefined && !(typeof amount === "string" && /^[1-9]\d{0,77}$/.test(amount)))
      issues.add("refund.amount", 'atomic units above zero, as digits such as "10000"', amount);
    const atMs = parseTime("refund.at", at, issues) ?? this.#deps.now();
    return { transaction: String(transaction), amount, atMs };
  }
}

const QUERY_KEYS = Object.keys({
  since: true,
  until: true,
  route: true,
  payer: true,
  network: true,
  status: true,
  after: true,
  limit: true,
} satisfies Record<keyof LedgerQuery, true>);

/** The id of an entry, from that or from the identity of its payment. */
function entryIdOf(id: string): string {
  return isEntryId(id) ? id : idOf(id);
}

function parseTime(path: string, time: unknown, issues: Issues): number | undefined {
  if (time === undefined) return undefined;
  const isTime = typeof time === "string" || typeof time === "number" || time instanceof Date;
  const ms = isTime ? new Date(time).getTime() : Number.NaN;
  // Years of four digits: days are compared as texts.
  if (ms >= 0 && ms < YEAR_10000_MS) return ms;
  issues.add(path, 'a time from 1970 to 9999: a Date, Unix milliseconds, or ISO text such as "2026-11-27"', time);
  return undefined;
}

const YEAR_10000_MS = Date.UTC(10_000, 0, 1);

function demandText(path: string, text: unknown, issues: Issues): void {
  if (typeof text !== "string" || text === "") issues.add(path, "a text", text);
}

/** Throws all issues at once. */
export function check<T>(what: string, parse: (issues: Issues) => T): T {
  const issues = createIssues();
  const parsed = parse(issues);
  if (issues.found.length > 0) {
    throw new ConfigError(issues.found.map((issue) => ({ ...issue, path: `${what}: ${issue.path}` })));
  }
  return parsed;
}
