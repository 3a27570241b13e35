/**
 * `farebox ledger export`: entries as CSV or JSON lines, for accountants and programs.
 *
 * @module
 */

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { LedgerEntry } from "@farebox/core";
import { CliError } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { decimalOf, decimalsOf, refundedOf, symbolOf } from "./amounts.js";
import { LEDGER_OPTIONS, RANGE_OPTIONS, rangeOf, withLedger } from "./open-ledger.js";

/** The columns of a line, in their order. */
const COLUMNS: Readonly<Record<string, (entry: LedgerEntry) => string | number | undefined>> = {
  id: ({ id }) => id,
  settled_at_utc: ({ settledAtMs }) => new Date(settledAtMs).toISOString(),
  route: ({ route }) => route,
  resource: ({ resource }) => resource,
  payer: ({ payer }) => payer,
  payee: ({ payee }) => payee,
  scheme: ({ scheme }) => scheme,
  network: ({ network }) => network,
  asset: ({ asset }) => asset,
  symbol: symbolOf,
  decimals: decimalsOf,
  amount: (entry) => decimalOf(BigInt(entry.amount), entry),
  amount_atomic: ({ amount }) => amount,
  maximum_atomic: ({ maximum }) => maximum,
  fee: (entry) => (entry.fee === undefined ? undefined : decimalOf(BigInt(entry.fee), entry)),
  fee_atomic: ({ fee }) => fee,
  refunded: (entry) => decimalOf(refundedOf(entry), entry),
  refunded_atomic: (entry) => refundedOf(entry).toString(),
  status: ({ status }) => status,
  transaction: ({ transaction }) => transaction,
  refund_transactions: ({ refunds }) => refunds.map(({ transaction }) => transaction).join(" "),
  facilitator: ({ facilitator }) => facilitator,
  latency_ms: ({ latencyMs }) => latencyMs,
  attempt: ({ attempt }) => attempt,
};

export const command: Command = defineCommand({
  name: "ledger export",
  summary: "Exports entries as CSV or JSON lines",
  usage: "[options]",
  options: {
    ...LEDGER_OPTIONS,
    format: {
      type: "string",
      choices: ["csv", "jsonl"],
      default: "csv",
      description: "CSV with a header (RFC 4180), or one JSON object a line",
    },
    ...RANGE_OPTIONS,
    out: { type: "string", value: "file", description: "Writes to a file" },
  },
  details: `Columns: ${Object.keys(COLUMNS).join(", ")}.
Times are in UTC. Amounts are decimals, and atomic units beside them.

  farebox ledger export --store sqlite:payments.db --since 2026-01-01 --until 2027-01-01 --out 2026.csv`,
  run({ options, env, terminal }) {
    return withLedger(options, env, async (ledger) => {
      const output = options.out === undefined ? undefined : await openFile(options.out);
      const write = async (line: string) => {
        if (output === undefined) terminal.write(line);
        else if (!output.write(line)) await once(output, "drain");
      };
      const isCsv = options.format === "csv";
      if (isCsv) await write(toCsv(Object.keys(COLUMNS)));
      let count = 0;
      for await (const entry of ledger.entries(rangeOf(options))) {
        const cells = Object.entries(COLUMNS).map(([name, read]) => [name, read(entry)] as const);
        await write(isCsv ? toCsv(cells.map(([, cell]) => cell)) : `${JSON.stringify(Object.fromEntries(cells))}\n`);
        count += 1;
      }
      if (output !== undefined) {
        output.end();
        await once(output, "close");
        terminal.warn(`${count} ${count === 1 ? "entry" : "entries"} written to ${options.out}`);
      }
      return 0;
    });
  },
});

async function openFile(path: string) {
  const file = createWriteStream(path);
  try {
    await once(file, "open");
    return file;
  } catch (cause) {
    throw new CliError(
      "FAREBOX_CLI_WRITE",
      `${path} cannot be written: ${(cause as Error).message}`,
      "Name a file in a folder that exists",
      { cause },
    );
  }
}

function toCsv(cells: readonly (string | number | undefined)[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

/** A spreadsheet would take some texts for formulas, and strangers choose some of them: those get an apostrophe. */
function toCell(value: string | number | undefined): string {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
