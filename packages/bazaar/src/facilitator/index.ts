/**
 * Everything exported here is public API: what a facilitator needs to list what sellers declare.
 *
 * @module
 */
export type { CatalogEntry, EntryOffer, EntryType } from "../catalog/entry.js";
export { BAZAAR } from "../declaration.js";
export type {
  Catalog,
  CatalogFilter,
  ListPage,
  ListQuery,
  Registered,
  SearchPage,
  SearchQuery,
} from "./catalog.js";
export { readRegistration } from "./read-registration.js";
export type { ReadRegistration, RegisteredOffer, Registration, RegistrationRules } from "./registration.js";
