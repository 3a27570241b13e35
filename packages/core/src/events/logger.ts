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

/** A logger that fails must not decide what becomes of a payment. */
export function neverThrowing(logger: Logger): Logger {
  const attempt = (level: keyof Logger, event: string, fields: LogFields) => {
    try {
      const said: unknown = logger[level](event, fields);
      // One that writes in its own time, and fails then, would end the process.
      if (said !== undefined) Promise.resolve(said).catch(() => {});
    } catch {
      // There is nobody left to tell.
    }
  };
  return {
    info: (event, fields) => attempt("info", event, fields),
    warn: (event, fields) => attempt("warn", event, fields),
    error: (event, fields) => attempt("error", event, fields),
  };
}

/** Says nothing. */
export const SILENT: Logger = Object.freeze({ info: () => {}, warn: () => {}, error: () => {} });
