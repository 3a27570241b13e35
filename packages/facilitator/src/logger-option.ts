/**
 * The `logger` option, which facilitator and router both have.
 *
 * @module
 */
import type { Issues, Logger } from "@farebox/core";

const LEVELS = ["info", "warn", "error"] as const;

/** Notes a logger that cannot log. */
export function checkLogger(logger: Logger | undefined, issues: Issues): void {
  if (logger === undefined) return;
  const canLog = typeof logger === "object" && logger !== null && LEVELS.every((level) => isFunction(logger[level]));
  if (!canLog) issues.addText("options.logger", "an object with info, warn and error", "something else");
}

/** Whether a value can be called. */
export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}
