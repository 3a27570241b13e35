/**
 * The logger. Without one of the seller's, errors and warnings go to stderr.
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

/** A logger that takes its fields first, as pino and bunyan do: `warn({ route: "GET /weather" }, "settlement_rejected")`. */
export interface FieldsFirstLogger {
  info(fields: LogFields, event: string): void;
  warn(fields: LogFields, event: string): void;
  error(fields: LogFields, event: string): void;
  /** By this it is told from others. */
  child(fields: LogFields): unknown;
}

/** What the option `logger` takes. */
export type LoggerOption = Logger | FieldsFirstLogger | LogFormat;

/** How the logger of Farebox writes: a line for people, or a JSON object a line. */
export type LogFormat = "text" | "json";

/** Makes a logger of the option. The caller has checked that it is a format, or has the methods. */
export function createLogger(option: LoggerOption = "text"): Logger {
  if (typeof option === "string") {
    const print = (line: string) => void process.stderr.write(line);
    return neverThrowing(createStartLogger(process.env["NODE_ENV"], print, { format: option }));
  }
  return neverThrowing(takesFieldsFirst(option) ? eventFirst(option) : (option as Logger));
}

/** pino has `bindings`, bunyan `addSerializers`. winston, which has `child`, too, takes the event first. */
function takesFieldsFirst(logger: Logger | FieldsFirstLogger): logger is FieldsFirstLogger {
  try {
    const has = (name: string) => typeof Reflect.get(logger, name) === "function";
    return has("child") && (has("bindings") || has("addSerializers"));
  } catch {
    return false;
  }
}

function eventFirst(logger: FieldsFirstLogger): Logger {
  return {
    info: (event, fields) => logger.info(fields, event),
    warn: (event, fields) => logger.warn(fields, event),
    error: (event, fields) => logger.error(fields, event),
  };
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

/** The same line is printed again after this time. */
const REPEATED_AFTER_MS = 60 * 60 * 1000;

/** The lines of one event that are printed in a minute. */
const LINES_PER_MINUTE = 5;

/** The lines that are remembered. The oldest are forgotten first. */
const MAX_LINES = 500;

/** Information that operators need in production: what went wrong before is well again, and what clients do not get. */
const NEEDED: ReadonlySet<string> = new Set(["facilitator_up", "settlement_recovered", "challenge_shortened"]);

/** Whether this process was told about its store. An app may have many sets of options. */
let isStoreTold = false;

/**
 * Creates the logger of a seller who sets none: errors, warnings and recoveries in every environment, and priced routes in development.
 * The same line is printed once an hour, and each event has at most five lines a minute.
 *
 * @param environment - The value of `NODE_ENV`.
 * @param print - Prints a line.
 */
export function createStartLogger(
  environment: string | undefined,
  print: (line: string) => void,
  { now = Date.now, format = "text" }: { readonly now?: () => number; readonly format?: LogFormat } = {},
): Logger {
  const write = format === "json" ? writeJson : writeText;
  const isDevelopment = DEVELOPMENT.includes(environment);
  const printedAtMs = new Map<string, number>();
  const events = new Map<string, { sinceMs: number; printed: number; leftOut: number }>();

  const show = (level: keyof Logger, event: string, fields: LogFields) =>
    print(`${write({ level, event, fields, atMs: now() })}\n`);
  const limited = (level: keyof Logger) => (event: string, fields: LogFields) => {
    const nowMs = now();
    const known = events.get(event) ?? { sinceMs: nowMs, printed: 0, leftOut: 0 };
    events.set(event, known);
    if (nowMs - known.sinceMs >= 60_000) Object.assign(known, { sinceMs: nowMs, printed: 0 });
    const line = JSON.stringify([event, fields]);
    const isRepeated = nowMs - (printedAtMs.get(line) ?? Number.NEGATIVE_INFINITY) < REPEATED_AFTER_MS;
    if (isRepeated || known.printed >= LINES_PER_MINUTE) {
      known.leftOut++;
      return;
    }
    printedAtMs.delete(line);
    printedAtMs.set(line, nowMs);
    for (const oldest of printedAtMs.keys()) {
      if (printedAtMs.size <= MAX_LINES) break;
      printedAtMs.delete(oldest);
    }
    const more = known.leftOut === 0 ? {} : { more: `${known.leftOut} such lines left out before` };
    Object.assign(known, { printed: known.printed + 1, leftOut: 0 });
    show(level, event, { ...fields, ...more });
  };
  const info = limited("info");
  const warn = limited("warn");
  const error = limited("error");
  /** Facilitators that a line said are down. A line says only of those that they are back. */
  const down = new Set<string>();
  return {
    info: (event, fields) => {
      if (isDevelopment && event === "priced") show("info", event, fields);
      if (event === "facilitator_up" && !down.delete(String(fields["facilitator"]))) return;
      if (NEEDED.has(event)) info(event, fields);
    },
    warn: (event, fields) => {
      if (event === "FAREBOX_MEMORY_STORE") {
        if (isStoreTold) return;
        isStoreTold = true;
      }
      // A finding is told once, and a start may have many.
      if (event.startsWith("FAREBOX_")) show("warn", event, fields);
      else warn(event, fields);
    },
    error: (event, fields) => {
      if (event === "facilitator_down") down.add(String(fields["facilitator"]));
      error(event, fields);
    },
  };
}

/** One line of a log. */
interface Line {
  readonly level: keyof Logger;
  readonly event: string;
  readonly fields: LogFields;
  readonly atMs: number;
}

function writeText({ event, fields }: Line): string {
  const texts = Object.values(fields).filter((field) => field !== undefined && field !== "");
  return `[farebox] ${[event, ...texts].join(" · ")}`;
}

function writeJson({ level, event, fields, atMs }: Line): string {
  return JSON.stringify({ time: new Date(atMs).toISOString(), level, name: "farebox", event, ...fields });
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

const MAX_FRAMES = 10;
const MAX_FRAME = 300;

/**
 * What a function of the seller's threw: name, message and stack, for the log only. The message may quote a client, so it is
 * made legible. Never throws, for any value.
 */
export function describeThrown(thrown: unknown): {
  readonly error: string;
  readonly message: string;
  readonly stack: string;
} {
  const error = errorName(thrown);
  try {
    if (!(thrown instanceof Error))
      return { error, message: legible(typeof thrown === "string" ? thrown : ""), stack: "" };
    const frames = String(thrown.stack ?? "")
      .slice(0, 10_000)
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .slice(0, MAX_FRAMES)
      .map(
        (line) =>
          `\n    ${line
            .trim()
            .replaceAll(/[^\x20-\x7e]+/g, " ")
            .slice(0, MAX_FRAME)}`,
      );
    return { error, message: legible(String(thrown.message)), stack: frames.join("") };
  } catch {
    return { error, message: "", stack: "" };
  }
}
