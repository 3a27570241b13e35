/**
 * Where the library speaks to an operator. It prints nothing by itself.
 *
 * @module
 */

/** Fields of a log line: plain values, never secrets, signatures or a stranger's unescaped text. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Takes log lines; `console` is one, and so is a pino logger behind two lines of code. */
export interface Logger {
  info(event: string, fields: LogFields): void;
  warn(event: string, fields: LogFields): void;
  error(event: string, fields: LogFields): void;
}

/** Says nothing. */
export const SILENT: Logger = Object.freeze({ info: () => {}, warn: () => {}, error: () => {} });
