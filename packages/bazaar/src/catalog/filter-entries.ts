/**
 * Filters entries here, because many a catalog ignores what it is asked.
 *
 * @module
 */
import type { CatalogEntry, EntryOffer, EntryType } from "./entry.js";

/** Which entries are meant; whatever is left out is not asked for. All that is asked for must hold, of one and the same offer. */
export interface EntryFilter {
  readonly type?: EntryType;
  /** In either case, where the address is one of eip155. */
  readonly payTo?: string;
  /** CAIP-2, e.g. `eip155:8453`. */
  readonly network?: string;
  /** `exact`, `upto`, … */
  readonly scheme?: string;
  /** Identifiers of extensions, e.g. `["bazaar"]`. */
  readonly extensions?: readonly string[];
}

/** What may be spent on a call. */
export interface Budget {
  /** Token contract or mint. */
  readonly asset: string;
  /** Atomic units, e.g. `"10000"` for 0.01 of an asset with 6 decimals. */
  readonly maxAmount: string | bigint;
  /** CAIP-2. Default: any. */
  readonly network?: string;
}

/** Whether an entry is meant. */
export function fitsFilter({ type, extensions = {}, accepts }: CatalogEntry, filter: EntryFilter): boolean {
  if (filter.type !== undefined && filter.type !== type) return false;
  if (!(filter.extensions ?? []).every((name) => Object.hasOwn(extensions, name))) return false;
  return accepts.some((offer) => isOfferMeant(offer, filter));
}

function isOfferMeant({ payTo, network, scheme }: EntryOffer, filter: EntryFilter): boolean {
  if (filter.network !== undefined && filter.network !== network) return false;
  if (filter.scheme !== undefined && filter.scheme !== scheme) return false;
  return filter.payTo === undefined || isSameAddress(filter.payTo, payTo);
}

/**
 * The entries that can be called for at most `maxAmount` of an asset, in their order.
 *
 * @throws RangeError or SyntaxError, as `BigInt` does, when `maxAmount` is no whole number
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
