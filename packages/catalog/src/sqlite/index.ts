/**
 * Everything exported here is public API: the embedded store.
 *
 * @module
 */
export { createSqliteCatalogStore, type SqliteCatalogStoreOptions } from "./sqlite-store.js";
