/**
 * `farebox migrate`: reads files, shows or writes the changes, and says what will behave differently.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { diffLines } from "./diff.js";
import type { Finding } from "./differences.js";
import { type Migration, migrate } from "./migrate.js";
import type { Depth } from "./modules.js";

const PAGE = "https://github.com/farebox/farebox/blob/main/docs/reference/compat-differences.md";

type Print = (text: string) => void;

interface MigrateCall {
  readonly depth: Depth;
  readonly writes: boolean;
}

export const command: Command = defineCommand({
  name: "migrate",
  summary:
    "Changes the imports of @x402/express and its packages to @farebox/compat, and lists what will behave differently",
  usage: "[options] <file> ...",
  options: {
    depth: {
      type: "string",
      choices: ["1", "2"],
      default: "2",
      description: "1 changes @x402/express only, 2 every import that Farebox has a counterpart for",
    },
    "dry-run": { type: "boolean", description: "Prints a diff and writes nothing, which is the default" },
    write: { type: "boolean", description: "Writes the files" },
  },
  details:
    "Exits with 0 when nothing is left to decide, 1 when a place needs a decision, 2 when a file cannot be read or an argument is wrong.",
  run({ options, args, terminal }) {
    if (options.write && options["dry-run"])
      throw wrongCall("--write and --dry-run exclude each other", "Leave one out");
    if (args.length === 0) throw wrongCall("name a file", "Write farebox migrate server.ts");
    const call: MigrateCall = { depth: options.depth === "1" ? 1 : 2, writes: options.write };
    const print = (text: string) => terminal.write(text);
    const printError = (text: string) => terminal.warn(text.trimEnd());
    const codes = args.map((file) => migrateFile(file, call, print, printError));
    return codes.includes(2) ? 2 : codes.includes(1) ? 1 : 0;
  },
});

function migrateFile(path: string, { depth, writes }: MigrateCall, print: Print, printError: Print): 0 | 1 | 2 {
  const source = readSource(path);
  if (typeof source !== "string") {
    printError(`${path}: ${source.problem}\n`);
    return 2;
  }
  const migration = migrate(source, { depth });
  if ("message" in migration) {
    printError(`${path}:${migration.line}: cannot be read: ${migration.message}\n`);
    return 2;
  }
  const problem = writes && migration.text !== source ? writeSource(path, migration.text) : undefined;
  if (problem !== undefined) {
    printError(`${path}: ${problem}\n`);
    return 2;
  }
  print(describe(path, source, migration, writes));
  return migration.findings.some(({ level }) => level === "decide") ? 1 : 0;
}

/** A file's text; a file that is not UTF-8 could not be written back as it was. */
function readSource(path: string): string | { readonly problem: string } {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    return { problem: `cannot be read: ${reasonOf(error)}` };
  }
}

function writeSource(path: string, text: string): string | undefined {
  try {
    writeFileSync(path, text);
    return undefined;
  } catch (error) {
    return `cannot be written: ${reasonOf(error)}`;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "it is a folder; name its files";
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return "it is not UTF-8";
  return message ?? String(error);
}

function describe(path: string, source: string, migration: Migration, writes: boolean): string {
  const { changed, kept, findings, text } = migration;
  if (changed.length === 0 && kept.length === 0) return `${path}: imports nothing of @x402; nothing to change\n`;
  const lines = [`${path}: ${plural(changed.length, "import")} ${writes ? "changed" : "to change"}`, ""];
  if (!writes && text !== source) lines.push(diffLines(path, source, text));
  if (kept.length > 0)
    lines.push("Stays:", ...kept.map(({ line, module, why }) => `${place(line)}${module}: ${why}`), "");
  const decisions = findings.filter(({ level }) => level === "decide");
  const notes = findings.filter(({ level }) => level === "note");
  if (decisions.length > 0) lines.push("To decide:", ...tell(decisions), "");
  if (notes.length > 0) lines.push("Different:", ...tell(notes), "");
  lines.push(`Every difference: ${PAGE}`, ...installs(migration), "");
  return lines.join("\n");
}

/** One line for what is the same at several places. */
function tell(findings: readonly Finding[]): readonly string[] {
  const texts = [...new Set(findings.map(({ text }) => text))];
  return texts.map((text) => {
    const same = findings.filter((each) => each.text === text);
    const lines = [...new Set(same.map(({ line }) => line))];
    return `${place(lines.join(", "))}${text} (#${same[0]?.difference})`;
  });
}

function place(line: number | string): string {
  return `  ${String(line).padStart(4)}  `;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The packages to add and remove, as far as this file knows. */
function installs({ changed, kept }: Migration): readonly string[] {
  if (changed.length === 0) return [];
  const stays = new Set(kept.map(({ module }) => packageOf(module)));
  const gone = [...new Set(changed.map(({ from }) => packageOf(from)))].filter((name) => !stays.has(name));
  const remove = gone.length === 0 ? [] : [`Then, if no other file needs them: npm uninstall ${gone.join(" ")}`];
  return ["Install: npm install @farebox/express @farebox/compat", ...remove];
}

function packageOf(module: string): string {
  return module
    .split("/")
    .slice(0, module.startsWith("@") ? 2 : 1)
    .join("/");
}
