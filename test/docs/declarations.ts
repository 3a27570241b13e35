/**
 * Finds the types of @farebox/core by their names, without their files.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { walk } from "../scripts/imports.mjs";
import { ROOT } from "./markdown.js";

const SOURCES = walk(join(ROOT, "packages/core/src"))
  .files.filter((file) => file.endsWith(".ts") && !/\.(test|test-d|fixture|generated)\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(file, "utf8") }));

/** A field or method of an interface. */
export interface Member {
  readonly name: string;
  readonly type: ts.TypeNode;
}

/** The fields and methods of an interface, in the order of the code. */
export function membersOf(name: string): Member[] {
  const found = declarationOf(name, ts.isInterfaceDeclaration);
  return found.members
    .filter((member) => ts.isPropertySignature(member) || ts.isMethodSignature(member))
    .map(({ name: key, type }) => ({ name: key.getText(), type: type! }));
}

/** The members of `type … = "…" | "…"`. */
export function literalsOf(name: string): string[] {
  const { type } = declarationOf(name, ts.isTypeAliasDeclaration);
  if (!ts.isUnionTypeNode(type)) return [];
  return type.types.map((member) =>
    ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal) ? member.literal.text : "not a literal",
  );
}

function declarationOf<T extends ts.DeclarationStatement>(name: string, is: (node: ts.Node) => node is T): T {
  const declaration = new RegExp(`^export (?:interface|type) ${name}\\b`, "m");
  const [source, ...others] = SOURCES.filter(({ text }) => declaration.test(text));
  if (source === undefined || others.length > 0) throw new TypeError(`expected one exported type ${name} in core`);
  const { statements } = ts.createSourceFile(source.file, source.text, ts.ScriptTarget.Latest, true);
  return statements.filter(is).find((node) => node.name?.text === name)!;
}
