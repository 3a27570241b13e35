/**
 * Everything exported here is public API: for facilitators that list the services of sellers.
 *
 * @module
 */
export type { CatalogEntry, EntryMethod, EntryOffer, EntryType } from "../catalog/entry.js";
export { BAZAAR } from "../declaration.js";
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
