/**
 * What a seller loads stays small: bundled and minified, each entry is within its limit.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Measured {
  readonly name: string;
  readonly size: number;
  readonly sizeLimit: number;
}

test("no entry is larger than .size-limit.json allows", async () => {
  // It exits with 1 when something is; what is compared here says what.
  const { stdout } = await run("node_modules/.bin/size-limit", ["--json"], { cwd: ROOT }).catch((error) => error);
  const measured: readonly Measured[] = JSON.parse(stdout);
  expect(measured.length).toBeGreaterThan(0);
  for (const { name, size, sizeLimit } of measured) {
    expect(size, name).toBeGreaterThan(10_000);
    expect(size, name).toBeLessThanOrEqual(sizeLimit);
  }
});
