/**
 * Checks the option `ledger`.
 *
 * @module
 */
import type { Issues } from "../issues.js";
import type { LedgerOptions } from "../options.js";
import type { PayerNames } from "./new-entry.js";

/** The seller's choices. */
export interface LedgerSettings extends PayerNames {
  readonly retentionMs: number;
  readonly feeOf: LedgerOptions["feeOf"];
}

const RETENTION_DAYS = { least: 1, most: 36_500, usual: 400, unit: "days" };
const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads the option. The settings are only valid if nothing was added to `issues`. */
export function parseLedger(given: unknown, issues: Issues): LedgerSettings {
  const path = "options.ledger";
  const keys = ["retentionDays", "payers", "secret", "feeOf"];
  const options: LedgerOptions = given !== undefined && issues.checkKeys(path, given, keys) ? given : {};
  const { retentionDays, feeOf, payers, secret } = options;
  if (feeOf !== undefined && typeof feeOf !== "function")
    issues.add(`${path}.feeOf`, "a function that returns atomic units as digits, or nothing", feeOf);
  return {
    ...parsePayerNames({ payers, secret }, path, issues),
    retentionMs: issues.readNumber(`${path}.retentionDays`, retentionDays, RETENTION_DAYS) * DAY_MS,
    feeOf,
  };
}

/** Reads how payers are recorded. An issue never quotes the secret. */
export function parsePayerNames(
  { payers = "plain", secret }: { readonly payers?: unknown; readonly secret?: unknown },
  path: string,
  issues: Issues,
): PayerNames {
  if (payers !== "plain" && payers !== "hashed") issues.add(`${path}.payers`, '"plain" or "hashed"', payers);
  const isSecret = typeof secret === "string" && secret.length >= 32;
  if (!isSecret && (secret !== undefined || payers === "hashed")) {
    issues.addText(`${path}.secret`, "a text of at least 32 characters", `${typeof secret}, or a shorter one`);
  }
  return { secret: payers === "hashed" && isSecret ? Buffer.from(secret) : undefined };
}
