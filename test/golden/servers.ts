/**
 * Real stores: a server of Redis, one of PostgreSQL, or files of SQLite, for one sequence after the other.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "@farebox/stores/postgres";
import { redisStore } from "@farebox/stores/redis";
import { sqliteStore } from "@farebox/stores/sqlite";
import Libsql from "libsql";
import pg from "pg";
import { createClient } from "redis";
import { startPostgres } from "../../packages/stores/src/postgres/server.fixture.js";
import { startRedis } from "../../packages/stores/src/redis/server.fixture.js";
import type { Kind } from "./plan.js";
import { shelf, type Warehouse } from "./stores.js";

/** Starts what a kind of store needs. */
export function openServer(kind: Exclude<Kind, "memory" | "processes">): Promise<Warehouse> {
  if (kind === "redis") return openRedis();
  return kind === "postgres" ? openPostgres() : openSqlite();
}

async function openRedis(): Promise<Warehouse> {
  const server = await startRedis();
  const clients = [createClient({ url: server.url }), createClient({ url: server.url })] as const;
  for (const client of clients) await client.connect();
  let sequences = 0;
  return {
    async open(now) {
      const prefix = `golden${++sequences}`;
      let processes = 0;
      const stores: { close(): void }[] = [];
      const connect = () => {
        const store = redisStore(clients[processes++ % 2] ?? clients[0], { prefix, now });
        stores.push(store);
        return store;
      };
      const close = async () => {
        for (const store of stores) store.close();
      };
      return shelf({ base: redisStore(clients[0], { prefix, now }), connect, close });
    },
    async close() {
      for (const client of clients) client.destroy();
      await server.stop();
    },
  };
}

async function openPostgres(): Promise<Warehouse> {
  const server = await startPostgres();
  const settings = { connectionString: server.url, options: "-c synchronous_commit=off", idleTimeoutMillis: 0, max: 4 };
  const pools = [new pg.Pool(settings), new pg.Pool(settings)] as const;
  let sequences = 0;
  return {
    async open(now) {
      // Tables of its own: what a store of an earlier sequence still does, such as to sweep, has another clock.
      const prefix = `golden${++sequences}`;
      await postgresStore(pools[0], { prefix, now }).migrate();
      let processes = 0;
      const stores: { close(): void }[] = [];
      const connect = () => {
        const store = postgresStore(pools[processes++ % 2] ?? pools[0], { prefix, now });
        stores.push(store);
        return store;
      };
      const close = async () => {
        for (const store of stores) store.close();
      };
      return shelf({ base: postgresStore(pools[0], { prefix, now }), connect, close });
    },
    async close() {
      for (const pool of pools) await pool.end();
      await server.stop();
    },
  };
}

async function openSqlite(): Promise<Warehouse> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-golden-"));
  let sequences = 0;
  return {
    async open(now) {
      const path = join(folder, `${++sequences}.db`);
      const databases: { close(): unknown }[] = [];
      const connect = () => {
        const database = new Libsql(path);
        databases.push(database);
        return sqliteStore(database, { now });
      };
      const close = async () => {
        for (const database of databases) database.close();
        for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
      };
      return shelf({ base: connect(), connect, close });
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
