/**
 * A listener that is an async function leaves a rejection that nobody handles when its client goes away.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ASYNC_LISTENER = /createServer\(\s*(\{[^}]*\},\s*)?async\b/;

test.each([
  ["createServer(async (req, res) => {", true],
  ["createServer({ keepAliveTimeout: 0 }, async (req, res) => {", true],
  ["createServer(\n  async function respond(req, res) {", true],
  ["createServer(listener(async (req, res) => {", false],
  ["createServer((req, res) => void respond(req, res).catch(() => res.destroy()));", false],
])("%j: %s", (text, isFound) => {
  expect(ASYNC_LISTENER.test(text)).toBe(isFound);
});

test("no server has a listener that is an async function", () => {
  const { stdout } = spawnSync("git", ["ls-files", "-co", "--exclude-standard", "packages", "examples", "test"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const files = stdout
    .split("\n")
    .filter((path) => /\.(ts|mjs|cjs|js)$/.test(path) && path !== "test/source/listeners.test.ts")
    .filter((path) => existsSync(ROOT + path));
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((path) => ASYNC_LISTENER.test(readFileSync(ROOT + path, "utf8")))).toEqual([]);
});
