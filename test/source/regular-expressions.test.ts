/**
 * No regular expression in the packages can be made slow: each takes time in proportion to its input, however a stranger
 * writes that input.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { check } from "recheck";
import ts from "typescript";
import { expect, test } from "vitest";

const PACKAGES = fileURLToPath(new URL("../../packages/", import.meta.url));

const found = readdirSync(PACKAGES, { recursive: true, encoding: "utf8" })
  .filter((file) => /^[a-z-]+[/\\]src[/\\].*(?<!\.test|\.test-d|\.fixture|\.generated)\.ts$/.test(file))
  .flatMap((file) => expressionsIn(file).map((text) => ({ file, text })));

test("the regular expressions of the packages are found", () => {
  expect(found.length).toBeGreaterThan(20);
});

test("a quadratic expression is noticed", async () => {
  expect((await check("^a*a*$", "")).status).toBe("vulnerable");
});

test.each(found)("$text of $file is linear", async ({ text }) => {
  const [, pattern = "", flags = ""] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? [];
  const diagnostics = await check(pattern, flags, { timeout: 10_000 });
  expect(diagnostics).toMatchObject({ status: "safe", complexity: { type: expect.stringMatching(/^(safe|linear)$/) } });
});

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
