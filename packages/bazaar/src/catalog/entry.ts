/**
 * A catalog entry: one service that can be paid for, as a catalog lists it. It has the fields of every catalog there is:
 * the brief ones, and those that clients of the reference read.
 *
 * @see x402 v2 §8 "Discovery API"
 * @module
 */
import type { JsonObject } from "@farebox/core";

/** What can be listed. */
export type EntryType = "http" | "mcp";

/** One way to pay for an entry. */
export interface EntryOffer {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, or a name of version 1 such as `base-sepolia`. */
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Atomic units as a decimal string; for `upto` the most that is taken. The same as {@link maxAmountRequired}. */
  readonly amount: string;
  /** The name of {@link amount} in version 1. */
  readonly maxAmountRequired: string;
  readonly maxTimeoutSeconds: number;
  /** The entry's. */
  readonly resource: string;
  /** May be empty. */
  readonly description: string;
  /** May be empty. */
  readonly mimeType: string;
  readonly outputSchema: { readonly input: JsonObject | null; readonly output: unknown };
  readonly extra: JsonObject;
}

/** One service in a catalog. */
export interface CatalogEntry {
  /** The URL, for a route with parameters the origin and its template, or an MCP identifier such as `mcp://tool/add`. */
  readonly resource: string;
  readonly type: EntryType;
  /** 2; catalogs also list services of version 1. */
  readonly x402Version: number;
  readonly accepts: readonly EntryOffer[];
  /** ISO 8601 with milliseconds: `2026-01-31T12:00:00.000Z`. */
  readonly lastUpdated: string;
  readonly metadata: JsonObject;
  readonly description?: string;
  /** Of the answer, e.g. `application/json`. */
  readonly mimeType?: string;
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
  /** What the seller declared: `{ bazaar: { info, schema, routeTemplate? } }`. */
  readonly extensions?: JsonObject;
  /** What goes in and what comes out, wherever the catalog had it. */
  readonly discoveryInfo?: JsonObject;
  /** `/users/:id`. */
  readonly routeTemplate?: string;
  /** Of an HTTP endpoint: `GET`, … */
  readonly method?: string;
  /** Of an MCP tool: its name in `tools/call`. */
  readonly toolName?: string;
}
