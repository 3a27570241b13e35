/**
 * Everything exported here is public API.
 *
 * @module
 */
export { type CatalogOptions, createCatalog, type LocalCatalog } from "./catalog.js";
export type { Embedder } from "./embedder.js";
export type { Unverified } from "./ownership/claims.js";
export type { HostLookup } from "./ownership/guarded-fetch.js";
export type {
  CatalogStore,
  Decide,
  DueEntry,
  EntryChange,
  EntryChecks,
  EntryKey,
  EntryTexts,
  RankedText,
  StoreChanges,
  StoredEntry,
  StoredMeaning,
  StoredVector,
  StoreQuery,
  TextQuery,
  WeightedWord,
} from "./store.js";
