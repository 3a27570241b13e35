/**
 * Everything exported here is public API.
 *
 * @module
 */
export type { Finding } from "./migrate/differences.js";
export {
  type ChangedImport,
  type KeptImport,
  type MigrateOptions,
  type Migration,
  migrate,
  type UnreadableFile,
} from "./migrate/migrate.js";
export type { Depth } from "./migrate/modules.js";
