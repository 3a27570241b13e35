/**
 * Each error code has a heading in `docs/errors.md`, and each heading there is a code.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = new URL("../../packages/core/src/errors.ts", import.meta.url);
const DOCUMENT = new URL("../../docs/errors.md", import.meta.url);

const codes = codesIn(readFileSync(SOURCE, "utf8"));
const headings = [...readFileSync(DOCUMENT, "utf8").matchAll(/^## +`?([^`\n]+)`?$/gm)].map((match) => match[1]!);

test("the codes are read from the union", () => {
  expect(codes).toContain("ERR_FAREBOX_CONFIG");
});

test("every code has a heading in docs/errors.md", () => {
  expect(codes.filter((code) => !headings.includes(code))).toEqual([]);
});

test("every heading in docs/errors.md is a code, once", () => {
  expect(headings.filter((heading, at) => !codes.includes(heading) || headings.indexOf(heading) !== at)).toEqual([]);
});

/** The members of `type FareboxErrorCode = "…" | "…"`. */
function codesIn(source: string): string[] {
  const { statements } = ts.createSourceFile("errors.ts", source, ts.ScriptTarget.Latest);
  const union = statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === "FareboxErrorCode");
  if (union === undefined || !ts.isTypeAliasDeclaration(union) || !ts.isUnionTypeNode(union.type)) return [];
  return union.type.types.map((member) =>
    ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal) ? member.literal.text : "not a literal",
  );
}
