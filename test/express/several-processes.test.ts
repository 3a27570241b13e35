/** A worker of a real `node:cluster` is warned if its payments are stored in memory. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("cluster.mjs", import.meta.url));

test.each([
  ["a worker of a cluster", "worker", ["FAREBOX_MEMORY_STORE"]],
  ["a process by itself", "alone", []],
])("%s", async (_who, how, codes) => {
  const { stdout } = await run(process.execPath, [SCRIPT, how], { env: { PATH: process.env["PATH"] } });
  expect(JSON.parse(stdout)).toEqual(codes);
});
