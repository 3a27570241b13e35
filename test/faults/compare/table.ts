/**
 * Writes the failures as a section of the comparison, and reads its rows back.
 *
 * @module
 */
import { describeFacts, type Facts, type Failure } from "./failure.js";
import type { ComparedFailure } from "./run.js";

/** The heading of the section. */
const HEADING = "## Failures";

/** Writes the section. */
export function renderFailures(compared: readonly ComparedFailure[]): string {
  return `${HEADING}

Each row runs with both libraries. The seller runs in its own process, the payer signs real payments, and a facilitator
behind HTTP verifies them and settles in a ledger. The facilitator fails where the row says so. The failures are in
\`test/faults/compare/\`, their handlers in \`goods.ts\`. Both libraries use their defaults. In rows with "given 2 s" both wait
2 seconds for the facilitator. In rows with \`upto\` the payer signs for 10000 atomic units on a local chain. A handler
that charges calls the library's own \`setSettlementOverrides\`. In rows with "metered" Farebox's route has \`settle: "metered"\`. Where the seller has two processes, Farebox's share an SQLite file
by \`@farebox/stores\`; the reference has no store.

The client follows each response once. After a 402 it signs a new payment. After a 5xx or 409 with \`Retry-After\` it sends
the same payment again. It waits for at most ten seconds. \`503, then 200\` lists both responses. A debit is money that
moved. \`an error\` is a 500 or a connection that breaks off. Memory is the growth of the seller's process, rounded up to
100 MB. Unexpected results are **bold**.

${renderSummary(compared)}

| failure | expected | reference | Farebox |
|---|---|---|---|
${compared.map(renderRow).join("\n")}
`;
}

/** The first cells of a row: what goes wrong, and the required outcome. */
export function renderFailure({ failure, expected }: Failure): string {
  return `| ${failure} | ${describeFacts(expected)} |`;
}

/** The same cells of every row of a document. */
export function readFailures(document: string): readonly string[] {
  const [, section = ""] = document.split(`\n${HEADING}\n`);
  const [, table = ""] = section.split("\n## ", 1).join("").split("\n| failure | expected |");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((row) => /^(?:\| [^|]* ){2}\|/.exec(row)?.[0] ?? row);
}

function renderSummary(compared: readonly ComparedFailure[]): string {
  const rows = [true, false].map((isWanted) => {
    const [reference, farebox] = (["reference", "farebox"] as const).map(
      (library) => compared.filter((row) => isAsExpected(row.subject, row[library]) === isWanted).length,
    );
    return `| ${isWanted ? "" : "not "}as expected | ${reference} | ${farebox} |`;
  });
  return `| | reference | Farebox |\n|---|---|---|\n${rows.join("\n")}`;
}

function renderRow({ subject, reference, farebox }: ComparedFailure): string {
  return `${renderFailure(subject)} ${renderFacts(subject, reference)} | ${renderFacts(subject, farebox)} |`;
}

function renderFacts(subject: Failure, facts: Facts): string {
  const text = describeFacts(facts);
  return isAsExpected(subject, facts) ? text : `**${text}**`;
}

function isAsExpected({ expected }: Failure, facts: Facts): boolean {
  return describeFacts(facts) === describeFacts(expected);
}
