/**
 * `payments.ledger`: what was sold, to whom, and what was given back. Arguments are checked here, at once. The answers come from
 * `ledger-queries/`, which is loaded for the first one.
 *
 * @see `docs/guides/ledger.md`
 * @module
 */
import { ConfigError } from "../errors.js";
import { createIssues, type Issues } from "../issues.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import { dayOf } from "../store/memory-ledger.js";
import type { LedgerCount, LedgerEntry, LedgerRefund, LedgerSearch, SharedLedger } from "../store/shared-ledger.js";
import { idOf, isEntryId, type PayerNames, payerName } from "./new-entry.js";

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

/** Answers the queries of a ledger. It trusts its arguments. */
export interface Books {
  entries(search: EntrySearch): AsyncIterable<LedgerEntry>;
  get(id: string): Promise<LedgerEntry | undefined>;
  counts(days: CountedDays): Promise<readonly LedgerCount[]>;
  markRefunded(id: string, refund: CheckedRefund): Promise<LedgerEntry>;
  /** @param payer - As the ledger has it: see {@link payerName}. */
  erase(payer: string): Promise<number>;
}

/** Which entries, and how many at most. Default: all. */
export type EntrySearch = Omit<LedgerSearch, "limit"> & Partial<Pick<LedgerSearch, "limit">>;

/** As texts, such as `2026-11-27`, both included. */
export type CountedDays = Parameters<SharedLedger["counts"]>[0];

/** A refund. Without an amount, it is of all that was not given back so far. */
export interface CheckedRefund extends Omit<LedgerRefund, "amount"> {
  readonly amount: string | undefined;
}

/** What a ledger needs. */
export interface LedgerDeps extends PayerNames {
  readonly now: () => number;
  readonly openBooks: () => Promise<Books>;
}

/** Creates a ledger, which checks what it is asked before it opens the books. */
export function createLedger({ secret, now, openBooks }: LedgerDeps): Ledger {
  return {
    entries(query = {}) {
      const search = checkArguments("ledger.entries", (issues) => parseQuery(query, { secret }, issues));
      return {
        async *[Symbol.asyncIterator]() {
          yield* (await openBooks()).entries(search);
        },
      };
    },
    async get(id) {
      checkArguments("ledger.get", (issues) => demandText("id", id, issues));
      return (await openBooks()).get(entryIdOf(id));
    },
    async counts(range = {}) {
      const days = checkArguments("ledger.counts", (issues) => parseRange(range, issues));
      return (await openBooks()).counts(days);
    },
    async markRefunded(id, given) {
      const refund = checkArguments("ledger.markRefunded", (issues) => parseRefund(id, given, now, issues));
      return (await openBooks()).markRefunded(entryIdOf(id), refund);
    },
    async erase(payer) {
      checkArguments("ledger.erase", (issues) => demandText("payer", payer, issues));
      return (await openBooks()).erase(payerName(payer, { secret }));
    },
  };
}

function parseQuery(query: LedgerQuery, names: PayerNames, issues: Issues): EntrySearch {
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
    ...(typeof payer === "string" && { payer: payerName(payer, names) }),
    ...(typeof network === "string" && { network: canonicalNetwork(network) }),
    ...(status !== undefined && { status }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit }),
  };
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

function parseRange(range: NonNullable<Parameters<Ledger["counts"]>[0]>, issues: Issues): CountedDays {
  const isObject = issues.checkKeys("range", range, ["since", "until"]);
  const { since, until }: { readonly since?: unknown; readonly until?: unknown } = isObject ? range : {};
  return {
    sinceDay: dayOf(parseTime("range.since", since, issues) ?? 0),
    untilDay: dayOf((parseTime("range.until", until, issues) ?? YEAR_10000_MS) - 1),
  };
}

function parseRefund(id: string, refund: Refund, now: () => number, issues: Issues): CheckedRefund {
  demandText("id", id, issues);
  const isObject = issues.checkKeys("refund", refund, ["transaction", "amount", "at"]);
  const { transaction, amount, at }: Partial<Refund> = isObject ? refund : {};
  if (typeof transaction !== "string" || !/^[!-~]{1,200}$/.test(transaction))
    issues.add("refund.transaction", "the id of a transaction: 1 to 200 printable ASCII characters", transaction);
  if (amount !== undefined && !(typeof amount === "string" && /^[1-9]\d{0,77}$/.test(amount)))
    issues.add("refund.amount", 'atomic units above zero, as digits such as "10000"', amount);
  const atMs = parseTime("refund.at", at, issues) ?? now();
  return { transaction: String(transaction), amount, atMs };
}

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
export function checkArguments<T>(what: string, parse: (issues: Issues) => T): T {
  const issues = createIssues();
  const parsed = parse(issues);
  if (issues.found.length > 0) {
    throw new ConfigError(issues.found.map((issue) => ({ ...issue, path: `${what}: ${issue.path}` })));
  }
  return parsed;
}
