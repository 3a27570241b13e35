/**
 * A Redis server for tests, on a free port, with files in a folder of its own.
 *
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A running server. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Stops it where it is, and lets it go on. */
  pause(): void;
  resume(): void;
  /** Kills it, and keeps its files. */
  kill(): Promise<void>;
  /** Starts it again, with its files. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Whether there is a server to start. Says how to get one if there is none. */
export const hasRedis: boolean = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedis) {
  process.stderr.write(
    "SKIPPED: the tests of Redis need redis-server: apt-get install -y --no-install-recommends redis-server\n",
  );
}

/** Starts a server with an append-only file. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-redis-"));
  const port = await freePort();
  const argv = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"].map(
    String,
  );
  let server: ChildProcess;
  const start = async () => {
    server = spawn("redis-server", [...argv, ...settings], { stdio: "ignore" });
    await untilListening(port, server);
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pause: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
    kill,
    restart: start,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}
