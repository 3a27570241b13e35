/**
 * Many payments on record, written past the store: copies of one that it has written.
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

const HOUR_MS = 3_600_000;
const IDENTITY = `eip155:84532:0x036cbd53842c5426634e7929541ec2318f3dcf7e:0x${"1".repeat(40)}:0x${"2".repeat(64)}`;
const BOUND = {
  binding: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
  mode: "after",
  route: "GET /paid",
  method: "GET",
  target: "/paid",
  hasBody: true,
} as const;

/** The columns that all rows have in common. */
const COPIED =
  "binding, state, owner, expires_at_ms, forget_at_ms, mode, route, method, target, has_body, facilitator, receipt";

/** Writes as many delivered payments as asked for. */
export async function fillStore(store: StorePlace, count: number): Promise<void> {
  await FILL[store.kind](store.place, count);
}

async function writeOne(store: PaymentStore): Promise<void> {
  const step = { identity: IDENTITY, owner: "the first run of it" } as const;
  await store.claim({ ...step, ...BOUND, expiresAtMs: Date.now() + HOUR_MS });
  await store.transition({ ...step, from: "claimed", to: "settling", facilitator: "facilitator-1" });
  const receipt = { success: true, transaction: `0x${"5e".repeat(32)}`, network: "eip155:84532" } as const;
  await store.transition({ ...step, from: "settling", to: "settled", receipt });
}

const FILL: Readonly<Record<StorePlace["kind"], (place: string, count: number) => Promise<void>>> = {
  async redis(place, count) {
    const client = await createClient({ url: place }).connect();
    await writeOne(redisStore(client));
    const script = `local fields = redis.call('HGETALL', KEYS[1])
for n = ARGV[1], ARGV[2] do
  local key = KEYS[1] .. redis.sha1hex(tostring(n))
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIREAT', key, ARGV[3])
end`;
    const expiry = String(Date.now() + HOUR_MS);
    for (let from = 1; from <= count; from += BATCH) {
      const words = [String(from), String(Math.min(from + BATCH - 1, count)), expiry];
      await client.sendCommand(["EVAL", script, "1", `{farebox}:p:${IDENTITY}`, ...words]);
    }
    client.destroy();
  },
  async postgres(place, count) {
    const pool = new pg.Pool({ connectionString: place });
    await writeOne(postgresStore(pool));
    await pool.query(
      `INSERT INTO farebox_payments (key, identity, ${COPIED})
       SELECT sha256(n::text::bytea), n || identity, ${COPIED}
       FROM farebox_payments CROSS JOIN generate_series(1, $1::int) AS n WHERE identity = $2`,
      [count, IDENTITY],
    );
    await pool.query("VACUUM ANALYZE farebox_payments");
    await pool.query("CHECKPOINT");
    await pool.end();
  },
  async sqlite(place, count) {
    const database = new Database(place);
    await writeOne(sqliteStore(database));
    database.exec(`
      INSERT INTO farebox_payments (identity, ${COPIED})
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      SELECT lower(hex(randomblob(16))) || identity, ${COPIED}
      FROM farebox_payments, numbers WHERE identity = '${IDENTITY}';
      PRAGMA wal_checkpoint(TRUNCATE)`);
    database.close();
  },
};

/** Of one script in Redis. */
const BATCH = 5_000;
