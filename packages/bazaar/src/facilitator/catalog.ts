/**
 * A catalog as a facilitator uses it: the registrations that it takes, and the pages that it returns.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { PriceLimit } from "../catalog/dollars.js";
import type { CatalogEntry, EntryType } from "../catalog/entry.js";
import type { DiscoveryInfo, JsonSchema } from "../declaration.js";

/** Lists and searches services. A call rejects when the store cannot be reached. */
export interface Catalog {
  /** The rules for reading registrations. */
  readonly rules: RegistrationRules;
  /** Lists a service, or updates its entry. */
  register(registration: Registration): Promise<Registered>;
  list(query: ListQuery): Promise<ListPage>;
  search(query: SearchQuery): Promise<SearchPage>;
  /** Finds one service; `undefined` if it is not listed, or not shown. */
  find(key: { readonly resource: string; readonly toolName?: string }): Promise<CatalogEntry | undefined>;
  /** Counts the entries of each filter, in its order. A filter has one field. */
  countEach(filters: readonly CatalogFilter[]): Promise<readonly number[]>;
  /** Whether a text has the form of this catalog's cursors for the list, or for a search. */
  isCursor(kind: "list" | "search", text: string): boolean;
}

/** One offer, with the terms of the payment. */
export interface RegisteredOffer {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Atomic units; for `upto` the maximum. */
  readonly amount: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: JsonObject;
}

/** A service, as one payment declares it. */
export interface Registration {
  readonly type: EntryType;
  /** First half of the entry's key: see `CatalogEntry.resource`. */
  readonly resource: string;
  /** Second half of the entry's key; `""` for HTTP. */
  readonly toolName: string;
  readonly info: DiscoveryInfo;
  readonly schema: JsonSchema;
  readonly routeTemplate?: string;
  /** Of a tool whose resource is an identifier such as `mcp://tool/add`: where its server is. */
  readonly serverUrl?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
  readonly offer: RegisteredOffer;
}

/** The declaration of a payment, checked. `none`: the payment declares nothing. A reason is a sentence for the seller. */
export type ReadRegistration =
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "registration"; readonly registration: Registration };

/** Rules for reading a registration. */
export interface RegistrationRules {
  /** Whether to list `http:` URLs and private hosts. Default false. */
  readonly allowLocal?: boolean;
}

/** Which entries to select. An absent field matches anything; all given fields must match one and the same offer. */
export interface CatalogFilter {
  readonly type?: EntryType;
  readonly payTo?: string;
  /** CAIP-2. */
  readonly network?: string;
  readonly scheme?: string;
  /** Identifiers of extensions, e.g. `["bazaar"]`. */
  readonly extensions?: readonly string[];
  /** Only entries that the owner of the URL confirmed, or only others. Default: both, as far as the catalog shows them. */
  readonly verified?: boolean;
  /** The most that a call may cost in dollars, e.g. `"0.01"`. Holds on the network of the filter, but for any scheme and payee. */
  readonly maxPrice?: PriceLimit;
}

/** A request for one page of the list. */
export interface ListQuery extends CatalogFilter {
  /** `price`: the cheapest offer in dollars first, and entries without a price in dollars last. Default: by registration. */
  readonly sort?: "price";
  /** 1 to 100. */
  readonly limit: number;
  /** Ignored when there is a cursor. */
  readonly offset: number;
  /** The cursor of an earlier page. It continues in the order of that page. */
  readonly cursor?: string;
}

/** A request for one page of a search, best matches first. */
export interface SearchQuery extends CatalogFilter {
  /** A description in natural language. */
  readonly query: string;
  /** `price`: the best matches, the cheapest first. Default: the best first. */
  readonly sort?: "price";
  /** 1 to 100. */
  readonly limit: number;
  /** The cursor of an earlier page. */
  readonly cursor?: string;
}

/** A page of the list. */
export interface ListPage {
  readonly entries: readonly CatalogEntry[];
  /** Number of entries that match the filter. */
  readonly total: number;
  /** Requests the next page; absent on the last. */
  readonly cursor?: string;
}

/** A page of a search. */
export interface SearchPage {
  readonly entries: readonly CatalogEntry[];
  /** Whether more entries may match than were ranked. */
  readonly isPartial: boolean;
  /** Requests the next page; absent on the last. */
  readonly cursor?: string;
}

/** The outcome of a registration. `processing`: the owner of the URL is checked first, in the background. */
export type Registered =
  | { readonly kind: "listed" | "processing" }
  | { readonly kind: "rejected"; readonly reason: string };
