/** What V8 keeps of paid requests that are over: by what Node says of its garbage collections. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("garbage.mjs", import.meta.url));
const REQUESTS = 1_500;

/** A payment is remembered, in some 700 bytes. Express alone leaves 8 kB of each request until a full collection. */
const MOST_BYTES_KEPT = 2_000;

/** From Node 24 on nothing is gained by it. */
const MAKES_DICTIONARIES = Number.parseInt(process.versions.node, 10) < 24;

test("a request that is over is gone with the next small collection", async () => {
  const flags = ["--trace-gc-nvp", "--allow-natives-syntax"];
  const { stdout } = await run(process.execPath, [...flags, SCRIPT, String(REQUESTS)], {
    env: { PATH: process.env["PATH"], NODE_ENV: "production" },
    maxBuffer: 64 * 1024 * 1024,
  });
  const [, counted = ""] = stdout.split("\nwarm\n");
  const kept = counted.split("\n").flatMap((line) => (line.includes(" gc=s ") ? [promotedIn(line)] : []));
  expect(kept.length).toBeGreaterThan(3);
  const bytes = kept.reduce((sum, one) => sum + one, 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes / REQUESTS).toBeLessThan(MOST_BYTES_KEPT);
  const seen: unknown = JSON.parse(counted.trim().split("\n").at(-1) ?? "");
  // Of a server only the first request is not met before its app.
  if (MAKES_DICTIONARIES) expect(seen).toEqual({ fast: [], fastBefore: 1 });
  else expect(seen).toEqual({ fast: ["/free", "/paid"], fastBefore: 2 * REQUESTS + 2 });
});

function promotedIn(line: string): number {
  return Number(/ promoted=(\d+) /.exec(line)?.[1]);
}
