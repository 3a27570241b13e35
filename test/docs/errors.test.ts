/**
 * Each error code has a heading in `docs/errors.md`, and each heading there is a code, of an error or of a finding.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";

const ERRORS = new URL("../../packages/core/src/errors.ts", import.meta.url);
const FINDINGS = new URL("../../packages/core/src/events/findings.ts", import.meta.url);
const DOCUMENT = new URL("../../docs/errors.md", import.meta.url);

const codes = codesIn(ERRORS, "FareboxErrorCode");
const findings = codesIn(FINDINGS, "FindingCode");
const headings = [...readFileSync(DOCUMENT, "utf8").matchAll(/^## +`?([^`\n]+)`?$/gm)].map((match) => match[1]!);

test("the codes are read from the union", () => {
  expect(codes).toContain("ERR_FAREBOX_CONFIG");
  expect(findings).toContain("FAREBOX_OFFER_UNSUPPORTED");
});

test("every code has a heading in docs/errors.md", () => {
  expect(codes.filter((code) => !headings.includes(code))).toEqual([]);
});

test("every heading in docs/errors.md is a code, once", () => {
  const known = [...codes, ...findings];
  expect(headings.filter((heading, at) => !known.includes(heading) || headings.indexOf(heading) !== at)).toEqual([]);
});

/** The members of `type Name = "…" | "…"`. */
function codesIn(source: URL, name: string): string[] {
  const { statements } = ts.createSourceFile("source.ts", readFileSync(source, "utf8"), ts.ScriptTarget.Latest);
  const union = statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === name);
  if (union === undefined || !ts.isTypeAliasDeclaration(union) || !ts.isUnionTypeNode(union.type)) return [];
  return union.type.types.map((member) =>
    ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal) ? member.literal.text : "not a literal",
  );
}
