/**
 * What depends on the Redis server: its checks, expiry, scripts, notifications.
 *
 * @module
 */
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { CLAIM } from "../claim.fixture.js";
import { type RedisClient, redisStore, type StoreOptions } from "./redis-store.js";
import { hasRedis, type RedisServer, startRedis } from "./server.fixture.js";

const MINUTE_MS = 60_000;
const GRACE_MS = 10 * MINUTE_MS;

/** The usual limit of a call is 5 s, which a busy machine may need. */
function storeOf(client: RedisClient, options: StoreOptions = {}) {
  return redisStore(client, { timeoutMs: 60_000, ...options });
}

describe.skipIf(!hasRedis)("a store in Redis", () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url);
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  const claimOf = (identity: string) => ({ identity, ...CLAIM, owner: "run", expiresAtMs: Date.now() + MINUTE_MS });

  describe("expiry", () => {
    const forgottenAt = (prefix: string, key: string) => client.pexpiretime(`{${prefix}}:${key}`);

    test("Redis forgets a record and its identifier ten minutes after the payment has expired, and no unfinished one", async () => {
      const store = storeOf(client, { prefix: "expiry" });
      const claim = { ...claimOf("p"), identifier: "i" };
      await store.claim(claim);
      const keys = ["p:p", "i:i"];
      const times = () => Promise.all(keys.map((key) => forgottenAt("expiry", key)));
      const atMs = claim.expiresAtMs + GRACE_MS;
      expect(await times()).toEqual([atMs, atMs]);
      await store.transition({ identity: "p", from: "claimed", to: "settling", owner: "run" });
      expect(await times()).toEqual([-1, -1]);
      await store.transition({ identity: "p", from: "settling", to: "unknown", owner: "run" });
      expect(await times()).toEqual([-1, -1]);
      await store.transition({ identity: "p", from: "unknown", to: "settling", owner: "run" });
      await store.transition({ identity: "p", from: "settling", to: "settled", owner: "run" });
      expect(await times()).toEqual([atMs, atMs]);
    });

    test("a settlement that ends long after the expiry is kept for ten minutes from then", async () => {
      const store = storeOf(client, { prefix: "late" });
      await store.claim({ ...claimOf("p"), expiresAtMs: Date.now() - 60 * MINUTE_MS });
      await store.transition({ identity: "p", from: "claimed", to: "settling", owner: "run" });
      await store.transition({ identity: "p", from: "settling", to: "settled", owner: "run" });
      expect(await forgottenAt("late", "p:p")).toBeGreaterThan(Date.now() + GRACE_MS - MINUTE_MS);
    });

    test("no other key of a payment stays", async () => {
      const store = storeOf(client, { prefix: "gone" });
      await store.claim({ ...claimOf("p"), identifier: "i" });
      await store.release("p", "run");
      await store.claim({ ...claimOf("q"), identifier: "i" });
      await store.transition({ identity: "q", from: "claimed", to: "settling", owner: "run" });
      await store.transition({ identity: "q", from: "settling", to: "rejected", owner: "run", identifier: null });
      await store.release("q", "run");
      expect(await client.keys("{gone}:*")).toEqual([]);
    });
  });

  test("Redis forgets no payment that is metering or due, and lists none that was released", async () => {
    const store = storeOf(client, { prefix: "metered" });
    const claim = { ...claimOf("p"), identifier: "i" };
    await store.claim(claim);
    const times = () => Promise.all(["p:p", "i:i"].map((key) => client.pexpiretime(`{metered}:${key}`)));
    const step = { identity: "p", owner: "run" } as const;
    await store.transition({ ...step, from: "claimed", to: "metering" });
    expect(await times()).toEqual([-1, -1]);
    await store.transition({ ...step, from: "metering", to: "settling" });
    await store.transition({ ...step, from: "settling", to: "due" });
    expect(await times()).toEqual([-1, -1]);
    await store.transition({ ...step, from: "due", to: "rejected" });
    const atMs = claim.expiresAtMs + GRACE_MS;
    expect(await times()).toEqual([atMs, atMs]);
    await store.release("p", "run");
    await store.claim(claim);
    await store.transition({ ...step, from: "claimed", to: "metering" });
    await store.release("p", "run");
    expect(await client.keys("{metered}:*")).toEqual([]);
  });

  describe("exposure", () => {
    const entryOf = (at: number) => {
      return {
        identity: `p${at}`,
        payer: `payer ${at % 3}`,
        micros: "5",
        untilMs: Date.now() + MINUTE_MS,
        isDue: true,
      };
    };

    test("leaves no key when the last entry has gone or ended, and Redis forgets all keys of a dead process at once", async () => {
      const { exposure } = storeOf(client, { prefix: "exposed" });
      const keys = () => client.keys("{exposed}:*");
      const [first, second] = [entryOf(1), { ...entryOf(2), untilMs: Date.now() + 2 * MINUTE_MS }];
      for (const entry of [second, first]) await exposure.put(entry, Date.now());
      expect(await keys()).toHaveLength(4);
      const times = await Promise.all((await keys()).map((key) => client.pexpiretime(key)));
      expect(new Set(times)).toEqual(new Set([second.untilMs + GRACE_MS]));
      for (const entry of [first, second]) await exposure.remove(entry);
      expect(await keys()).toEqual([]);
      await exposure.put(first, Date.now());
      await exposure.put({ ...second, untilMs: 0 }, first.untilMs);
      expect(await keys()).toEqual([]);
    });

    test("has exact sums after 2500 entries have ended at once", async () => {
      const { exposure } = storeOf(client, { prefix: "ended" });
      const nowMs = Date.now();
      const put = (at: number) => exposure.put({ ...entryOf(at), untilMs: nowMs + 1_000 }, nowMs);
      await Promise.all(Array.from({ length: 2_500 }, (_, at) => put(at)));
      const last = await exposure.put(entryOf(3_000), nowMs + 1_000);
      expect(last).toEqual({ payer: "5", total: "5", due: ["p3000"] });
    });

    test("is exact beyond 64 bits", async () => {
      const { exposure } = storeOf(client, { prefix: "large" });
      const count = 9_500;
      const put = (at: number) => exposure.put({ ...entryOf(at), micros: "999999999999999", payer: "a" }, Date.now());
      const sums = await Promise.all(Array.from({ length: count }, (_, at) => put(at)));
      expect(sums.at(-1)).toMatchObject({ payer: "9499999999999990500", total: "9499999999999990500" });
      await Promise.all(Array.from({ length: count - 1 }, (_, at) => exposure.remove(entryOf(at))));
      expect(await put(count)).toMatchObject({ payer: "1999999999999998", total: "1999999999999998" });
    });

    test("is an error with a client that does not return what the server says", async () => {
      const { exposure } = storeOf({ sendCommand: async () => null });
      await expect(exposure.put(entryOf(1), 0)).rejects.toThrow(/sendCommand must resolve to the server's reply/);
    });
  });

  test("scripts that the server has forgotten are sent again", async () => {
    const store = storeOf(client, { prefix: "scripts" });
    await store.claim(claimOf("p"));
    await client.script("FLUSH");
    expect(await store.find("p")).toMatchObject({ owner: "run" });
    await client.script("FLUSH");
    expect(await store.claim(claimOf("q"))).toEqual({ kind: "claimed" });
  });

  test("a watcher is told by a notification, and the connection is closed after the last one", async () => {
    const [one, other] = [storeOf(client, { prefix: "told" }), storeOf(client, { prefix: "told" })];
    const before = (await client.client("LIST")) as string;
    // Only a notification can tell the watcher: it does not look by itself.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    for (let at = 0; at < 10; at++) {
      await one.claim(claimOf("p"));
      let tell = (): void => {};
      const told = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const stop = await other.watch!("p", () => tell());
      await one.release("p", "run");
      await told;
      stop();
    }
    const connections = async () => ((await client.client("LIST")) as string).split("\n").length;
    expect(await connections()).toBe(before.split("\n").length + 1);
    vi.advanceTimersByTime(2_000);
    while ((await connections()) !== before.split("\n").length);
  });

  test("a user who may not publish can still settle", async () => {
    await client.acl("SETUSER", "quiet", "on", ">secret", "~*", "+@all", "resetchannels");
    const quiet = new Redis(server.port, "127.0.0.1", { username: "quiet", password: "secret" });
    const store = storeOf(quiet, { prefix: "quiet" });
    await store.claim(claimOf("p"));
    const step = { identity: "p", owner: "run" };
    expect(await store.transition({ ...step, from: "claimed", to: "settling" })).toBe(true);
    expect(await store.transition({ ...step, from: "settling", to: "rejected" })).toBe(true);
    await store.release("p", "run");
    expect(await store.find("p")).toBeUndefined();
    quiet.disconnect();
  });

  describe("ready", () => {
    test("reports a server that may evict or lose records", async () => {
      const store = storeOf(client);
      await client.config("SET", "maxmemory-policy", "allkeys-lru");
      expect(await store.ready()).toEqual([
        { kind: "EVICTION", detail: "maxmemory-policy is allkeys-lru; set it to noeviction" },
      ]);
      await client.config("SET", "maxmemory-policy", "noeviction");
      await client.config("SET", "appendfsync", "no");
      expect(await store.ready()).toEqual([
        { kind: "NOT_DURABLE", detail: "appendfsync is no; set it to everysec or always" },
      ]);
      await client.config("SET", "appendfsync", "everysec");
      await client.config("SET", "appendonly", "no");
      expect(await store.ready()).toEqual([
        { kind: "NOT_DURABLE", detail: expect.stringMatching(/^appendonly is no/) },
      ]);
      await client.config("SET", "appendonly", "yes");
      expect(await store.ready()).toEqual([]);
    });

    test("says that a replica cannot be used, and reports one that can be written", async () => {
      const replica = await startRedis(["--replicaof", "127.0.0.1", String(server.port)]);
      const reader = new Redis(replica.url);
      await expect(storeOf(reader).ready()).rejects.toMatchObject({
        code: "ERR_FAREBOX_STORE",
        message: "the Redis server is a read-only replica: connect to its primary",
      });
      await expect(storeOf(reader).claim(claimOf("p"))).rejects.toThrow(/READONLY.*connect to the primary/);
      await reader.config("SET", "replica-read-only", "no");
      expect(await storeOf(reader).ready()).toEqual([{ kind: "REPLICA", detail: expect.stringMatching(/lags/) }]);
      reader.disconnect();
      await replica.stop();
    });

    test("finds nothing wrong with a server that does not tell its settings", async () => {
      await client.acl("SETUSER", "managed", "on", ">secret", "~*", "&*", "+@all", "-config");
      await client.acl("SETUSER", "silent", "on", ">secret", "~*", "&*", "+@all", "-config", "-info");
      for (const username of ["managed", "silent"]) {
        const managed = new Redis(server.port, "127.0.0.1", { username, password: "secret" });
        expect(await storeOf(managed).ready()).toEqual([]);
        managed.disconnect();
      }
    });

    test("says what a user without rights needs", async () => {
      await client.acl("SETUSER", "poor", "on", ">secret", "~*", "&*", "+info");
      const poor = new Redis(server.port, "127.0.0.1", { username: "poor", password: "secret" });
      await expect(storeOf(poor).ready()).rejects.toThrow(/NOPERM.*the user needs the commands eval/);
      poor.disconnect();
    });

    test("refuses a server that is too old", async () => {
      const sendCommand = async (...words: string[]) => {
        const reply = await client.call(words[0]!, ...words.slice(1));
        return words[0] === "INFO" ? String(reply).replace(/redis_version:.*/, "redis_version:5.0.14") : reply;
      };
      await expect(storeOf({ sendCommand }).ready()).rejects.toThrow(/version 5\.0\.14: use version 6 or later/);
    });

    test("a client that was not connected says so", async () => {
      const store = storeOf(createClient({ url: server.url }));
      await expect(store.ready()).rejects.toThrow(/client is closed.*await client\.connect\(\)/);
      await expect(store.claim(claimOf("p"))).rejects.toThrow(/await client\.connect\(\)/);
    });
  });

  test("errors quote no payment", async () => {
    const store = storeOf(client, { prefix: "quoted" });
    await client.set("{quoted}:p:p", "no hash");
    const claim = Promise.resolve(store.claim({ ...claimOf("p"), binding: "the binding" }));
    const error: Error = await claim.then(
      () => expect.fail("claimed"),
      (each: Error) => each,
    );
    expect(error).toMatchObject({ code: "ERR_FAREBOX_STORE", message: expect.stringMatching(/WRONGTYPE/) });
    expect(error.message + JSON.stringify(error)).not.toMatch(/the binding/);
    expect(error.cause).toBeUndefined();
  });
});

test.each<[what: string, client: unknown]>([
  ["nothing", undefined],
  ["a URL", "redis://localhost"],
  ["an object without sendCommand", { get() {} }],
])("%s instead of a client is refused when the store is created", (_, client) => {
  expect(() => redisStore(client as RedisClient)).toThrow(/^client: expected a client of redis or ioredis/);
});

test("wrong options are refused, all at once", () => {
  const client = { sendCommand: async () => null };
  const options = { prefix: "", timeoutMs: 1, clock: Date.now } as never;
  expect(() => redisStore(client, options)).toThrow(/options\.clock.*options\.prefix.*options\.timeoutMs/s);
});
