/**
 * Writes the cases as a section of the comparison of Farebox with the reference, and reads its rows back.
 *
 * @module
 */
import type { Case, Must, Version } from "./case.js";
import { type Outcome, verdictOf } from "./stage.js";

/** The outcome of a case that was tried in a process of its own. */
export type Tried =
  | Outcome
  | { readonly kind: "no answer"; readonly seconds: number }
  | { readonly kind: "process ended"; readonly code: number | null };

/** A case and what both libraries made of it, by version of Express. */
export interface Compared {
  readonly subject: Case;
  readonly reference: ReadonlyMap<Version, Tried>;
  readonly farebox: ReadonlyMap<Version, Tried>;
}

type Library = "reference" | "farebox";

/** The heading of the section. */
const HEADING = "## Paths and methods";

const EXPECTED: Readonly<Record<Must, string>> = {
  priced: "402",
  free: "200, handler ran unpaid",
  refused: "400",
  denied: "404",
  preflight: "204",
  allowed: "200",
  "not found": "404",
  "does not start": "did not start",
};

const LONGEST_REQUEST = 72;
const LONGEST_REASON = 90;
/** Faster answers are not worth a word. */
const SLOW_MS = 100;

/** Writes the section. */
export function renderPaths(compared: readonly Compared[]): string {
  return `${HEADING}

These requests are easy for a route table to misjudge. The cases are in \`test/bypass/cases/\`, each with its app, its keys
and its reason.

Each case builds the same app twice, once per library. The test writes the request to a socket byte for byte, **without
payment**. It records the status, and whether a handler, a file server or a proxy behind the table served the request.
\`402\` means priced. \`200, handler ran unpaid\` means free, which some cases expect. Every case runs on Express 5 and 4,
unless it concerns one of them; differences between versions are named. Unexpected results are **bold**.

Both libraries get the same keys in the syntax of Express 5. Where a wildcard prices a folder or a mount, the reference
gets its own form: \`/files/*\` for \`/files/*path\`. In cases about time, a response that takes longer than ${SLOW_MS} ms shows its
duration, rounded up to seconds.

${renderSummary(compared)}

| case | request | expected | reference | Farebox |
|---|---|---|---|---|
${compared.map(renderRow).join("\n")}
`;
}

/** The first cells of a row: what a case asks, without its outcome. */
export function renderQuestion({ name, request, on, must, by }: Case): string {
  const only = on.length === 1 ? ` on Express ${on[0]}` : "";
  const price = by === undefined ? "" : ` by ${code(by)}`;
  return `| ${name} | ${code(shorten(request))}${only} | ${EXPECTED[must]}${price} |`;
}

/** The same cells of every row of a document. */
export function readQuestions(document: string): readonly string[] {
  const [, section = ""] = document.split(`\n${HEADING}\n`);
  const [, table = ""] = section.split("\n## ", 1).join("").split("\n| case | request |");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((row) => /^(?:\| (?:`[^`]*`|[^|`])* ){3}\|/.exec(row)?.[0] ?? row);
}

function renderSummary(compared: readonly Compared[]): string {
  const lines: readonly (readonly [title: string, counts: Judgement])[] = [
    ["as expected", isAsExpected],
    ["handler ran unpaid, not expected", isLeak],
    ["otherwise not as expected", (tried, subject) => !isAsExpected(tried, subject) && !isLeak(tried, subject)],
  ];
  const rows = lines.map(([title, counts]) => {
    const cells = (["reference", "farebox"] as const).map((library) => tally(compared, library, counts));
    return `| ${title} | ${cells.join(" | ")} |`;
  });
  return `Each case counts once for each version of Express it is tried on.\n
| | reference | Farebox |\n|---|---|---|\n${rows.join("\n")}`;
}

type Judgement = (tried: Tried, subject: Case) => boolean;

function tally(compared: readonly Compared[], library: Library, counts: Judgement): number {
  return compared.flatMap((row) => [...row[library].values()].filter((tried) => counts(tried, row.subject))).length;
}

function isLeak(tried: Tried, { must }: Case): boolean {
  return must !== "free" && tried.kind === "answered" && tried.ran;
}

function isAsExpected(tried: Tried, { must, by }: Case): boolean {
  if (tried.kind === "no answer" || tried.kind === "process ended") return false;
  if (verdictOf(tried) !== must) return false;
  return by === undefined || (tried.kind === "answered" && tried.key === by);
}

function renderRow({ subject, reference, farebox }: Compared): string {
  return `${renderQuestion(subject)} ${renderCell(reference, subject)} | ${renderCell(farebox, subject)} |`;
}

function renderCell(tries: ReadonlyMap<Version, Tried>, subject: Case): string {
  const texts = [...tries].map(([version, tried]) => [version, renderTried(tried, subject)] as const);
  const distinct = new Set(texts.map(([, text]) => text));
  if (distinct.size === 1) return [...distinct].join("");
  return texts.map(([version, text]) => `Express ${version}: ${text}`).join("; ");
}

function renderTried(tried: Tried, subject: Case): string {
  const text = describe(tried, subject);
  return isAsExpected(tried, subject) ? text : `**${text}**`;
}

function describe(tried: Tried, { by, timed }: Case): string {
  switch (tried.kind) {
    case "no answer":
      return `no answer within ${tried.seconds} s`;
    case "process ended":
      return `ended the process with code ${tried.code}`;
    case "did not start":
      return `did not start: ${escapeText(shortenReason(tried.reason))}`;
    case "answered": {
      const { status, ran, key, milliseconds } = tried;
      const price = by === undefined || key === undefined ? "" : ` by ${code(key)}`;
      const time = timed && milliseconds > SLOW_MS ? `, answered in ${Math.ceil(milliseconds / 1000)} s` : "";
      return `${status}${ran ? ", handler ran unpaid" : ""}${price}${time}`;
    }
    default:
      return tried satisfies never;
  }
}

function shorten(request: string): string {
  if (request.length <= LONGEST_REQUEST) return request;
  const [, target = ""] = request.split(" ");
  return `${request.slice(0, 16)}…${request.slice(-8)} (${target.length} bytes)`;
}

/** The first thing that was wrong, cut between words. */
function shortenReason(reason: string): string {
  const [first = ""] = reason.split("\n");
  return first.length <= LONGEST_REASON ? first : `${first.slice(0, LONGEST_REASON).replace(/\s+\S*$/, "")} …`;
}

/** Text in a code span of a table: what is beyond ASCII is shown as its bytes. */
function code(text: string): string {
  const visible = text.replace(/[^\x20-\x7e…]/g, (character) => `\\x${character.charCodeAt(0).toString(16)}`);
  return `\`${visible.replaceAll("|", "\\|")}\``;
}

function escapeText(text: string): string {
  return text.replace(/[\\|*_`[\]<>]/g, "\\$&");
}
