/**
 * What a command of `farebox` is: its name, its options, and what it does.
 *
 * @module
 */
import type { Clock } from "./clock.js";
import type { Terminal } from "./terminal.js";

/** One option of a command. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** One sentence without a full stop. */
  readonly description: string;
  /** The name of its value in the help, e.g. `amount` for `--max <amount>`. */
  readonly value?: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** It may be given several times. */
  readonly multiple?: boolean;
}

/** The options of a command, by their names without dashes. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** What the options of a call are. */
export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends { readonly type: "boolean" }
    ? boolean
    : Specs[Name] extends { readonly multiple: true }
      ? readonly string[]
      : Specs[Name] extends { readonly default: string }
        ? string
        : string | undefined;
};

/** One call of a command. */
export interface Call<Specs extends OptionSpecs = OptionSpecs> {
  readonly options: OptionValues<Specs>;
  /** The arguments that are no options. */
  readonly args: readonly string[];
  /** The arguments behind `--`. */
  readonly rest: readonly string[];
  readonly terminal: Terminal;
  /** Every command that there is. */
  readonly commands: readonly CommandEntry[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborted by Ctrl-C, if the command says that it `cleansUp`. */
  readonly signal: AbortSignal;
}

/** A command. */
export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** E.g. `doctor`, or `ledger report` for a command with a word of its own. */
  readonly name: string;
  /** What it does, in one sentence without a full stop, which begins with a verb. */
  readonly summary: string;
  /** What stands behind its name in the first line of the help, e.g. `[options] <url>`. */
  readonly usage: string;
  /** Paragraphs below the options, e.g. exit codes and examples. */
  readonly details?: string;
  readonly options: Specs;
  /** It ends what it started when `signal` is aborted, and returns then. Default: Ctrl-C ends the process. */
  readonly cleansUp?: boolean;
  /**
   * Runs the command. Returns the exit code: 0 for success, 1 for a finding or a failure that the command has told.
   *
   * @throws CliError for what the person at the terminal can mend
   */
  run(call: Call<Specs>): number | Promise<number>;
}

/** Infers the types of a command's options. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command {
  // The frame gives each command the values that its own specs ask for.
  return command as unknown as Command;
}

/** A row of the table of commands. Its code is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: Command }>;
}
