/**
 * Servers that are stopped, or that hang: each call rejects within its time limit, and the store works again afterwards.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import type { PaymentStore } from "@farebox/core";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import { postgresStore } from "./postgres/postgres-store.js";
import { startPostgres } from "./postgres/server.fixture.js";
import {
  type Connect,
  connectIoredis5,
  connectIoredis6,
  connectRedis5,
  connectRedis6,
} from "./redis/clients.fixture.js";
import { redisStore } from "./redis/redis-store.js";
import { hasRedis, startRedis } from "./redis/server.fixture.js";

const LIMIT_MS = 2_000;

/** The machine may be busy; a call that hangs takes forever. */
const LEEWAY_MS = 4_000;

const CLIENTS: readonly (readonly [string, Connect])[] = [
  ["redis 6", connectRedis6],
  ["redis 5", connectRedis5],
  ["ioredis 6", connectIoredis6],
  ["ioredis 5", connectIoredis5],
];

describe.skipIf(!hasRedis)("a store in Redis", () => {
  test.concurrent.each(CLIENTS)(
    "rejects in time while the server hangs, and works when it goes on, with %s",
    async (_, connect) => {
      const server = await startRedis();
      const { client, end } = await connect(server.port);
      const store = redisStore(client, { timeoutMs: LIMIT_MS });
      await store.find("p");
      server.pause();
      await demandRejections(store, /did not respond within 2000 ms/);
      server.resume();
      await demandWorks(store);
      store.close();
      end();
      await server.stop();
    },
  );

  test.concurrent.each(CLIENTS)(
    "rejects in time while the server is gone, and works when it is back, with %s",
    async (_, connect) => {
      const server = await startRedis();
      const { client, end } = await connect(server.port);
      const store = redisStore(client, { timeoutMs: LIMIT_MS });
      const claim = claimOf("kept");
      await store.claim(claim);
      const stop = await store.watch!("kept", () => {});
      await server.kill();
      await demandRejections(store, /./);
      await server.restart();
      await demandWorks(store);
      expect(await store.find("kept")).toMatchObject({ owner: "run", state: "claimed" });
      stop();
      store.close();
      end();
      await server.stop();
    },
  );
});

describe("a store in PostgreSQL", () => {
  test("rejects in time while the server hangs or is gone, and works when it goes on", {
    timeout: 60_000,
  }, async () => {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url, max: 20 });
    const store = postgresStore(pool, { timeoutMs: LIMIT_MS });
    await store.migrate();
    await store.claim(claimOf("kept"));
    const stop = await store.watch!("kept", () => {});
    const processes = [server.pid, ...childrenOf(server.pid)];
    for (const pid of processes) process.kill(pid, "SIGSTOP");
    await demandRejections(store, /did not respond within 2000 ms/);
    for (const pid of processes) process.kill(pid, "SIGCONT");
    await demandWorks(store);
    expect(await store.find("kept")).toMatchObject({ owner: "run" });
    stop();
    await store.close();
    await server.stop();
    await demandRejections(store, /./);
    await pool.end();
  });
});

function claimOf(identity: string) {
  return { identity, binding: "b", owner: "run", expiresAtMs: Date.now() + 60_000 };
}

async function demandRejections(store: PaymentStore, message: RegExp): Promise<void> {
  const calls = [
    () => store.claim(claimOf("hangs")),
    () => store.find("hangs"),
    () => store.transition({ identity: "kept", from: "claimed", to: "settling", owner: "nobody" }),
    () => store.keep!("name", "value"),
    () => store.ready!(),
  ];
  const start = performance.now();
  // It may succeed where the break of an open connection was not noticed yet.
  const watching = Promise.allSettled([(async () => (await store.watch!("kept", () => {}))())()]);
  await Promise.all(
    calls.map((call) =>
      expect(call()).rejects.toMatchObject({ code: "ERR_FAREBOX_STORE", message: expect.stringMatching(message) }),
    ),
  );
  await watching;
  expect(performance.now() - start).toBeLessThan(LIMIT_MS + LEEWAY_MS);
}

/** The client connects again in its own time. A claim that came too late was given back. */
async function demandWorks(store: PaymentStore): Promise<void> {
  await vi.waitFor(async () => expect(await store.claim(claimOf("hangs"))).toEqual({ kind: "claimed" }), {
    timeout: 15_000,
  });
}

function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}
