/**
 * Everything exported here is public API: the store for several machines.
 *
 * @module
 */
export { createPostgresCatalogStore, type PostgresCatalogStoreOptions } from "./postgres-store.js";
