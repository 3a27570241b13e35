/**
 * Runs all of `pnpm test` three times in a row while four busy loops keep the cores at work and the disk is being written. A test that
 * fails here depends on how fast the machine is.
 *
 * Usage: `pnpm test:busy [--runs 3] [file ...]`
 *
 * @module
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { countResults } from "./count-results.mjs";
import { runOn } from "./nodes.mjs";

const LOOPS = 4;
/** Written over and over, so that the disk stays busy and does not fill. */
const FILE_BYTES = 256 * 1024 * 1024;
const PART = Buffer.alloc(1024 * 1024, "busy");
const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];

if (isMainThread) await main();
else if (workerData === "compute") compute();
else writeForEver(workerData);

async function main() {
  const { values, positionals } = parseArgs({
    options: { runs: { type: "string", default: "3" } },
    allowPositionals: true,
  });
  if (!/^[1-9]\d*$/.test(values.runs)) throw new RangeError(`--runs must be a number above 0, not ${values.runs}`);
  const folder = mkdtempSync(join(tmpdir(), "farebox-busy-"));
  const busy = [...Array.from({ length: LOOPS }, () => "compute"), join(folder, "written")];
  const workers = busy.map((work) => new Worker(new URL(import.meta.url), { workerData: work }));
  const lines = [];
  try {
    for (let run = 1; run <= Number(values.runs); run++) {
      const results = join(folder, `${run}.json`);
      const startedAt = Date.now();
      const status = runOn(process.execPath, [...VITEST, ...positionals], { FAREBOX_TEST_RESULTS: results });
      const { passed, failed } = countResults([results]);
      // An error outside of every test fails a run without a failed test.
      if (status !== 0 || failed > 0) process.exitCode = 1;
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      lines.push(`busy run ${run}: ${passed} passed, ${failed} failed, status ${status}, ${seconds} s`);
      console.log(lines.at(-1));
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
    rmSync(folder, { recursive: true });
  }
  console.log(lines.join("\n"));
}

function compute() {
  for (let count = 0; ; count++) Math.sqrt(count);
}

function writeForEver(path) {
  const file = openSync(path, "w");
  try {
    for (let at = 0; ; at = (at + PART.length) % FILE_BYTES) writeSync(file, PART, 0, PART.length, at);
  } finally {
    closeSync(file);
  }
}
