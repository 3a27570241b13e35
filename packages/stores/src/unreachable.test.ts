/**
 * Servers that are stopped, or that hang: each call rejects at its time limit, and the store works again afterwards.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import type { PaymentStore } from "@farebox/core";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { CLAIM } from "./claim.fixture.js";
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

/** Of the stores whose calls are to be rejected. The servers hang for longer, however long that takes. */
const LIMIT_MS = 300;

/** Of the stores whose calls are to succeed, however busy the machine is. */
const PATIENT = { timeoutMs: 60_000 };

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
      const [store, patient] = [redisStore(client, { timeoutMs: LIMIT_MS }), redisStore(client, PATIENT)];
      await patient.find("p");
      server.pause();
      await demandRejections(store, /did not respond within 300 ms/);
      server.resume();
      await demandWorks(patient);
      for (const each of [store, patient]) each.close();
      end();
      await server.stop();
    },
  );

  test.concurrent.each(CLIENTS)(
    "rejects in time while the server is gone, and works when it is back, with %s",
    async (_, connect) => {
      const server = await startRedis();
      const { client, end } = await connect(server.port);
      const [store, patient] = [redisStore(client, { timeoutMs: LIMIT_MS }), redisStore(client, PATIENT)];
      await patient.claim(claimOf("kept"));
      const stop = await patient.watch!("kept", () => {});
      await server.kill();
      await demandRejections(store, /./);
      await server.restart();
      await demandWorks(patient);
      expect(await patient.find("kept")).toMatchObject({ owner: "run", state: "claimed" });
      stop();
      for (const each of [store, patient]) each.close();
      end();
      await server.stop();
    },
  );
});

describe("a store in PostgreSQL", () => {
  test("rejects in time while the server hangs or is gone, and works when it goes on", async () => {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url, max: 20 });
    const [store, patient] = [postgresStore(pool, { timeoutMs: LIMIT_MS }), postgresStore(pool, PATIENT)];
    await patient.migrate();
    await patient.claim(claimOf("kept"));
    const stop = await patient.watch!("kept", () => {});
    const processes = [server.pid, ...childrenOf(server.pid)];
    for (const pid of processes) process.kill(pid, "SIGSTOP");
    await demandRejections(store, /did not respond within 300 ms/);
    for (const pid of processes) process.kill(pid, "SIGCONT");
    await demandWorks(patient);
    expect(await patient.find("kept")).toMatchObject({ owner: "run" });
    stop();
    for (const each of [store, patient]) await each.close();
    await server.stop();
    await demandRejections(store, /./);
    await pool.end();
  });
});

function claimOf(identity: string) {
  return { identity, ...CLAIM, owner: "run", expiresAtMs: Date.now() + 60_000 };
}

async function demandRejections(store: PaymentStore, message: RegExp): Promise<void> {
  const calls = [
    () => store.claim(claimOf("hangs")),
    () => store.find("hangs"),
    () => store.transition({ identity: "kept", from: "claimed", to: "settling", owner: "nobody" }),
    () => store.keep!("name", "value"),
    () => store.ready!(),
  ];
  // It may succeed where the break of an open connection was not noticed yet.
  const watching = Promise.allSettled([(async () => (await store.watch!("kept", () => {}))())()]);
  await Promise.all(
    calls.map((call) =>
      expect(call()).rejects.toMatchObject({ code: "ERR_FAREBOX_STORE", message: expect.stringMatching(message) }),
    ),
  );
  await watching;
}

/** The client connects again in its own time. A claim that came too late was given back. */
async function demandWorks(store: PaymentStore): Promise<void> {
  for (let kind = ""; kind !== "claimed"; ) {
    await new Promise(setImmediate);
    kind = await Promise.resolve(store.claim(claimOf("hangs"))).then(
      (claimed) => claimed.kind,
      () => "rejected",
    );
  }
}

function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}
