/**
 * The payment stores: that of one process, and those that processes share, with the clients that sellers use.
 *
 * @module
 */
import { createMemoryStore, type PaymentStore } from "@farebox/core";
import { postgresStore } from "@farebox/stores/postgres";
import { redisStore } from "@farebox/stores/redis";
import { sqliteStore } from "@farebox/stores/sqlite";
import Database from "libsql";
import pg from "pg";
import { createClient } from "redis";
import type { Plan, StorePlace } from "../plan.js";

/** A machine under load is slow, and not down. */
const PATIENT = { timeoutMs: 60_000 };

const MINUTE_MS = 60_000;
/** How long a store keeps a payment after its expiry. */
const GRACE_MS = 10 * MINUTE_MS;

/** Opens the store of a seller. */
export function openStore({ store, records = 0, forgetsEarly = false }: Plan): PaymentStore {
  return store === undefined ? openMemory(records, forgetsEarly ? GRACE_MS : 0) : openShared(store);
}

/** A store whose clock is ahead forgets as much earlier. */
function openMemory(records: number, aheadMs: number): PaymentStore {
  const store = createMemoryStore(() => Date.now() + aheadMs);
  const expiresAtMs = Date.now() + 60 * MINUTE_MS;
  for (let at = 0; at < records; at++) {
    const step = { identity: `a payment of earlier, number ${at}`, owner: "its first run" };
    const request = { mode: "after", route: "GET /paid", method: "GET", target: "/paid", hasBody: false } as const;
    store.claim({ ...step, ...request, binding: `GET /paid, request ${at}`, expiresAtMs });
    store.transition({ ...step, from: "claimed", to: "settling", facilitator: "facilitator-1" });
    const receipt = { success: true, transaction: `0x${"5e".repeat(32)}`, network: "eip155:84532" } as const;
    store.transition({ ...step, from: "settling", to: "settled", receipt });
  }
  return store;
}

function openShared({ kind, place }: StorePlace): PaymentStore {
  if (kind === "sqlite") return sqliteStore(new Database(place), PATIENT);
  if (kind === "postgres") return postgresStore(new pg.Pool({ connectionString: place }), PATIENT);
  const client = createClient({ url: place }).on("error", (error) => process.stderr.write(`${error}\n`));
  // Commands wait until it is connected.
  void client.connect();
  return redisStore(client, PATIENT);
}
