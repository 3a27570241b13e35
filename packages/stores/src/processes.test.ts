/**
 * Several processes on one store: each payment has one winner.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PaymentStore } from "@farebox/core";
import { Redis } from "ioredis";
import Libsql from "libsql";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { postgresStore } from "./postgres/postgres-store.js";
import { startPostgres } from "./postgres/server.fixture.js";
import { redisStore } from "./redis/redis-store.js";
import { hasRedis, startRedis } from "./redis/server.fixture.js";
import { sqliteStore } from "./sqlite/sqlite-store.js";

const CLAIMANT = fileURLToPath(new URL("../scripts/claimant.mjs", import.meta.url));
const PAYMENTS = 200;

interface Claimed {
  readonly owner: string;
  readonly identities: readonly string[];
}

describe("eight processes that claim the same 200 payments at once, and put the exposure of 25 payments each", () => {
  test.skipIf(!hasRedis)("get each once, see each other, and leave nothing when they die, in Redis", async () => {
    const server = await startRedis();
    const client = new Redis(server.url);
    await demandOfEight("redis", server.url, () => redisStore(client));
    client.disconnect();
    await server.stop();
  });

  test("get each once, see each other, and leave nothing when they die, in PostgreSQL", async () => {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url });
    await demandOfEight("postgres", server.url, () => postgresStore(pool));
    await pool.end();
    await server.stop();
  });

  test("get each once, see each other, and leave nothing when they die, in an SQLite file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "farebox-sqlite-"));
    const path = join(folder, "payments.db");
    // The processes open the file at the same time, before it exists.
    await demandOfEight("libsql", path, () => sqliteStore(new Libsql(path)));
    rmSync(folder, { recursive: true });
  });
});

/** Node 20 has no `node:sqlite`, and better-sqlite3 13 needs Node 22: `pnpm test:nodes` runs these. */
const isNode22 = Number.parseInt(process.versions.node, 10) >= 22;

for (const library of ["libsql", "better-sqlite3", "node:sqlite"]) {
  test.skipIf(library !== "libsql" && !isNode22)(
    `three processes that open a new SQLite file at once with ${library} do not die of a locked database`,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "farebox-sqlite-"));
      for (let round = 0; round < 3; round++) {
        const [claimed] = await askAtOnce(library, join(folder, `${round}.db`), 3, [20]);
        expect((claimed as readonly Claimed[]).flatMap(({ identities }) => identities).length).toBe(20);
      }
      rmSync(folder, { recursive: true });
    },
  );
}

async function demandOfEight(library: string, place: string, open: () => PaymentStore): Promise<void> {
  const [processes, count, untilMs] = [8, 25, Date.now() + 600_000];
  const [claimed, exposed] = await askAtOnce(library, place, processes, [PAYMENTS, { count, untilMs }]);
  const store = open();
  await demandOneWinnerEach(store, claimed as readonly Claimed[]);
  const totals = (exposed as { totals: readonly number[] }[]).flatMap((seen) => seen.totals);
  // One after another, so each sees one more than the one before.
  expect(totals.sort((one, other) => one - other)).toEqual(
    Array.from({ length: processes * count }, (_, at) => at + 1),
  );
  const { exposure } = store;
  const entry = { identity: "own", payer: "payer 0", micros: "100", untilMs: untilMs + 1, isDue: false };
  expect(await exposure?.put(entry, untilMs - 1)).toEqual({ payer: `${100 + processes}`, total: "300", due: [] });
  expect(await exposure?.put(entry, untilMs)).toEqual({ payer: "100", total: "100", due: [] });
}

async function demandOneWinnerEach(store: PaymentStore, claimed: readonly Claimed[]): Promise<void> {
  const winners = new Map(claimed.flatMap(({ owner, identities }) => identities.map((each) => [each, owner] as const)));
  expect(claimed.flatMap(({ identities }) => identities).length).toBe(PAYMENTS);
  expect(winners.size).toBe(PAYMENTS);
  for (const [identity, owner] of winners) expect(await store.find(identity)).toMatchObject({ owner });
}

/** Starts processes, asks all of them each question at once, and kills them. Returns what they send, by question. */
async function askAtOnce(
  library: string,
  place: string,
  count: number,
  questions: readonly (number | object)[],
): Promise<readonly (readonly unknown[])[]> {
  const claimants = Array.from({ length: count }, () => fork(CLAIMANT, [library, place], { stdio: "ignore" }));
  const seen: (readonly unknown[])[] = [];
  try {
    await Promise.all(claimants.map(nextMessage));
    for (const question of questions) {
      const responses = claimants.map(nextMessage);
      for (const claimant of claimants) claimant.send(question);
      seen.push(await Promise.all(responses));
    }
    return seen;
  } finally {
    for (const claimant of claimants) {
      const exited = once(claimant, "exit");
      claimant.kill("SIGKILL");
      await exited;
    }
  }
}

async function nextMessage(claimant: ChildProcess): Promise<unknown> {
  const [message] = await once(claimant, "message");
  if (typeof message === "object" && "error" in message) throw new Error(message.error);
  return message;
}
