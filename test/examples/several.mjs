/**
 * Runs a script of the demo with several command lines, one after the other, in one process: to load it takes longer than most of them.
 * Each begins when nothing of the one before is left to be done.
 *
 * Usage: `node several.mjs <script> <JSON array of command lines>`. Behind what each prints, the line `exit <code>` is printed to both
 * stdout and stderr.
 *
 * @module
 */
import { pathToFileURL } from "node:url";

const [script, calls] = process.argv.slice(2);
const left = JSON.parse(calls);
let started = 0;

process.on("beforeExit", next);
next();

function next() {
  if (started > 0)
    for (const stream of [process.stdout, process.stderr]) stream.write(`exit ${process.exitCode ?? 0}\n`);
  const args = left.shift();
  process.exitCode = undefined;
  if (args === undefined) return process.exit(0);
  process.argv = [process.execPath, script, ...args];
  // Another address is another module: the script begins anew, and what it imports is there already.
  void import(`${pathToFileURL(script)}?${started++}`);
}
