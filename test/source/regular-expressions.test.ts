/**
 * No regular expression in the packages can be made slow: each takes time in proportion to its input, however a stranger
 * writes that input.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import { growthOf, LINEAR } from "./expressions.js";

const PACKAGES = fileURLToPath(new URL("../../packages/", import.meta.url));

const found = readdirSync(PACKAGES)
  .map((name) => `${name}/src/`)
  .filter((folder) => existsSync(PACKAGES + folder))
  .flatMap((folder) =>
    readdirSync(PACKAGES + folder, { recursive: true, encoding: "utf8" }).map((file) => folder + file),
  )
  .filter((file) => /(?<!\.test|\.test-d|\.fixture|\.generated)\.ts$/.test(file))
  .flatMap((file) => expressionsIn(file).map((text) => ({ file, text })));

test("the regular expressions of the packages are found", () => {
  expect(found.length).toBeGreaterThan(20);
});

test.each([
  ["^a*a*$", "polynomial"],
  ["^(a|a)*$", "exponential"],
  // Checked by trying inputs.
  ["^(?=(a|a)*$)b", "exponential"],
  ["^a+b$", "linear"],
])("the growth of %s is noticed", async (source, growth) => {
  expect(await growthOf(source, "")).toBe(growth);
});

const texts = [...new Set(found.map(({ text }) => withSmallBounds(text)))];

test.each(texts)("%s is linear", async (text) => {
  const [, pattern = "", flags = ""] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? [];
  const where = found.filter((each) => withSmallBounds(each.text) === text).map(({ file }) => file);
  expect(await growthOf(pattern, flags), where.join()).toMatch(LINEAR);
});

/** How an expression grows is decided by what has no bound. The checker takes long where a bound is large. */
function withSmallBounds(text: string): string {
  return text.replace(/(?<!\\)\{(\d+)(?:(,)(\d*))?\}/g, (_, least: string, comma?: string, most = "") => {
    const last = comma === undefined ? least : most;
    return `{${Math.min(Number(least), 4)},${last === "" ? "" : Math.min(Number(last), 8)}}`;
  });
}

function expressionsIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(PACKAGES + file, "utf8"), ts.ScriptTarget.Latest);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}
