/**
 * The tables in PostgreSQL.
 *
 * @module
 */
import { UNFINISHED_SQL } from "../row.js";

/** The version of the tables, in the table of kept values. */
export const SCHEMA_VERSION = 1;

/** The oldest server, as `server_version_num`. */
export const OLDEST_SERVER = 130_000;

/**
 * The SQL that creates or updates the tables: one statement, which may run again and again. It takes a lock, so that processes that start
 * together wait for each other.
 *
 * @param prefix - Begins the names of all tables. Default `farebox`.
 */
export function schema(prefix: string = "farebox"): string {
  // The key is a SHA-256, since an identity may be longer than an index accepts.
  return `DO $farebox$
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCKS.migrate}, hashtext('${prefix}'));
  SET LOCAL client_min_messages = warning;
  CREATE TABLE IF NOT EXISTS ${prefix}_payments (
    key bytea PRIMARY KEY,
    identity text NOT NULL,
    binding text NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    expires_at_ms bigint NOT NULL,
    forget_at_ms bigint NOT NULL,
    facilitator text,
    identifier text COLLATE "C" UNIQUE,
    request text,
    lease_until_ms bigint,
    answer text,
    body bytea,
    receipt text,
    is_watched boolean NOT NULL DEFAULT false
  );
  CREATE INDEX IF NOT EXISTS ${prefix}_payments_unfinished ON ${prefix}_payments (key) WHERE state IN (${UNFINISHED_SQL});
  CREATE INDEX IF NOT EXISTS ${prefix}_payments_forget ON ${prefix}_payments (forget_at_ms) WHERE state NOT IN (${UNFINISHED_SQL});
  CREATE TABLE IF NOT EXISTS ${prefix}_runs (
    key bytea PRIMARY KEY,
    until_ms bigint NOT NULL,
    runs jsonb NOT NULL
  );
  CREATE INDEX IF NOT EXISTS ${prefix}_runs_until ON ${prefix}_runs (until_ms);
  CREATE TABLE IF NOT EXISTS ${prefix}_kept (
    name text PRIMARY KEY,
    value text NOT NULL
  );
  INSERT INTO ${prefix}_kept (name, value) VALUES ('schema', '${SCHEMA_VERSION}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE ${prefix}_kept.value::int < excluded.value::int;
END $farebox$`;
}

/** The first keys of advisory locks; the second is a hash of the prefix. */
export const LOCKS = { migrate: 402_001, sweep: 402_002 } as const;
