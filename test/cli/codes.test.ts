/**
 * Each code of the command line stands in its page.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../docs/markdown.js";

const SOURCES = join(ROOT, "packages/cli/src");
const files = readdirSync(SOURCES, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith(".ts"));
const sources = files.map((name) => readFileSync(join(SOURCES, name), "utf8"));
const codes = new Set(sources.flatMap((source) => source.match(/\bFAREBOX_CLI_[A-Z_]+/g) ?? []));

test.each([...codes])("docs/reference/cli.md explains %s", (code) => {
  expect(readFileSync(join(ROOT, "docs/reference/cli.md"), "utf8")).toContain(`\`${code}\``);
});
