/**
 * The payment stores that processes share, with the clients that sellers use.
 *
 * @module
 */
import type { PaymentStore } from "@farebox/core";
import { postgresStore } from "@farebox/stores/postgres";
import { redisStore } from "@farebox/stores/redis";
import { sqliteStore } from "@farebox/stores/sqlite";
import Database from "libsql";
import pg from "pg";
import { createClient } from "redis";
import type { StorePlace } from "../plan.js";

/** A machine under load is slow, and not down. */
const PATIENT = { timeoutMs: 60_000 };

/** Opens a store. */
export function openStore({ kind, place }: StorePlace): PaymentStore {
  if (kind === "sqlite") return sqliteStore(new Database(place), PATIENT);
  if (kind === "postgres") return postgresStore(new pg.Pool({ connectionString: place }), PATIENT);
  const client = createClient({ url: place }).on("error", (error) => process.stderr.write(`${error}\n`));
  // Commands wait until it is connected.
  void client.connect();
  return redisStore(client, PATIENT);
}
