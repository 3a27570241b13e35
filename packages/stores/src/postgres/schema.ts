/**
 * The tables in PostgreSQL.
 *
 * @module
 */
import { MOST_DUE } from "@farebox/core";
import { UNFINISHED_SQL } from "../row.js";
import { ledgerSchema } from "./ledger.js";

/** The version of the tables, in the table of kept values. */
export const SCHEMA_VERSION = 6;

/** The oldest server, as `server_version_num`. */
export const OLDEST_SERVER = 130_000;

/** The columns that came after version 2. A row of before has what is written here. */
const ADDED = [
  'paid_by text COLLATE "C"',
  "kept_bytes bigint",
  "kept_at_ms bigint",
  "mode text NOT NULL DEFAULT 'after'",
  ...["route", "method", "target"].map((column) => `${column} text NOT NULL DEFAULT ''`),
  "has_body integer NOT NULL DEFAULT 0",
  "mark text",
];

/**
 * The SQL that creates or updates the tables: one statement, which may run again and again. It takes a lock, so that processes that start
 * together wait for each other.
 *
 * @param prefix - Begins the names of all tables. Default `farebox`.
 */
export function schema(prefix: string = "farebox"): string {
  // Version 5 had no columns for the request, the mode and the mark: it kept them in owner and binding. Version 4 did not know how much is
  // kept. Version 3 did not know which transaction had paid. Version 2 had no ledger. Version 1 had an index of fewer unfinished states.
  // Its index of rows to forget serves every version: who asks for rows in none of the unfinished states asks for none of these two.
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
  ALTER TABLE ${prefix}_payments ${ADDED.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(", ")};
  CREATE INDEX IF NOT EXISTS ${prefix}_payments_kept ON ${prefix}_payments (kept_at_ms, kept_bytes) WHERE kept_bytes IS NOT NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS ${prefix}_payments_paid_by ON ${prefix}_payments (paid_by);
  DROP INDEX IF EXISTS ${prefix}_payments_unfinished;
  CREATE INDEX IF NOT EXISTS ${prefix}_payments_open ON ${prefix}_payments (key) WHERE state IN (${UNFINISHED_SQL});
  CREATE INDEX IF NOT EXISTS ${prefix}_payments_forget ON ${prefix}_payments (forget_at_ms) WHERE state NOT IN ('settling', 'unknown');
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
  CREATE TABLE IF NOT EXISTS ${prefix}_exposure (
    key bytea PRIMARY KEY,
    identity text NOT NULL,
    payer bytea NOT NULL,
    micros numeric NOT NULL,
    until_ms bigint NOT NULL,
    is_due boolean NOT NULL
  );
  CREATE INDEX IF NOT EXISTS ${prefix}_exposure_until ON ${prefix}_exposure (until_ms);
  CREATE INDEX IF NOT EXISTS ${prefix}_exposure_due ON ${prefix}_exposure (payer) WHERE is_due;
  CREATE TABLE IF NOT EXISTS ${prefix}_exposure_sums (
    payer bytea PRIMARY KEY,
    micros numeric NOT NULL
  );
  ${exposeFunction(prefix)};
  ${ledgerSchema(prefix, `${LOCKS.ledger}, hashtext('${prefix}')`)};
  INSERT INTO ${prefix}_kept (name, value) VALUES ('schema', '${SCHEMA_VERSION}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE ${prefix}_kept.value::int < excluded.value::int;
END $farebox$`;
}

/** The first keys of advisory locks; the second is a hash of the prefix. */
export const LOCKS = { migrate: 402_001, sweep: 402_002, expose: 402_003, ledger: 402_004, drop: 402_005 } as const;

/** Entries that end and are removed in one statement. */
const ENDED_AT_ONCE = 1_000;

/**
 * Changes the exposure of one payment, in turn with all other processes, and returns the sums. A statement sees what was there when it
 * began; a function sees what was there when its turn came.
 *
 * An entry that ends by `now_ms` is only removed, so this is also the removal of an entry, and of those that have ended. The sum of all
 * payers has an empty key, and a sum of nothing has no row.
 *
 * The calls take turns, so they do not wait for the disk: a crash of the server's machine may lose the last half a second, of entries and
 * sums alike.
 */
function exposeFunction(prefix: string): string {
  const [entries, sums] = [`${prefix}_exposure`, `${prefix}_exposure_sums`];
  const subtract = `, less AS (
      SELECT payer, sum(micros) AS micros FROM gone GROUP BY payer
      UNION ALL SELECT ''::bytea, sum(micros) FROM gone HAVING count(*) > 0
    ), changed AS (
      UPDATE ${sums} AS s SET micros = s.micros - less.micros FROM less WHERE s.payer = less.payer RETURNING s.payer
    ) SELECT (SELECT count(*) FROM gone), (SELECT array_agg(payer) FROM changed)`;
  return `CREATE OR REPLACE FUNCTION ${prefix}_expose(
    new_key bytea, new_identity text, new_payer bytea, new_micros numeric, new_until_ms bigint, new_is_due boolean, now_ms bigint,
    OUT payer_sum text, OUT total_sum text, OUT due_identities text
  ) LANGUAGE plpgsql AS $expose$
DECLARE
  removed bigint;
  payers bytea[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(${LOCKS.expose}, hashtext('${prefix}'));
  LOOP
    WITH gone AS (
      DELETE FROM ${entries} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${entries} WHERE until_ms <= now_ms ORDER BY until_ms LIMIT ${ENDED_AT_ONCE}
      )) RETURNING payer, micros
    )${subtract} INTO removed, payers;
    DELETE FROM ${sums} WHERE micros = 0 AND payer = ANY (payers);
    EXIT WHEN removed < ${ENDED_AT_ONCE};
  END LOOP;
  WITH gone AS (
    DELETE FROM ${entries} WHERE key = new_key RETURNING payer, micros
  )${subtract} INTO removed, payers;
  IF new_until_ms > now_ms THEN
    INSERT INTO ${entries} VALUES (new_key, new_identity, new_payer, new_micros, new_until_ms, new_is_due);
    INSERT INTO ${sums} AS s VALUES ('', new_micros), (new_payer, new_micros)
      ON CONFLICT (payer) DO UPDATE SET micros = s.micros + excluded.micros;
  END IF;
  DELETE FROM ${sums} WHERE micros = 0 AND payer = ANY (payers || ARRAY['', new_payer]);
  SELECT coalesce(max(micros) FILTER (WHERE payer = new_payer), 0)::text, coalesce(max(micros) FILTER (WHERE payer = ''), 0)::text
    INTO payer_sum, total_sum FROM ${sums} WHERE payer IN ('', new_payer);
  SELECT coalesce(json_agg(identity), '[]')::text INTO due_identities
    FROM (SELECT identity FROM ${entries} WHERE payer = new_payer AND is_due LIMIT ${MOST_DUE}) AS owed;
END $expose$`;
}
