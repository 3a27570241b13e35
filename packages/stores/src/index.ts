/**
 * Payment stores that processes share. `@farebox/stores/redis`, `/postgres` and `/sqlite` have one each.
 *
 * Everything exported here is public API.
 *
 * @module
 */
export type { StoreOptions } from "./options.js";
export {
  type PostgresPool,
  type PostgresStore,
  postgresStore,
  schema,
} from "./postgres/postgres-store.js";
export { type RedisClient, type RedisStore, redisStore } from "./redis/redis-store.js";
export { type SqliteDatabase, type SqliteStatement, sqliteStore } from "./sqlite/sqlite-store.js";
