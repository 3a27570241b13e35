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

Each failure is brought about with both libraries: a seller in a process of its own, a payer who really signs, and a
facilitator behind HTTP that really verifies, settles in a ledger, and fails where the row says so. The failures are in
\`test/faults/compare/\`, with the handlers in \`goods.ts\`. Both libraries have their defaults, except that in rows with
"given 2 s" both wait that long for the facilitator. In rows with \`upto\` the payer signs for 10000 atomic units, the money is on a
local chain, and the handler calls the library's own \`setSettlementOverrides\`.

The client does what an answer asks for, once: after a 402 it signs a new payment, after a 5xx or 409 with \`Retry-After\`
it sends the same payment again; it waits for ten seconds at most. \`503, then 200\` are the two answers. A debit is money
that moved. Memory is what the seller's process grew by, rounded up to 100 MB. What is not as expected is **bold**.

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
