/**
 * The ledger in Redis. Filters are applied here: Redis only knows the order.
 *
 * @module
 */
import type {
  CursorLease,
  LedgerCount,
  LedgerEntry,
  LedgerSearch,
  NewLedgerEntry,
  RefundChange,
  SharedLedger,
} from "@farebox/core";
import { dayOf } from "../ledger-row.js";
import {
  ADD_COUNTS,
  ALL_COUNTS,
  FIND_ENTRY,
  HOLD_CURSOR,
  LIST_ENTRIES,
  REFUND_ENTRY,
  REPLACE_ENTRY,
  SWEEP_LEDGER,
} from "./ledger-scripts.js";
import type { Script } from "./script.js";

/** Entries of one call. */
const PAGE = 200;

/** What the ledger asks of the store. */
interface LedgerDeps {
  run(script: Script, keys: readonly string[], words: readonly string[]): Promise<unknown>;
  key(...parts: readonly string[]): string;
}

/** The ledger of all processes that use the server. */
export class RedisLedger implements SharedLedger {
  readonly #deps: LedgerDeps;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  async list({ after = "0", limit, ...search }: LedgerSearch): Promise<readonly LedgerEntry[]> {
    const found: LedgerEntry[] = [];
    for await (const entry of this.#walk(after)) {
      if (!matches(entry, search)) continue;
      found.push(entry);
      if (found.length >= limit) break;
    }
    return found;
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    const [entry] = readEntries(await this.#run(FIND_ENTRY, ["entries", "positions", "refunds"], [id]));
    return entry;
  }

  async refund({ id, known, refunds, status }: RefundChange): Promise<boolean> {
    const value = `${refunds.length}|${status}|${JSON.stringify(refunds)}`;
    return Number(await this.#run(REFUND_ENTRY, ["entries", "refunds"], [id, String(known), value])) === 1;
  }

  async erase(payer: string): Promise<number> {
    let erased = 0;
    for await (const { position: _, status: __, refunds: ___, ...entry } of this.#walk("0")) {
      if (entry.payer !== payer) continue;
      const { payer: ____, resource: _____, ...rest } = entry;
      const words = [entry.id, JSON.stringify(entry), JSON.stringify(rest)];
      erased += Number(await this.#run(REPLACE_ENTRY, ["entries"], words));
    }
    return erased;
  }

  async count(added: readonly LedgerCount[]): Promise<void> {
    const words = added.flatMap(({ day, route, kind, reason, count }) => [
      JSON.stringify([day, route, kind, reason]),
      String(count),
    ]);
    // A script takes some thousand values.
    for (let at = 0; at < words.length; at += PAGE) await this.#run(ADD_COUNTS, ["counts"], words.slice(at, at + PAGE));
  }

  async counts({
    sinceDay,
    untilDay,
  }: {
    readonly sinceDay: string;
    readonly untilDay: string;
  }): Promise<readonly LedgerCount[]> {
    const reply = textsOf(await this.#run(ALL_COUNTS, ["counts"], []));
    const counts: LedgerCount[] = [];
    for (let at = 0; at < reply.length; at += 2) {
      const [day, route, kind, reason] = JSON.parse(reply[at] ?? "[]");
      if (day >= sinceDay && day <= untilDay) counts.push({ day, route, kind, reason, count: Number(reply[at + 1]) });
    }
    return counts.sort(compareCounts);
  }

  async hold({ name, owner, nowMs, untilMs, position = "0", from }: CursorLease): Promise<string | undefined> {
    const { run, key } = this.#deps;
    const words = [owner, String(nowMs), String(untilMs), position, from];
    const held = String(await run(HOLD_CURSOR, [key("l", "c", name), key("l", "last")], words));
    return held === "" ? undefined : held;
  }

  async sweep(beforeMs: number): Promise<number> {
    const names = ["entries", "positions", "times", "refunds", "counts"];
    return Number(await this.#run(SWEEP_LEDGER, names, [String(beforeMs), dayOf(beforeMs)]));
  }

  async *#walk(begin: string): AsyncIterable<LedgerEntry> {
    for (let after = begin; ; ) {
      const words = [after, String(PAGE)];
      const page = readEntries(await this.#run(LIST_ENTRIES, ["entries", "positions", "refunds"], words));
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.position;
    }
  }

  #run(script: Script, names: readonly string[], words: readonly string[]): Promise<unknown> {
    const { run, key } = this.#deps;
    const keys = names.map((name) => key("l", name));
    return run(script, keys, words);
  }
}

/** The keys of a transition that adds an entry, in their order. */
export function ledgerKeys(key: (...parts: readonly string[]) => string): readonly string[] {
  return ["entries", "positions", "times", "last"].map((name) => key("l", name));
}

/** The words of a transition for an entry, or for none. */
export function wordsOf(entry: NewLedgerEntry | undefined): readonly string[] {
  return entry === undefined ? ["", "", ""] : [entry.id, JSON.stringify(entry), String(entry.settledAtMs)];
}

/** Reads positions, entries and refunds by turns. */
function readEntries(reply: unknown): readonly LedgerEntry[] {
  const texts = textsOf(reply);
  const entries: LedgerEntry[] = [];
  for (let at = 0; at < texts.length; at += 3) {
    const [position = "", json = "", refunded = ""] = texts.slice(at, at + 3);
    // It was swept a moment ago.
    if (json === "") continue;
    const [, status = "settled", refunds = "[]"] = /^\d+\|(\w+)\|(.*)$/s.exec(refunded) ?? [];
    const entry: NewLedgerEntry = JSON.parse(json);
    entries.push({ ...entry, position, status: status as LedgerEntry["status"], refunds: JSON.parse(refunds) });
  }
  return entries;
}

/** A client may be set to return Buffers. */
function textsOf(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}

function matches(entry: LedgerEntry, search: Omit<LedgerSearch, "after" | "limit">): boolean {
  const { sinceMs, untilMs, route, payer, network, status } = search;
  if (sinceMs !== undefined && entry.settledAtMs < sinceMs) return false;
  if (untilMs !== undefined && entry.settledAtMs >= untilMs) return false;
  if (route !== undefined && entry.route !== route) return false;
  if (payer !== undefined && entry.payer !== payer) return false;
  if (network !== undefined && entry.network !== network) return false;
  return status === undefined || entry.status === status;
}

function compareCounts(one: LedgerCount, other: LedgerCount): number {
  for (const part of ["day", "route", "kind", "reason"] as const) {
    if (one[part] !== other[part]) return one[part] < other[part] ? -1 : 1;
  }
  return 0;
}
