/**
 * A catalog entry: one service that can be paid for, as a catalog lists it.
 *
 * An entry has the fields of every dialect: those of x402 version 1, those of version 2, and those that clients of the
 * reference implementation read.
 *
 * @see x402 v2 §8 "Discovery API"
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isWithinPrice, type PriceLimit } from "./dollars.js";

/** The kind of a service. */
export type EntryType = "http" | "mcp";

/** One way to pay for an entry. */
export interface EntryOffer {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, or a name of version 1 such as `base-sepolia`. */
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Atomic units as a decimal string; for `upto` the maximum. The same as {@link maxAmountRequired}. */
  readonly amount: string;
  /** The name of {@link amount} in x402 version 1. */
  readonly maxAmountRequired: string;
  readonly maxTimeoutSeconds: number;
  /** The resource of the entry. */
  readonly resource: string;
  /** May be empty. */
  readonly description: string;
  /** May be empty. */
  readonly mimeType: string;
  /** `output` is the declared JSON Schema with the example, or the example alone. */
  readonly outputSchema: { readonly input: JsonObject | null; readonly output: unknown };
  readonly extra: JsonObject;
}

/** One method of an HTTP endpoint, as it was last paid for. */
export interface EntryMethod {
  /** `GET`, `POST`, … */
  readonly method: string;
  readonly accepts: readonly EntryOffer[];
  readonly description?: string;
  readonly mimeType?: string;
  /** The input and output of this method. */
  readonly discoveryInfo: JsonObject;
  /** The seller's declarations: `{ bazaar: { info, schema, routeTemplate? } }`. */
  readonly extensions: JsonObject;
  /** ISO 8601 with milliseconds. */
  readonly lastUpdated: string;
}

/** One service in a catalog. */
export interface CatalogEntry {
  /** The URL, for a route with parameters the origin and its template, or an MCP identifier such as `mcp://tool/add`. */
  readonly resource: string;
  readonly type: EntryType;
  /** 2, or 1 for a service of x402 version 1. */
  readonly x402Version: number;
  readonly accepts: readonly EntryOffer[];
  /** ISO 8601 with milliseconds: `2026-01-31T12:00:00.000Z`. */
  readonly lastUpdated: string;
  readonly metadata: JsonObject;
  readonly description?: string;
  /** Of the response, e.g. `application/json`. */
  readonly mimeType?: string;
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
  /** The seller's declarations: `{ bazaar: { info, schema, routeTemplate? } }`. */
  readonly extensions?: JsonObject;
  /** The input and output of the service, from any of the fields where catalogs keep them. */
  readonly discoveryInfo?: JsonObject;
  /** `/users/:id`. */
  readonly routeTemplate?: string;
  /** Of an HTTP endpoint: `GET`, … */
  readonly method?: string;
  /** Of an HTTP endpoint with more than one method: each with its own offers and schemas. `accepts` holds all their offers. */
  readonly methods?: readonly EntryMethod[];
  /** Whether the owner of the URL confirmed the entry. Absent: the catalog does not say. */
  readonly verified?: boolean;
  /** When the owner confirmed it last: ISO 8601 with milliseconds. */
  readonly verifiedAt?: string;
  /** In a search: how well the entry fits, 0 to 1. Comparable only within one search. */
  readonly score?: number;
  /** Of an MCP tool: its name in `tools/call`. */
  readonly toolName?: string;
  /** Of an MCP tool whose resource is no URL: where its server is, as the server itself says. */
  readonly serverUrl?: string;
}

/** Which entries to select. An absent field matches anything; all given fields must match one and the same offer. */
export interface EntryFilter {
  readonly type?: EntryType;
  /** Case is ignored for an EVM address. */
  readonly payTo?: string;
  /** CAIP-2, e.g. `eip155:8453`. */
  readonly network?: string;
  /** `exact`, `upto`, … */
  readonly scheme?: string;
  /** Identifiers of extensions, e.g. `["bazaar"]`. */
  readonly extensions?: readonly string[];
  /** Only entries that the owner of the URL confirmed, or only others. */
  readonly verified?: boolean;
  /** The most that a call may cost, in dollars: one of `PRICE_LIMITS`. Only known stablecoins have a price in dollars. */
  readonly maxPrice?: PriceLimit;
}

/** The most that a call may cost. */
export interface Budget {
  /** Token contract or mint. */
  readonly asset: string;
  /** Atomic units, e.g. `"10000"` for 0.01 of an asset with 6 decimals. */
  readonly maxAmount: string | bigint;
  /** CAIP-2. Default: any. */
  readonly network?: string;
}

/** Whether an entry matches a filter. */
export function matchesFilter(entry: CatalogEntry, filter: EntryFilter): boolean {
  const { type, extensions = {}, accepts, verified = false } = entry;
  if (filter.verified !== undefined && filter.verified !== verified) return false;
  if (filter.type !== undefined && filter.type !== type) return false;
  if (!(filter.extensions ?? []).every((name) => Object.hasOwn(extensions, name))) return false;
  return accepts.some((offer) => matchesOffer(offer, filter));
}

function matchesOffer(offer: EntryOffer, filter: EntryFilter): boolean {
  const { payTo, network, scheme } = offer;
  if (filter.maxPrice !== undefined && !isWithinPrice(offer, filter.maxPrice)) return false;
  if (filter.network !== undefined && filter.network !== network) return false;
  if (filter.scheme !== undefined && filter.scheme !== scheme) return false;
  return filter.payTo === undefined || isSameAddress(filter.payTo, payTo);
}

/**
 * Selects the entries that can be called for at most `maxAmount` of an asset. Keeps their order.
 *
 * @throws RangeError or SyntaxError, as `BigInt` does, when `maxAmount` is not a whole number
 */
export function affordable(
  entries: Iterable<CatalogEntry>,
  { asset, maxAmount, network }: Budget,
): readonly CatalogEntry[] {
  const most = BigInt(maxAmount);
  const isWithin = (offer: EntryOffer): boolean =>
    isSameAddress(offer.asset, asset) &&
    (network === undefined || network === offer.network) &&
    BigInt(offer.amount) <= most;
  return [...entries].filter(({ accepts }) => accepts.some(isWithin));
}

function isSameAddress(one: string, other: string): boolean {
  return one === other || (/^0x/i.test(one) && one.toLowerCase() === other.toLowerCase());
}
