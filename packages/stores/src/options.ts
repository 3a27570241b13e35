/**
 * The options that all stores have.
 *
 * @module
 */
import { MAX_ANSWER_BYTES } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";

/** The options that all stores have. */
export interface StoreOptions {
  /** Begins the names of all keys or tables. Shops that share a server need different ones. Default `farebox`. */
  readonly prefix?: string;
  /** Time limit of one call, 100 to 60000 ms. A call that takes longer rejects. Default 5000. */
  readonly timeoutMs?: number;
  /** Room for the bodies and headers of all kept responses, in bytes. The oldest delivered ones are dropped first. Default 64 MiB. */
  readonly maxAnswerBytes?: number;
  /** The clock, in Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** Options with their defaults. */
export type ParsedOptions = Required<StoreOptions>;

const PREFIX_OF_TABLES = /^[a-z_][a-z0-9_]{0,31}$/;

const ROOM = { least: 0, most: 2 ** 40, usual: MAX_ANSWER_BYTES, unit: "bytes" };

/**
 * Reads the options, and checks the client with them.
 *
 * @throws ConfigError with all issues at once
 */
export function parseOptions(
  options: StoreOptions,
  { tables, check }: { readonly tables: boolean; readonly check: (issues: Issues) => void },
): ParsedOptions {
  const issues = createIssues();
  check(issues);
  issues.checkKeys("options", options, ["prefix", "timeoutMs", "maxAnswerBytes", "now"]);
  const { prefix = "farebox", timeoutMs, maxAnswerBytes, now = Date.now } = options ?? {};
  if (typeof prefix !== "string" || !(tables ? PREFIX_OF_TABLES.test(prefix) : /^[!-~]{1,64}$/.test(prefix))) {
    const form = tables
      ? "1 to 32 lower-case letters, digits and _, such as farebox"
      : "1 to 64 printable ASCII characters";
    issues.add("options.prefix", form, prefix);
  }
  if (typeof now !== "function") issues.add("options.now", "a function that returns Unix milliseconds", now);
  const range = { least: 100, most: 60_000, usual: 5_000, unit: "milliseconds" };
  const parsed = {
    prefix,
    timeoutMs: issues.readNumber("options.timeoutMs", timeoutMs, range),
    maxAnswerBytes: issues.readNumber("options.maxAnswerBytes", maxAnswerBytes, ROOM),
    now,
  };
  issues.throwIfAny();
  return parsed;
}
