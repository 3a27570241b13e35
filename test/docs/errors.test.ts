/**
 * Each code of an error or a finding has a heading in `docs/reference/errors.md`, and each heading there is a code.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";

const ERRORS = new URL("../../packages/core/src/errors.ts", import.meta.url);
const FINDINGS = new URL("../../packages/core/src/events/findings.ts", import.meta.url);
const DOCUMENT = new URL("../../docs/reference/errors.md", import.meta.url);

const codes = [...codesIn(ERRORS, "FareboxErrorCode"), ...codesIn(FINDINGS, "FindingCode")];
const headings = [...readFileSync(DOCUMENT, "utf8").matchAll(/^## +`?([^`\n]+)`?$/gm)].map((match) => match[1]!);

test("the codes are read from the unions", () => {
  expect(codes).toEqual(expect.arrayContaining(["ERR_FAREBOX_CONFIG", "FAREBOX_KEY_UNREACHABLE"]));
});

test("every code has a heading in docs/reference/errors.md", () => {
  expect(codes.filter((code) => !headings.includes(code))).toEqual([]);
});

test("every heading in docs/reference/errors.md is a code, once", () => {
  expect(headings.filter((heading, at) => !codes.includes(heading) || headings.indexOf(heading) !== at)).toEqual([]);
});

/** The members of `type … = "…" | "…"`. */
function codesIn(file: URL, name: string): string[] {
  const { statements } = ts.createSourceFile("codes.ts", readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const union = statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === name);
  if (union === undefined || !ts.isTypeAliasDeclaration(union) || !ts.isUnionTypeNode(union.type)) return [];
  return union.type.types.map((member) =>
    ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal) ? member.literal.text : "not a literal",
  );
}
