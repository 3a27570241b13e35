import { createStoreConformance } from "@farebox/testing";
import { Redis as Ioredis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLAIM } from "../claim.fixture.js";
import { checksOfClients } from "../client-checks.fixture.js";
import { CLIENTS, CLUSTERS, type Connect, type Connected } from "./clients.fixture.js";
import { type RedisClient, redisStore } from "./redis-store.js";
import { hasRedis, type RedisServer, startRedis } from "./server.fixture.js";

const MIB = 1024 * 1024;

let stores = 0;

/** All checks are made with these: of one server, and of a cluster, and of both libraries. */
const WHOLE = ["redis 6", "a cluster of ioredis 6"];

describe.skipIf(!hasRedis)("a store in Redis", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const [name, connect] of Object.entries(CLIENTS)) describeClient(name, connect, () => server);
});

describe.skipIf(!hasRedis)("a store in a Redis cluster", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
    const client = await createClient({ url: server.url }).connect();
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    while (!/cluster_state:ok/.test(String(await client.sendCommand(["CLUSTER", "INFO"])))) await client.ping();
    client.destroy();
  });
  afterAll(() => server.stop());

  for (const [name, connect] of Object.entries(CLUSTERS)) describeClient(name, connect, () => server);
});

describe("a client that cannot be used", () => {
  test.each<[what: string, client: unknown]>([
    ["nothing", undefined],
    ["a URL", "redis://localhost"],
    ["a function", () => {}],
    ["an object without sendCommand", { get() {} }],
  ])("%s is refused when the store is created", (_, client) => {
    expect(() => redisStore(client as RedisClient)).toThrow(/^client: expected a client of redis or ioredis/);
  });

  test("one that does not return what the server says is an error at ready and at a claim", async () => {
    const store = redisStore({ sendCommand: async () => null });
    const claim = { identity: "p", ...CLAIM, owner: "run", expiresAtMs: Date.now() };
    for (const call of [() => store.ready(), () => store.claim(claim), () => store.find("p")]) {
      await expect(call()).rejects.toThrow(/sendCommand must resolve to the server's reply/);
    }
  });

  test("one whose server is not there says so, with the address and a remedy", async () => {
    const client = new Ioredis({ port: 1, maxRetriesPerRequest: 0, retryStrategy: () => null });
    await expect(redisStore(client).ready()).rejects.toThrow(/ECONNREFUSED|closed/);
    client.disconnect();
    const parts = ["::1", "127.0.0.1"].map((host) => new Error(`connect ECONNREFUSED ${host}:1`));
    const store = redisStore({ sendCommand: () => Promise.reject(new AggregateError(parts)) });
    await expect(store.ready()).rejects.toThrow(/ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1: check that the/);
  });
});

function describeClient(name: string, connect: Connect, server: () => RedisServer): void {
  describe(name, () => {
    const connected: Connected[] = [];
    beforeAll(async () => {
      for (let at = 0; at < 2; at++) connected.push(await connect(server().port));
    });
    afterAll(() => connected.forEach(({ end }) => void end()));

    const canWatch = !["{ sendCommand }", "a pool of redis 6"].includes(name);
    const checks = createStoreConformance(
      async () => {
        const prefix = `farebox${stores++}`;
        const opened: ReturnType<typeof redisStore>[] = [];
        const open = async (at: number) => {
          const store = redisStore(connected[at]!.client, { prefix, timeoutMs: 60_000, maxAnswerBytes: MIB });
          opened.push(store);
          return store;
        };
        return {
          store: await open(0),
          reopen: () => open(0),
          join: () => open(1),
          close: async () => opened.forEach((store) => void store.close()),
        };
      },
      {
        durable: true,
        shared: true,
        ownClock: true,
        renew: true,
        watch: canWatch,
        runs: true,
        exposure: true,
        ledger: true,
        keep: true,
        maxAnswerBytes: MIB,
      },
    );
    const own = WHOLE.includes(name) ? checks : checksOfClients(checks, canWatch);
    for (const { name: title, run } of own) test(title, () => run());

    test("ready finds no problem on a server that keeps everything", async () => {
      expect(await redisStore(connected[0]!.client).ready()).toEqual([]);
    });
  });
}
