/**
 * Finds the modules that a source names, and the names that it takes from them.
 *
 * @module
 */
import { type Token, textOf } from "./tokens.js";

/** One mention of a module. */
export interface ModuleImport {
  readonly module: string;
  /** The index of the token that names the module. */
  readonly at: number;
  /** What is taken from the module by name. */
  readonly names: readonly ImportedName[];
  /** Whether the module is taken as a whole, or nothing is: then its names are not known. */
  readonly isWhole: boolean;
}

/** A name that a module exports, and what the source calls it. */
export interface ImportedName {
  readonly name: string;
  readonly local: string;
}

/** `import … from`, `import()`, `import("x").Type`, `export … from`, `require()`, their `resolve()`, `jest.mock()`, `vi.mock()`. */
export function findImports(tokens: readonly Token[]): readonly ModuleImport[] {
  return tokens.flatMap((token, at) => {
    if (token.kind !== "name" || isSign(tokens[at - 1], ".")) return mockIn(tokens, at) ?? [];
    if (token.text === "require") return calledIn(tokens, at) ?? [];
    if (token.text === "import" && /^[(.]$/.test(tokens[at + 1]?.text ?? "")) return calledIn(tokens, at) ?? [];
    if (token.text === "import") return clauseIn(tokens, at) ?? [];
    if (token.text === "export" && /^([{*]|type)$/.test(tokens[at + 1]?.text ?? "")) return clauseIn(tokens, at) ?? [];
    return [];
  });
}

/** Whether a token is this sign. */
export function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text;
}

/** Whether a token is this name. */
export function isName(token: Token | undefined, text: string): boolean {
  return token?.kind === "name" && token.text === text;
}

/** From `import` or `export` to the module's name. A statement that names none is passed over. */
function clauseIn(tokens: readonly Token[], at: number): ModuleImport | undefined {
  let to = at + 1;
  while (to < tokens.length && textOf(tokens[to]) === undefined && isPartOfClause(tokens[to] as Token)) to++;
  const module = textOf(tokens[to]);
  if (module === undefined) return undefined;
  const hasClause = to > at + 1;
  if (hasClause && !isName(tokens[to - 1], "from")) return undefined;
  const clause = tokens.slice(at + 1, hasClause ? to - 1 : to);
  const names = namesIn(clause, "as");
  return { module, at: to, names, isWhole: names.length === 0 || clause.some((each) => isSign(each, "*")) };
}

function isPartOfClause(token: Token): boolean {
  return token.kind === "name" || (token.kind === "sign" && /^[{},*]$/.test(token.text));
}

/** `import("x")`, `import.meta.resolve("x")`, `require("x")`, `require.resolve("x")`, and the names that are taken from it on the spot. */
function calledIn(tokens: readonly Token[], at: number): ModuleImport | undefined {
  const dot = isName(tokens[at + 2], "meta") ? at + 3 : at + 1;
  const open = isSign(tokens[dot], ".") && isName(tokens[dot + 1], "resolve") ? dot + 2 : at + 1;
  const module = textOf(tokens[open + 1]);
  if (!isSign(tokens[open], "(") || module === undefined) return undefined;
  const names = [...destructuredBefore(tokens, at), ...memberAfter(tokens, open + 2)];
  return { module, at: open + 1, names, isWhole: names.length === 0 };
}

/** `jest.mock("x")` and its kin. */
function mockIn(tokens: readonly Token[], at: number): ModuleImport | undefined {
  const [owner, name] = [tokens[at - 2], tokens[at]];
  if (!/^(jest|vi)$/.test(owner?.text ?? "") || !isSign(tokens[at - 1], ".") || name?.kind !== "name") return undefined;
  const module = textOf(tokens[at + 2]);
  if (!isSign(tokens[at + 1], "(") || module === undefined) return undefined;
  return { module, at: at + 2, names: [], isWhole: true };
}

/** `const { a, b: c } = await import("x")`. */
function destructuredBefore(tokens: readonly Token[], at: number): readonly ImportedName[] {
  let end = at - 1;
  while (isName(tokens[end], "await") || isSign(tokens[end], "(")) end--;
  if (!isSign(tokens[end], "=") || !isSign(tokens[end - 1], "}")) return [];
  let start = end - 2;
  while (start >= 0 && !isSign(tokens[start], "{")) start--;
  return namesIn(tokens.slice(start, end), ":");
}

/** `(await import("x")).a` and `import("x").A`. */
function memberAfter(tokens: readonly Token[], closing: number): readonly ImportedName[] {
  let at = closing;
  while (isSign(tokens[at], ")")) at++;
  const name = tokens[at + 1];
  if (!isSign(tokens[at], ".") || name?.kind !== "name" || name.text === "then") return [];
  return [{ name: name.text, local: name.text }];
}

/** The names within the braces of a clause: `{ a, type B, c as d }`, or `{ a, c: d }`. */
function namesIn(clause: readonly Token[], renames: "as" | ":"): readonly ImportedName[] {
  const open = clause.findIndex((each) => isSign(each, "{"));
  const close = clause.findLastIndex((each) => isSign(each, "}"));
  if (open === -1 || close < open) return [];
  const names: ImportedName[] = [];
  let part: Token[] = [];
  for (const token of clause.slice(open + 1, close + 1)) {
    if (!isSign(token, ",") && !isSign(token, "}")) {
      part.push(token);
      continue;
    }
    const words = part.filter(({ kind, text }) => kind === "name" && text !== renames).map(({ text }) => text);
    const [name, local] = words[0] === "type" && words.length > 1 ? words.slice(1) : words;
    if (name !== undefined) names.push({ name, local: local ?? name });
    part = [];
  }
  return names;
}
