/**
 * Options, checked once and all at once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, type Logger } from "@farebox/core";

/** Collects what is wrong with options. */
export class Issues {
  readonly #found: ConfigIssue[] = [];

  /** Notes what is wrong at a path, e.g. `options.logger`. */
  add(path: string, expected: string, received: unknown): void {
    this.#found.push({ path, expected, received: describe(received) });
  }

  /** Notes every key of the options that is not one of `known`. */
  checkKeys(options: object, known: readonly string[]): void {
    for (const key of Object.keys(options)) {
      if (!known.includes(key)) this.#found.push(unknownKey(key, known));
    }
  }

  /** Notes a logger that cannot log. */
  checkLogger(logger: Logger | undefined): void {
    if (logger === undefined) return;
    const levels = ["info", "warn", "error"] as const;
    const canLog = typeof logger === "object" && logger !== null && levels.every((level) => isFunction(logger[level]));
    if (!canLog) this.add("options.logger", "an object with info, warn and error", logger);
  }

  /** @throws ConfigError when anything was noted. */
  throwIfAny(): void {
    if (this.#found.length > 0) throw new ConfigError(this.#found);
  }
}

/** Whether a value can be called. */
export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function unknownKey(key: string, known: readonly string[]): ConfigIssue {
  const expected = `one of the keys ${known.join(", ")}`;
  return { path: `options.${key.length > 40 ? "…" : key}`, expected, received: "an unknown key" };
}

/** A long text is not quoted: it may be a secret in the wrong place. */
function describe(value: unknown): string {
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : "a longer text";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === undefined || value === null) return "nothing";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
