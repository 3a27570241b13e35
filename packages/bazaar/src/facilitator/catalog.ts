/**
 * A catalog as a facilitator sees it.
 *
 * @module
 */
import type { CatalogEntry, EntryType } from "../catalog/entry.js";
import type { Registration, RegistrationRules } from "./registration.js";

/** Which entries are meant; whatever is left out is not asked for. All that is asked for must hold, of one and the same offer. */
export interface CatalogFilter {
  readonly type?: EntryType;
  readonly payTo?: string;
  /** CAIP-2. */
  readonly network?: string;
  readonly scheme?: string;
  /** Identifiers of extensions, e.g. `["bazaar"]`. */
  readonly extensions?: readonly string[];
}

/** One page of the list, in the order of registration. */
export interface ListQuery extends CatalogFilter {
  /** 1 to 100. */
  readonly limit: number;
  /** Ignored when there is a cursor. */
  readonly offset: number;
  /** Of an earlier page. */
  readonly cursor?: string;
}

/** One page of what fits a description, the best first. */
export interface SearchQuery extends CatalogFilter {
  /** In the words of whoever asks. */
  readonly query: string;
  /** 1 to 100. */
  readonly limit: number;
  /** Of an earlier page. */
  readonly cursor?: string;
}

/** A page of the list. */
export interface ListPage {
  readonly entries: readonly CatalogEntry[];
  /** How many entries fit the filter. */
  readonly total: number;
  /** For the next page; absent on the last. */
  readonly cursor?: string;
}

/** A page of a search. */
export interface SearchPage {
  readonly entries: readonly CatalogEntry[];
  /** Whether more entries may fit than are ranked. */
  readonly isPartial: boolean;
  /** For the next page; absent on the last. */
  readonly cursor?: string;
}

/** What became of a registration. */
export type Registered = { readonly kind: "listed" } | { readonly kind: "rejected"; readonly reason: string };

/** Lists services, and finds them. A call rejects when its store cannot be reached. */
export interface Catalog {
  /** How registrations are to be read. */
  readonly rules: RegistrationRules;
  /** Lists a service, or lists it anew. */
  register(registration: Registration): Promise<Registered>;
  list(query: ListQuery): Promise<ListPage>;
  search(query: SearchQuery): Promise<SearchPage>;
  /** Whether a text has the form of this catalog's cursors for the list, or for a search. */
  isCursor(kind: "list" | "search", text: string): boolean;
}
