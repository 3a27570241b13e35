/**
 * Reads what a TypeScript file imports: static, type-only, re-exported, dynamic and required.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const SKIPPED_FOLDERS = new Set(["node_modules", "dist", ".git"]);

/** Every file and folder below `root`, as absolute paths. */
export function walk(root) {
  const folders = [];
  const files = [];
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    if (SKIPPED_FOLDERS.has(entry.name)) continue;
    const path = join(root, entry.name);
    if (!entry.isDirectory()) {
      files.push(path);
      continue;
    }
    const below = walk(path);
    folders.push(path, ...below.folders);
    files.push(...below.files);
  }
  return { folders, files };
}

/**
 * The module names that a file mentions, and how: `static` is loaded with the file, `lazy` when the file asks for it, and `type` never. A
 * name that is computed, such as in `import(name)`, is `undefined`: nothing can be said about it.
 */
export function importsOf(file) {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const found = [];
  const visit = (node) => {
    const name = moduleNameIn(node);
    if (name !== undefined)
      found.push({ name: ts.isStringLiteralLike(name) ? name.text : undefined, how: howOf(node) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The node that names a module, if this node is an import of any form. */
function moduleNameIn(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return node.argument.literal ?? node.argument;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isCallExpression(node) && isLoader(node.expression)) return node.arguments[0];
  return undefined;
}

function howOf(node) {
  if (ts.isCallExpression(node)) return "lazy";
  const isType = ts.isImportTypeNode(node) || (ts.isImportDeclaration(node) ? node.importClause : node)?.isTypeOnly;
  return isType ? "type" : "static";
}

function isLoader(callee) {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  if (ts.isIdentifier(callee)) return callee.text === "require";
  return (
    ts.isPropertyAccessExpression(callee) &&
    callee.name.text === "resolve" &&
    (ts.isMetaProperty(callee.expression) ||
      (ts.isIdentifier(callee.expression) && callee.expression.text === "require"))
  );
}
