/**
 * The logger of a seller who gave none: in development it prints what is priced and what looks wrong about it, elsewhere
 * and otherwise nothing.
 *
 * @module
 */
import { type LogFields, type Logger, SILENT } from "./logger.js";

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
