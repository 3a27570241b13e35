/**
 * Runs a command line: finds the command, reads its arguments, calls it, and tells what went wrong.
 *
 * A command is a folder `src/<name>` with a `command.ts` that exports `command`, made by `defineCommand`, and a row in `commands.ts`. The
 * frame does the rest: `--help`, wrong options, `--json` for errors, exit codes, Ctrl-C.
 *
 * @module
 */
import { CliError, wrongCall } from "./cli-error.js";
import { type Clock, SYSTEM_CLOCK } from "./clock.js";
import type { Command, CommandEntry } from "./command.js";
import { helpOf, helpOfAll } from "./help.js";
import { printable, type Terminal } from "./terminal.js";

/** What a run needs of its process. */
export interface RunDeps {
  readonly commands: readonly CommandEntry[];
  readonly version: string;
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: the clock of this machine. */
  readonly clock?: Clock;
  /** Calls its argument on Ctrl-C, until the returned function is called. */
  onInterrupt(listener: () => void): () => void;
}

/** The exit code of a process that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Runs `farebox <argv>`. Returns the exit code. Never rejects. */
export async function runCommandLine(argv: readonly string[], deps: RunDeps): Promise<number> {
  const { commands, version, terminal } = deps;
  const [first] = argv;
  if (first === "--version" || first === "-v") {
    terminal.print(version);
    return 0;
  }
  if (first === "--help" || first === "-h" || (first === "help" && argv.length === 1)) {
    terminal.write(helpOfAll(commands));
    return 0;
  }
  if (first === undefined) {
    for (const line of helpOfAll(commands).trimEnd().split("\n")) terminal.warn(line);
    return 2;
  }
  // `farebox help doctor` is `farebox doctor --help`.
  const [words, asksForHelp] = first === "help" ? [argv.slice(1), true] : [argv, false];
  let name: string | undefined;
  try {
    const entry = await findEntry(words, commands);
    name = entry.name;
    const { command } = await entry.load();
    const rest = words.slice(entry.name.split(" ").length);
    return await runCommand(command, asksForHelp ? ["--help"] : rest, deps);
  } catch (error) {
    return tellError(error, { name, isJson: argv.includes("--json") }, deps);
  }
}

/** The command with the most words that begin the arguments. */
async function findEntry(words: readonly string[], commands: readonly CommandEntry[]): Promise<CommandEntry> {
  const matches = commands.filter(({ name }) => name.split(" ").every((word, at) => word === words[at]));
  const [entry] = matches.sort((a, b) => b.name.length - a.name.length);
  if (entry !== undefined) return entry;
  const [first = ""] = words;
  const group = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (group.length > 0) {
    const known = group.map((name) => `farebox ${name}`).join(", ");
    throw wrongCall(`farebox ${first} needs the name of what to do`, `Write one of ${known}`);
  }
  const { nearestName } = await import("@farebox/core/internal");
  const names = [...new Set(commands.map(({ name }) => name.split(" ")[0] as string))];
  const meant = nearestName(first, names);
  throw wrongCall(
    `there is no command ${JSON.stringify(first)}`,
    meant === undefined ? "See farebox --help" : `Write farebox ${meant}`,
  );
}

async function runCommand(command: Command, argv: readonly string[], deps: RunDeps): Promise<number> {
  const { terminal, commands, env, clock = SYSTEM_CLOCK, onInterrupt } = deps;
  const { parseArguments } = await import("./arguments.js");
  const parsed = parseArguments(command, argv);
  if (parsed.kind === "help") {
    terminal.write(helpOf(command));
    return 0;
  }
  const { options, args, rest } = parsed;
  const controller = new AbortController();
  let interrupt: (code: number) => void = () => {};
  const interrupted = new Promise<number>((resolve) => {
    interrupt = resolve;
  });
  const stop = onInterrupt(() => {
    const isSecond = controller.signal.aborted;
    controller.abort();
    if (isSecond || command.cleansUp !== true) interrupt(INTERRUPTED);
  });
  try {
    const call = { options, args, rest, terminal, commands, env, clock, signal: controller.signal };
    return await Promise.race([command.run(call), interrupted]);
  } finally {
    stop();
  }
}

/** Prints an error: one sentence, its remedy, its code. Returns the exit code. */
function tellError(
  error: unknown,
  { name, isJson }: { readonly name: string | undefined; readonly isJson: boolean },
  { terminal, env }: RunDeps,
): number {
  const known = error instanceof CliError ? error : unexpected(error);
  const { code, remedy, exitCode } = known;
  const message = printable(known.message);
  if (isJson) terminal.printJson({ error: { code, message, remedy } });
  const title = name === undefined ? "farebox" : `farebox ${name}`;
  terminal.warn(`${terminal.style("red", title)}: ${message}`);
  terminal.warn(`  ${printable(remedy)} ${terminal.style("dim", `[${code}]`)}`);
  if (env["FAREBOX_DEBUG"] !== undefined && error instanceof Error) terminal.warn(error.stack ?? "");
  return exitCode;
}

function unexpected(error: unknown): CliError {
  const text = error instanceof Error ? error.message : String(error);
  return new CliError(
    "FAREBOX_CLI_UNEXPECTED",
    `an error that was not expected: ${text}`,
    "Set FAREBOX_DEBUG=1 to see where it comes from, and report it",
    { cause: error },
  );
}
