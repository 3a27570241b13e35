/**
 * Errors that a person at the terminal can mend: one sentence, and a remedy.
 *
 * @module
 */

/** A failure of a command. It is printed as one sentence with its remedy and its code. */
export class CliError extends Error {
  override readonly name = "CliError";
  /** Stable, e.g. `FAREBOX_CLI_USAGE`. */
  readonly code: string;
  /** What to do about it, as an imperative sentence without a full stop. */
  readonly remedy: string;
  /** 2 for a wrong call, otherwise 1. */
  readonly exitCode: number;

  constructor(code: string, message: string, remedy: string, { exitCode = 1, cause }: CliErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.remedy = remedy;
    this.exitCode = exitCode;
  }
}

interface CliErrorOptions {
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/** The command cannot be called in this way. */
export function wrongCall(message: string, remedy: string): CliError {
  return new CliError("FAREBOX_CLI_USAGE", message, remedy, { exitCode: 2 });
}
