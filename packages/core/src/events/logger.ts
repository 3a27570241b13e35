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

/** `NODE_ENV` is what Express itself goes by; a developer has often set none. */
const DEVELOPMENT: readonly (string | undefined)[] = [undefined, "", "development"];

/** Lists of what is priced, and findings. */
const SHOWN = /^(?:priced|FAREBOX_[A-Z_]+)$/;

/**
 * Creates that logger.
 *
 * @param environment - `NODE_ENV`.
 * @param print - Takes a line.
 */
export function createStartLogger(environment: string | undefined, print: (line: string) => void): Logger {
  if (!DEVELOPMENT.includes(environment)) return SILENT;
  const show = (event: string, fields: LogFields) => {
    if (!SHOWN.test(event)) return;
    const texts = Object.values(fields).filter((field) => field !== undefined && field !== "");
    print(`[farebox] ${[event, ...texts].join(" · ")}\n`);
  };
  return { info: show, warn: show, error: show };
}

/** One line of at most 200 printable ASCII characters, without URLs and without anything as long as a key or a signature. */
export function legible(text: string): string {
  return text
    .slice(0, 1_000)
    .replaceAll(/[a-z][a-z0-9+.-]{0,19}:\/\/\S*/gi, "(a URL)")
    .replaceAll(/[0-9a-f]{64,}/gi, "(hex)")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, 200);
}

/** The name of what was thrown. Never throws: what strangers' and sellers' code throws may be anything. */
export function errorName(thrown: unknown): string {
  try {
    const name: unknown = thrown instanceof Error ? thrown.name : undefined;
    return typeof name === "string" ? legible(name) : "unknown";
  } catch {
    return "unknown";
  }
}
