/**
 * Everything exported here is public API: for facilitators that list the services of sellers.
 *
 * @module
 */
export { isOfferAmount } from "../catalog/amount.js";
export {
  dollarsOf,
  isWithinPrice,
  NAMED_NETWORKS,
  networkName,
  PRICE_LIMITS,
  type PricedTerms,
  type PriceLimit,
  STABLECOINS,
  type Stablecoin,
  stablecoinOf,
} from "../catalog/dollars.js";
export type { CatalogEntry, EntryMethod, EntryOffer, EntryType } from "../catalog/entry.js";
export { BAZAAR, outputSchemaOf } from "../declaration.js";
export type {
  Catalog,
  CatalogFilter,
  ListPage,
  ListQuery,
  ReadRegistration,
  Registered,
  RegisteredOffer,
  Registration,
  RegistrationRules,
  SearchPage,
  SearchQuery,
} from "./catalog.js";
export { isPublicHost } from "./listed-resource.js";
export { readRegistration } from "./read-registration.js";
