/** A worker of a real `node:cluster` is warned if its payments are stored in memory. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("cluster.mjs", import.meta.url));

const WORKER = "a worker of a cluster";

/** Three sets of options in one process, as an app with several routers has. */
async function start(how: string, environment: Readonly<Record<string, string>>) {
  const env = { PATH: process.env["PATH"], ...environment };
  const { stdout, stderr } = await run(process.execPath, [SCRIPT, how], { env });
  return { codes: JSON.parse(stdout), printed: stderr.split("\n").filter((line) => line !== "") };
}

test.each<[who: string, how: string, environment: Record<string, string>]>([
  [WORKER, "worker", {}],
  [`${WORKER} in production`, "worker", { NODE_ENV: "production" }],
  [`${WORKER} in a test`, "worker", { NODE_ENV: "test" }],
  ["a process of PM2 in production", "alone", { NODE_ENV: "production", NODE_APP_INSTANCE: "1", pm_id: "1" }],
])(
  "%s with a store in memory is warned by the logger and by the process, once each",
  async (_who, how, environment) => {
    const { codes, printed } = await start(how, environment);
    expect(codes).toEqual(Array.from({ length: 3 }, () => ["FAREBOX_MEMORY_STORE"]));
    expect(printed.filter((line) => line.startsWith("[farebox]"))).toEqual([
      expect.stringMatching(/^\[farebox\] FAREBOX_MEMORY_STORE · .*(node:cluster|PM2)/),
    ]);
    expect(printed.filter((line) => line.includes("FareboxWarning"))).toEqual([
      expect.stringMatching(/\[FAREBOX_MEMORY_STORE\] FareboxWarning: .*(node:cluster|PM2).* Set a store/),
    ]);
  },
);

test("a worker of a cluster whose store in memory was chosen gets no process warning", async () => {
  const { codes, printed } = await start("chosen", { NODE_ENV: "production", NODE_APP_INSTANCE: "1" });
  expect(codes).toEqual(Array.from({ length: 3 }, () => ["FAREBOX_MEMORY_STORE"]));
  expect(printed).toEqual([expect.stringMatching(/^\[farebox\] FAREBOX_MEMORY_STORE · /)]);
});

test("a process by itself is not warned", async () => {
  expect(await start("alone", { NODE_ENV: "production" })).toEqual({ codes: [[], [], []], printed: [] });
});
