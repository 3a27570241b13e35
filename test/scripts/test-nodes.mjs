/**
 * What differs between releases of Node, on each major but the one that runs this: HTTP, streams, sockets, crypto, SQLite, loading of modules.
 *
 * Usage: `pnpm test:nodes [major ...]`. Prints `Node 24.21.0: N passed, N failed` for each.
 *
 * With `FAREBOX_TEST_RESULTS=results.json` the results of each are kept in `results-24.json`, say.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countResults } from "./count-results.mjs";
import { findNode, RELEASES, runOn } from "./nodes.mjs";

const FILES = [
  ...["held-response", "response-head", "request-body"].map((name) => `packages/express/src/${name}.test.ts`),
  ...[
    "http/client",
    "http/rest-requests",
    "http/urls",
    "protocol/canonical-text",
    "protocol/json",
    "scheme/ed25519",
  ].map((name) => `packages/core/src/${name}.test.ts`),
  // Node 20 has no node:sqlite.
  "packages/stores/src/sqlite",
  ...["bodies", "bad-requests", "connections", "metered-streams"].map(ofExpress),
  ...["response-forms", "signal", "streaming", "write-contract"].map(ofExpress),
  ...["test/faults/streams", "test/mcp/connections", "test/bypass/any-bytes", "test/source/bundles"],
  "test/golden/memory",
];
const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", "--maxWorkers=3"];

const [running] = process.versions.node.split(".");
const wanted = process.argv.slice(2);
const majors = wanted.length > 0 ? wanted : Object.keys(RELEASES).filter((major) => major !== running);
const folder = mkdtempSync(join(tmpdir(), "farebox-nodes-"));
const lines = [];
for (const major of majors) {
  const node = findNode(major);
  const kept = process.env["FAREBOX_TEST_RESULTS"];
  const results = kept === undefined ? join(folder, `${major}.json`) : kept.replace(/(\.json)?$/, `-${major}.json`);
  console.log(`== Node ${major}`);
  const status = runOn(node, [...VITEST, ...FILES], { FAREBOX_TEST_RESULTS: results });
  const { passed, failed } = countResults([results]);
  if (status !== 0 || failed > 0) process.exitCode = 1;
  lines.push(`Node ${major === running ? process.versions.node : RELEASES[major]}: ${passed} passed, ${failed} failed`);
}
rmSync(folder, { recursive: true });
console.log(lines.join("\n"));

function ofExpress(name) {
  return `test/express/${name}.test.ts`;
}
