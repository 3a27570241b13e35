/**
 * docs/reference/options.md is generated from the doc comments of the sellers' types; each option has a sentence and an example.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderOptions } from "../../packages/core/scripts/generate-options.mjs";

const PAGE = renderOptions();

test("the page of options is up to date", () => {
  const written = readFileSync(new URL("../../docs/reference/options.md", import.meta.url), "utf8");
  expect(written, "run node packages/core/scripts/generate-options.mjs").toBe(PAGE);
});

test("every option has an example and a meaning", () => {
  const rows = PAGE.split("\n").filter((line) => /^\| `/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => /\|\s+\|/.test(row))).toEqual([]);
});
