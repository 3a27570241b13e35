/**
 * Plays all golden sequences, records them, and prints what is different by kind. Without `redis-server` those of Redis stay as they are.
 *
 * Usage: `pnpm golden:record [--list] [--store-only] [memory | processes | sqlite | postgres | redis ...]`
 *
 * - `--list` writes no file.
 * - `--store-only` lists only the sequences in which nothing differs but other calls of the store.
 *
 * @module
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runOn } from "../scripts/nodes.mjs";

const { values, positionals } = parseArgs({
  options: { list: { type: "boolean" }, "store-only": { type: "boolean" } },
  allowPositionals: true,
});
const files = positionals.length > 0 ? positionals : ["memory", "processes", "sqlite", "postgres", "redis"];
const folder = mkdtempSync(join(tmpdir(), "farebox-golden-"));
const report = join(folder, "differences.jsonl");
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
const status = runOn(process.execPath, [...vitest, ...files.map((name) => `test/golden/${name}.test.ts`)], {
  FAREBOX_GOLDEN: values.list ? "list" : "record",
  FAREBOX_GOLDEN_REPORT: report,
});
const text = existsSync(report) ? readFileSync(report, "utf8") : "";
rmSync(folder, { recursive: true });
const differences = text
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const listed = differences.filter(({ grade }) => grade === "store" || !values["store-only"]);
console.log(tell(listed));
process.exitCode = status;

/** Counts by kind of line, and an example of each. */
function tell(differences) {
  if (differences.length === 0) return "No sequence differs from its recording.";
  const outside = differences.filter(({ grade }) => grade === "outside");
  const lines = [
    `${differences.length} sequences differ: ${outside.length} in what others see, ${differences.length - outside.length} only in other calls of the store.`,
  ];
  const names = {
    response: "responses",
    facilitator: "calls of facilitators",
    hook: "hooks and handlers",
    event: "events",
    state: "states of records",
    store: "other calls of the store",
  };
  for (const [kind, name] of Object.entries(names)) {
    const having = differences.filter(({ kinds }) => kinds.includes(kind));
    if (having.length === 0) continue;
    // An example with few other differences shows most.
    const [example] = having.sort((a, b) => a.kinds.length - b.kinds.length);
    lines.push("", `== ${name}: ${having.length} sequences, such as ${example.kind} ${example.seed}`, example.excerpt);
  }
  const order = differences.filter(
    ({ grade, kinds }) => grade === "outside" && kinds.every((kind) => kind === "store"),
  );
  if (order.length > 0)
    lines.push("", `== order: ${order.length} sequences, such as ${order[0].kind} ${order[0].seed}`, order[0].excerpt);
  return lines.join("\n");
}
