/**
 * Compares Farebox with the reference, failure by failure, path by path, and their pages in the browser, and writes
 * `docs/background/comparison.md`.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { comparePaths } from "../bypass/compare.js";
import { compareFailures } from "../faults/compare/run.js";
import { renderComparison, type Versions } from "./document.js";
import { comparePages } from "./pages.js";

/** From where this is when it is compiled. */
const ROOT = new URL("../../../../", import.meta.url);

const failures = await compareFailures();
const paths = await comparePaths();
const pages = await comparePages();
const document = new URL("docs/background/comparison.md", ROOT);
writeFileSync(document, renderComparison({ failures, paths, pages }, readVersions()));
console.log(
  `${failures.length} failures and ${paths.length} paths and ${pages.length} rows about pages compared in ${document.pathname}`,
);

/** As they are installed, not as they are asked for. */
function readVersions(): Versions {
  const versionOf = (folder: string): string =>
    JSON.parse(readFileSync(new URL(`${folder}/package.json`, ROOT), "utf8")).version;
  return {
    reference: versionOf("node_modules/@x402/express"),
    farebox: versionOf("packages/express"),
    express: [versionOf("node_modules/express"), versionOf("node_modules/express4")],
    node: process.versions.node,
  };
}
