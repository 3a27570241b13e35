/**
 * `farebox ledger report`: what was sold, by route, payer, day or network.
 *
 * @module
 */
import type { LedgerCount, LedgerEntry } from "@farebox/core";
import { type Command, defineCommand } from "../frame/command.js";
import { printable, type Terminal } from "../frame/terminal.js";
import { type AssetOf, decimalOf, describeAmount, refundedOf, symbolOf } from "./amounts.js";
import { LEDGER_OPTIONS, RANGE_OPTIONS, rangeOf, readEntries, withLedger } from "./open-ledger.js";

type GroupBy = "route" | "payer" | "day" | "network";

/** The entries of a group together. */
interface Group {
  readonly name: string;
  sales: number;
  refused: number;
  uncharged: number;
  /** By asset. */
  readonly sums: Map<string, { readonly asset: AssetOf; amount: bigint; refunded: bigint; fees: bigint }>;
}

export const command: Command = defineCommand({
  name: "ledger report",
  summary: "Reports what was sold, by route, payer, day or network",
  usage: "[options]",
  options: {
    ...LEDGER_OPTIONS,
    by: {
      type: "string",
      choices: ["route", "payer", "day", "network"],
      default: "route",
      description: "What makes a line",
    },
    ...RANGE_OPTIONS,
    json: { type: "boolean", description: "Prints the lines as JSON" },
  },
  details: `Amounts are exact, and never added across assets. Days are in UTC. Payments that were refused, and runs that were not charged, are counted by route and by
day only. Set FAREBOX_LEDGER_SECRET if payers are hashed.

  farebox ledger report --store sqlite:payments.db --by day --since 2026-11-01`,
  run({ options, env, terminal }) {
    return withLedger(options, env, async (ledger) => {
      const by = options.by as GroupBy;
      const range = rangeOf(options);
      const entries = await readEntries(ledger, range);
      const counts = by === "route" || by === "day" ? await ledger.counts(range) : [];
      const groups = groupEntries(entries, counts, by);
      if (options.json) terminal.printJson({ by, ...range, groups: groups.map(toJson) });
      else printGroups(groups, by, terminal);
      return 0;
    });
  },
});

function groupEntries(entries: readonly LedgerEntry[], counts: readonly LedgerCount[], by: GroupBy): readonly Group[] {
  const groups = new Map<string, Group>();
  const groupOf = (name: string): Group => {
    const group = groups.get(name) ?? { name, sales: 0, refused: 0, uncharged: 0, sums: new Map() };
    groups.set(name, group);
    return group;
  };
  for (const entry of entries) {
    const group = groupOf(nameOf(entry, by));
    const key = `${entry.network} ${entry.asset.toLowerCase()}`;
    const sum = group.sums.get(key) ?? { asset: entry, amount: 0n, refunded: 0n, fees: 0n };
    sum.amount += BigInt(entry.amount);
    sum.refunded += refundedOf(entry);
    sum.fees += BigInt(entry.fee ?? 0);
    group.sums.set(key, sum);
    group.sales += 1;
  }
  for (const { day, route, kind, count } of counts) groupOf(by === "day" ? day : route)[kind] += count;
  return [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function nameOf(entry: LedgerEntry, by: GroupBy): string {
  if (by === "day") return new Date(entry.settledAtMs).toISOString().slice(0, 10);
  if (by === "payer") return entry.payer ?? "(erased)";
  return entry[by];
}

function toJson({ name, sales, refused, uncharged, sums }: Group): object {
  const assets = [...sums.values()].map(({ asset, amount, refunded, fees }) => ({
    network: asset.network,
    asset: asset.asset,
    symbol: symbolOf(asset),
    amount,
    refunded,
    fees,
    decimal: decimalOf(amount, asset),
  }));
  return { name, sales, refused, uncharged, assets };
}

function printGroups(groups: readonly Group[], by: GroupBy, terminal: Terminal): void {
  if (groups.length === 0) {
    terminal.print("The ledger has no entry of that time.");
    return;
  }
  const hasCounts = by === "route" || by === "day";
  const rows = groups.map(({ name, sales, refused, uncharged, sums }) => {
    const amounts = [...sums.values()].map(({ asset, amount }) => describeAmount(amount, asset));
    const refunds = [...sums.values()]
      .filter(({ refunded }) => refunded > 0n)
      .map(({ asset, refunded }) => describeAmount(refunded, asset));
    const counted = hasCounts ? [String(refused), String(uncharged)] : [];
    return [
      printable(name, 80),
      String(sales),
      ...counted,
      printable(amounts.join(", ")),
      printable(refunds.join(", ")),
    ];
  });
  const header = [by, "sales", ...(hasCounts ? ["refused", "uncharged"] : []), "amount", "refunded"];
  const widths = header.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  terminal.print(terminal.style("bold", line(header)));
  for (const row of rows) terminal.print(line(row));
}
