import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UNFINISHED } from "@farebox/core";
import { createStoreConformance } from "@farebox/testing";
import Libsql from "libsql";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { CLAIM } from "../claim.fixture.js";
import { checksOfClients } from "../client-checks.fixture.js";
import { type SqliteDatabase, sqliteStore } from "./sqlite-store.js";

type Open = (path: string) => SqliteDatabase & { close(): unknown };

/** Node 20 has no `node:sqlite`, and better-sqlite3 13 needs Node 22: `pnpm test:nodes` runs these. */
const isNode22 = Number.parseInt(process.versions.node, 10) >= 22;
const require = createRequire(import.meta.url);

const openNode: Open = (path) => {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite") as {
    DatabaseSync: new (path: string) => ReturnType<Open>;
  };
  return new DatabaseSync(path);
};

const LIBRARIES: Readonly<Record<string, { readonly isHere: boolean; readonly open: Open }>> = {
  libsql: { isHere: true, open: (path) => new Libsql(path) },
  "better-sqlite3": { isHere: isNode22, open: (path) => new (require("better-sqlite3"))(path) },
  "node:sqlite": { isHere: isNode22, open: openNode },
};

const MIB = 1024 * 1024;
/** All checks are made with this one. */
const WHOLE = isNode22 ? "node:sqlite" : "libsql";

const folder = mkdtempSync(join(tmpdir(), "farebox-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());
let files = 0;

for (const [name, { isHere, open }] of Object.entries(LIBRARIES)) {
  describe.skipIf(!isHere)(`a store in SQLite, with ${name}`, () => {
    const checks = createStoreConformance(
      async (clock) => {
        const path = join(folder, `${files++}.db`);
        const databases: ReturnType<Open>[] = [];
        const openStore = async () => {
          const database = open(path);
          databases.push(database);
          return sqliteStore(database, { now: clock.now, timeoutMs: 60_000, maxAnswerBytes: MIB });
        };
        const close = async () => databases.forEach((database) => void database.close());
        return { store: await openStore(), reopen: openStore, join: openStore, close };
      },
      {
        durable: true,
        shared: true,
        renew: true,
        runs: true,
        exposure: true,
        ledger: true,
        keep: true,
        maxAnswerBytes: MIB,
      },
    );
    const own = name === WHOLE ? checks : checksOfClients(checks, false);
    for (const { name: title, run } of own) test(title, () => run());

    test("ready finds no problem in a file, and says that memory is not durable", async () => {
      const [file, memory] = [open(join(folder, `${files++}.db`)), open(":memory:")];
      expect(await sqliteStore(file).ready()).toEqual([]);
      expect(await sqliteStore(memory).ready()).toEqual([
        { kind: "NOT_DURABLE", detail: "the database is in memory; open a file" },
      ]);
      for (const database of [file, memory]) database.close();
    });

    test("a file that another connection has locked rejects a call within the time limit, without holding up the process", async () => {
      const path = join(folder, `${files++}.db`);
      const databases = [open(path), open(path), open(join(folder, `${files++}.db`))] as const;
      const [first, second, another] = databases;
      vi.useFakeTimers({ toFake: ["performance"] });
      const [store, free] = [sqliteStore(first, { timeoutMs: 1_000 }), sqliteStore(another)];
      second.exec("BEGIN IMMEDIATE");
      const claim = { identity: "p", ...CLAIM, owner: "run", expiresAtMs: Date.now() };
      const ends: string[] = [];
      const refused = Promise.resolve(store.claim(claim)).finally(() => ends.push("refused"));
      refused.catch(() => {});
      expect(await free.claim(claim)).toEqual({ kind: "claimed" });
      expect(ends).toEqual([]);
      vi.advanceTimersByTime(1_001);
      await expect(refused).rejects.toThrow(/another process has locked the file for 1000 ms/);
      second.exec("ROLLBACK");
      expect(await store.claim(claim)).toEqual({ kind: "claimed" });
      for (const database of databases) database.close();
    });

    test("ready says that another file lies at the path by now", async () => {
      const path = join(folder, `${files++}.db`);
      const database = open(path);
      const store = sqliteStore(database);
      expect(await store.ready()).toEqual([]);
      renameSync(path, `${path}.old`);
      await expect(store.ready()).rejects.toThrow(/was removed or replaced: restart the process/);
      const other = open(path);
      sqliteStore(other);
      await expect(store.ready()).rejects.toThrow(/was removed or replaced: restart the process/);
      for (const each of [database, other]) each.close();
    });

    test("a database that is closed says so", async () => {
      const database = open(join(folder, `${files++}.db`));
      const store = sqliteStore(database);
      database.close();
      await expect(store.find("p")).rejects.toMatchObject({ code: "ERR_FAREBOX_STORE" });
      await expect(store.ready()).rejects.toMatchObject({ code: "ERR_FAREBOX_STORE" });
    });
  });
}

test.each<[what: string, database: unknown]>([
  ["nothing", undefined],
  ["a path", "payments.db"],
  ["an object without prepare", { exec() {} }],
  ["a database with promises", { exec: async () => {}, prepare: () => ({ get: async () => ({ one: 1 }) }) }],
])("%s instead of a database is refused when the store is created", (_, database) => {
  expect(() => sqliteStore(database as SqliteDatabase)).toThrow(/^database: expected a database of node:sqlite/);
});

test("a table that was removed is an error that says so", async () => {
  const database = new Libsql(join(folder, `${files++}.db`));
  const store = sqliteStore(database);
  database.exec("DROP TABLE farebox_payments");
  await expect(store.ready()).rejects.toThrow(/no such table.*restart the process/);
  database.close();
});

test("a file of a version without a ledger gets one when it is opened, and keeps its payments", async () => {
  const path = join(folder, `${files++}.db`);
  const [before, after] = [new Libsql(path), new Libsql(path)];
  const step = { identity: "p", owner: "run" } as const;
  await sqliteStore(before).claim({ ...step, ...CLAIM, expiresAtMs: Date.now() + 60_000 });
  for (const table of ["ledger", "ledger_counts", "ledger_cursors"]) before.exec(`DROP TABLE farebox_${table}`);
  before.close();
  const store = sqliteStore(after);
  await store.transition({ ...step, from: "claimed", to: "settling" });
  expect(await store.find("p")).toMatchObject({ state: "settling" });
  expect(await store.ledger.list({ limit: 5 })).toEqual([]);
  after.close();
});

test("a file of a version that kept no fields of the request gets them when it is opened, and keeps its payments", async () => {
  const path = join(folder, `${files++}.db`);
  const [before, after] = [new Libsql(path), new Libsql(path)];
  const claim = { ...CLAIM, identity: "p", owner: "run", expiresAtMs: Date.now() + 60_000 };
  await sqliteStore(before).claim(claim);
  for (const column of ["mode", "route", "method", "target", "has_body", "mark"]) {
    before.exec(`ALTER TABLE farebox_payments DROP COLUMN ${column}`);
  }
  before.close();
  const store = sqliteStore(after);
  expect(await store.ready()).toEqual([]);
  const unsaid = { mode: "after", route: "", method: "", target: "", hasBody: false };
  expect(await store.find("p")).toEqual({ ...claim, ...unsaid, state: "claimed" });
  const other = { ...claim, identity: "q", hasBody: true };
  expect(await store.claim(other)).toEqual({ kind: "claimed" });
  expect(await store.find("q")).toEqual({ ...other, state: "claimed" });
  after.close();
});

test("a table of another application is an error that says so", () => {
  const database = new Libsql(join(folder, `${files++}.db`));
  database.exec("CREATE TABLE farebox_payments (id INTEGER)");
  expect(() => sqliteStore(database)).toThrow(/a table of this name is not the store's.*set another prefix/);
  database.close();
});

test("old rows are deleted in small batches by later claims, and unfinished ones stay", async () => {
  const database = new Libsql(join(folder, `${files++}.db`));
  let nowMs = Date.now();
  const store = sqliteStore(database, { now: () => nowMs });
  const expiresAtMs = nowMs + 60_000;
  const claim = (identity: string) => store.claim({ identity, ...CLAIM, owner: "run", expiresAtMs });
  for (let at = 0; at < 500; at++) await claim(`p${at}`);
  await store.transition({ identity: "p0", from: "claimed", to: "settling", owner: "run" });
  nowMs += 12 * 60_000;
  for (let at = 0; at < 5; at++) await claim(`later ${at}`);
  await store.find("p");
  const rows = database.prepare("SELECT identity FROM farebox_payments WHERE identity LIKE 'p%'").all();
  expect(rows).toEqual([expect.objectContaining({ identity: "p0" })]);
  database.close();
});

test("a file of a version that knew fewer unfinished states is updated, and its records are kept", async () => {
  const database = new Libsql(join(folder, `${files++}.db`));
  const before = sqliteStore(database);
  const step = { identity: "p", owner: "run" } as const;
  await before.claim({ ...step, ...CLAIM, expiresAtMs: Date.now() + 60_000 });
  await before.transition({ ...step, from: "claimed", to: "settling" });
  const old = "'settling', 'unknown'";
  database.exec(`
    DROP TABLE farebox_exposure;
    DROP TABLE farebox_exposure_sums;
    DROP INDEX farebox_payments_open;
    DROP INDEX farebox_payments_ended;
    CREATE INDEX farebox_payments_unfinished ON farebox_payments (identity) WHERE state IN (${old});
    CREATE INDEX farebox_payments_forget ON farebox_payments (forget_at_ms) WHERE state NOT IN (${old})`);
  const store = sqliteStore(database);
  const records = [];
  for await (const record of store.unfinished()) records.push(record);
  expect(records).toEqual([await store.find("p")]);
  const entry = { identity: "p", payer: "a", micros: "5", untilMs: 2, isDue: true };
  expect(await store.exposure.put(entry, 1)).toEqual({ payer: "5", total: "5", due: ["p"] });
  const states = UNFINISHED.map((state) => `'${state}'`).join(", ");
  for (const [condition, index] of [
    [`state IN (${states}) AND identity > 'a' ORDER BY identity`, "farebox_payments_open"],
    [`forget_at_ms <= 1 AND state NOT IN (${states})`, "farebox_payments_ended"],
  ]) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN SELECT * FROM farebox_payments WHERE ${condition}`).all();
    expect(JSON.stringify(plan)).toContain(index);
  }
  // A process of that version deletes no payment that is due.
  await store.transition({ ...step, from: "settling", to: "due" });
  database.exec(
    `DELETE FROM farebox_payments WHERE state NOT IN (${old}) AND forget_at_ms <= ${Date.now() + 86_400_000}`,
  );
  expect(await store.find("p")).toMatchObject({ state: "due" });
  database.close();
});

test("ended exposure is removed by later calls, and no sum of nothing stays", async () => {
  const database = new Libsql(join(folder, `${files++}.db`));
  let nowMs = Date.now();
  const store = sqliteStore(database, { now: () => nowMs });
  const entryOf = (at: number) => ({ identity: `p${at}`, payer: `payer ${at}`, micros: "5", untilMs: nowMs + 60_000 });
  const put = (at: number) => store.exposure.put({ ...entryOf(at), isDue: false }, nowMs);
  const rows = (table: string) => database.prepare(`SELECT micros FROM farebox_${table}`).all();
  await Promise.all(Array.from({ length: 1_200 }, (_, at) => put(at)));
  expect(rows("exposure_sums")).toHaveLength(1_201);
  nowMs += 60_000;
  expect(await put(2_000)).toEqual({ payer: "5", total: "5", due: [] });
  expect(rows("exposure")).toHaveLength(1);
  expect(rows("exposure_sums")).toHaveLength(2);
  nowMs += 60_000;
  for (const identity of ["a", "b"]) await store.claim({ identity, ...CLAIM, owner: "run", expiresAtMs: nowMs });
  await store.find("a");
  expect([rows("exposure"), rows("exposure_sums")]).toEqual([[], []]);
  database.close();
});
