/**
 * Builds, and then checks what no test does, two checks at a time: most of them use one core. What a check prints is shown when it has ended.
 *
 * Usage: `pnpm check`
 *
 * @module
 */
import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { text } from "node:stream/consumers";
import { ROOT } from "./pack.mjs";

/** The longest ones first. */
const CHECKS = [
  ["test/scripts/check-packages.mjs"],
  ["node_modules/knip/bin/knip.js", "--no-progress", "--no-config-hints"],
  ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."],
  ["test/scripts/check-layers.mjs"],
  ["packages/core/scripts/generate-validators.mjs", "--check"],
  ["packages/paywall/scripts/generate-page.mjs", "--check"],
];

const { status } = spawnSync(process.execPath, ["packages/build.mjs", "test", "examples"], {
  cwd: ROOT,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
if (process.exitCode === 0) {
  const waiting = [...CHECKS];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await check(next);
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism() - 1) }, work));
}

async function check(argv) {
  const child = spawn(process.execPath, argv, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => void child.once("close", resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  console.log(`== node ${argv.join(" ")}`);
  process.stdout.write(out);
  process.stderr.write(err);
  if (code === 0) return;
  console.error(`failed: node ${argv.join(" ")}`);
  process.exitCode = 1;
}
