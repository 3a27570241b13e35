/**
 * Everything exported here is public API.
 *
 * @module
 */
export { type CatalogOptions, createCatalog, type LocalCatalog } from "./catalog.js";
export type { Embedder } from "./embedder.js";
export type {
  CatalogStore,
  EntryChange,
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
