/**
 * The texts of `--help`.
 *
 * @module
 */
import type { Command, CommandEntry, OptionSpec } from "./command.js";

/** The help of the whole command line. */
export function helpOfAll(commands: readonly CommandEntry[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return [
    "Usage: farebox <command> [options]",
    "",
    "Commands:",
    ...table(rows),
    "",
    "  farebox <command> --help   shows the options of a command",
    "  farebox --version          prints the version",
    "",
  ].join("\n");
}

/** The help of one command. */
export function helpOf({ name, usage, summary, options, details }: Command): string {
  const rows = Object.entries(options).map(([option, spec]) => [flagOf(option, spec), describe(spec)] as const);
  return [
    `Usage: farebox ${name} ${usage}`.trimEnd(),
    "",
    `${summary}.`,
    ...(rows.length === 0 ? [] : ["", ...table(rows)]),
    ...(details === undefined ? [] : ["", details.trimEnd()]),
    "",
  ].join("\n");
}

function flagOf(option: string, { type, value, choices }: OptionSpec): string {
  if (type === "boolean") return `--${option}`;
  return `--${option} ${choices?.join("|") ?? `<${value ?? "value"}>`}`;
}

function describe({ description, default: preset, multiple }: OptionSpec): string {
  const notes = [
    ...(multiple === true ? ["may be given several times"] : []),
    ...(preset === undefined ? [] : [`default: ${preset}`]),
  ];
  return notes.length === 0 ? description : `${description} (${notes.join("; ")})`;
}

function table(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`);
}
