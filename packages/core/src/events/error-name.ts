/**
 * What of an error goes into a log.
 *
 * @module
 */
import { legible } from "./legible.js";

/** The name of what was thrown. Never throws: what strangers' and sellers' code throws may be anything. */
export function errorName(thrown: unknown): string {
  try {
    const name: unknown = thrown instanceof Error ? thrown.name : undefined;
    return typeof name === "string" ? legible(name) : "unknown";
  } catch {
    return "unknown";
  }
}
