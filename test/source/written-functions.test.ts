/**
 * `@farebox/express` writes no function to a property, as in `res.end = () => …`: V8 puts it into the old generation, where it
 * keeps the response, its request and the payment until the next full collection.
 *
 * @see `docs/background/performance.md`
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCES = fileURLToPath(new URL("../../packages/express/src/", import.meta.url));
const files = readdirSync(SOURCES).filter((file) => /(?<!\.test|\.fixture)\.ts$/.test(file));

test("a function that is written to a property is noticed", () => {
  expect(writtenFunctionsIn("res.end = () => res;")).toEqual(["res.end"]);
});

test.each(files)("%s writes no function to a property", (file) => {
  expect(writtenFunctionsIn(readFileSync(SOURCES + file, "utf8"))).toEqual([]);
});

function writtenFunctionsIn(text: string): string[] {
  const source = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isAssignment = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
    if (isAssignment && ts.isPropertyAccessExpression(node.left)) {
      if (ts.isArrowFunction(node.right) || ts.isFunctionExpression(node.right)) found.push(node.left.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
