/**
 * The logger. Farebox prints nothing by itself, except at start in development.
 *
 * @module
 */

/** Fields of a log line: plain values, never secrets, signatures or unescaped text from clients. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Receives log lines, e.g. `info("priced", { route: "GET /weather" })`. `console` is a valid logger. */
export interface Logger {
  info(event: string, fields: LogFields): void;
  warn(event: string, fields: LogFields): void;
  error(event: string, fields: LogFields): void;
}

/** Wraps a logger so that its errors do not affect a payment. */
export function neverThrowing(logger: Logger): Logger {
  const attempt = (level: keyof Logger, event: string, fields: LogFields) => {
    try {
      const said: unknown = logger[level](event, fields);
      // An async logger that rejects would end the process.
      if (said !== undefined) Promise.resolve(said).catch(() => {});
    } catch {
      // There is no other place to report to.
    }
  };
  return {
    info: (event, fields) => attempt("info", event, fields),
    warn: (event, fields) => attempt("warn", event, fields),
    error: (event, fields) => attempt("error", event, fields),
  };
}

/** Logs nothing. */
export const SILENT: Logger = Object.freeze({ info: () => {}, warn: () => {}, error: () => {} });

/** The values of `NODE_ENV` that mean development. Express reads it, too, and developers often leave it unset. */
const DEVELOPMENT: readonly (string | undefined)[] = [undefined, "", "development"];

/** The lines that are shown: priced routes and findings. */
const SHOWN = /^(?:priced|FAREBOX_[A-Z_]+)$/;

/**
 * Creates the logger of a seller who sets none. In development it prints priced routes and findings; otherwise nothing.
 *
 * @param environment - The value of `NODE_ENV`.
 * @param print - Prints a line.
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

/** Shortens a text to one line of 200 printable ASCII characters, without URLs and without hex as long as a key. */
export function legible(text: string): string {
  return text
    .slice(0, 1_000)
    .replaceAll(/[a-z][a-z0-9+.-]{0,19}:\/\/\S*/gi, "(a URL)")
    .replaceAll(/[0-9a-f]{64,}/gi, "(hex)")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, 200);
}

/** The name of a thrown error, or `"unknown"`. Never throws, for any value. */
export function errorName(thrown: unknown): string {
  try {
    const name: unknown = thrown instanceof Error ? thrown.name : undefined;
    return typeof name === "string" ? legible(name) : "unknown";
  } catch {
    return "unknown";
  }
}
