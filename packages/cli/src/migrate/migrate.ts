/**
 * Changes the imports of a seller's file, and nothing else in it.
 *
 * @module
 */
import { type Finding, findDifferences, type SellersFile } from "./differences.js";
import { findImports, type ImportedName, type ModuleImport } from "./imports.js";
import { type Depth, isReference, replacementOf } from "./modules.js";
import { readTokens, type Token, textOf } from "./tokens.js";

/** One changed import. */
export interface ChangedImport {
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

/** An import of the reference that stays as it is. */
export interface KeptImport {
  readonly line: number;
  readonly module: string;
  readonly why: string;
}

/** A migrated file. */
export interface Migration {
  readonly text: string;
  readonly changed: readonly ChangedImport[];
  readonly kept: readonly KeptImport[];
  /** What behaves differently in this file, in the order of its lines. */
  readonly findings: readonly Finding[];
}

/** A file that cannot be read. */
export interface UnreadableFile {
  readonly line: number;
  readonly message: string;
}

/** What can be chosen. */
export interface MigrateOptions {
  /** 1: only the imports of `@x402/express`. 2: of everything that Farebox has. @defaultValue 2 */
  readonly depth?: Depth;
}

/**
 * Changes the imports of the reference in a source to those of `@farebox/compat`.
 *
 * @example
 * const migration = migrate('import { paymentMiddleware } from "@x402/express";');
 * if ("text" in migration) console.log(migration.text);
 */
export function migrate(source: string, options: MigrateOptions = {}): Migration | UnreadableFile {
  const tokens = readTokens(source);
  const lineAt = lineFinder(source);
  if ("message" in tokens) return { line: lineAt(tokens.at), message: tokens.message };
  const imports = findImports(tokens).filter(({ module }) => isReference(module));
  const changed: ChangedImport[] = [];
  const kept: KeptImport[] = [];
  let text = "";
  let end = 0;
  for (const each of imports) {
    const token = tokens[each.at] as Token;
    const line = lineAt(token.start);
    const to = targetOf(each, options.depth ?? 2);
    if (typeof to !== "string") {
      kept.push({ line, module: each.module, why: to.why });
      continue;
    }
    const [quote] = token.text;
    text += `${source.slice(end, token.start)}${quote}${to}${quote}`;
    end = token.end;
    changed.push({ line, from: each.module, to });
  }
  const named = namedModules(tokens, imports).map(({ module, start }) => ({
    ...{ line: lineAt(start), module },
    why: "is named, not imported: change it by hand if it is loaded",
  }));
  const file: SellersFile = { tokens, imported: namesOf(imports), lineOf: (token) => lineAt(token?.start ?? 0) };
  const findings = imports.length === 0 ? [] : [...findDifferences(file), ...kept.flatMap(hostedScheme)];
  findings.sort((one, other) => one.line - other.line);
  const stays = [...kept, ...named].sort((one, other) => one.line - other.line);
  return { text: text + source.slice(end), changed, kept: stays, findings };
}

/** Modules of the reference whose names stand elsewhere: `const name = "@x402/express"`, `declare module "@x402/express"`. */
function namedModules(tokens: readonly Token[], imports: readonly ModuleImport[]) {
  const imported = new Set(imports.map(({ at }) => at));
  return tokens.flatMap((token, at) => {
    const module = textOf(token);
    const isNamed = module !== undefined && replacementOf(module) !== undefined && !imported.has(at);
    return isNamed ? [{ module, start: token.start }] : [];
  });
}

/** A scheme that Farebox has not is used as it is. */
function hostedScheme({ line, module }: KeptImport): readonly Finding[] {
  if (replacementOf(module) !== undefined || !/^@x402\/.+\/server$/.test(module)) return [];
  const text = "the scheme is hosted: each challenge waits for it; a scheme that settles by escrow is refused";
  return [{ line, difference: "hosted-schemes", level: "note", text }];
}

/** The module that takes the place of an imported one, or why none does. */
function targetOf({ module, names }: ModuleImport, depth: Depth): string | { readonly why: string } {
  const replacement = replacementOf(module);
  if (replacement === undefined) return { why: whyKept(module) };
  if (depth < replacement.from) return { why: "stays at depth 1" };
  const missing = names
    .filter(({ name }) => name !== "default" && !replacement.names.has(name))
    .map(({ name }) => name);
  if (missing.length === 0) return replacement.module;
  return { why: `${replacement.module} has no ${missing.join(", ")}` };
}

function whyKept(module: string): string {
  if (/^@x402\/(fetch|axios)|\/client$/.test(module)) return "belongs to clients, which need no change";
  if (/^@x402\/(next|hono|fastify|koa|nest)/.test(module))
    return "belongs to another framework; Farebox serves Express";
  if (/^@x402\/mcp/.test(module)) return "belongs to MCP servers: see @farebox/mcp";
  if (/^@coinbase\/x402/.test(module)) return "is passed on to HTTPFacilitatorClient as it is";
  if (/facilitator$/.test(module)) return "belongs to facilitators: pass its object on as it is";
  if (/^(x402|x402-express)(\/|$)/.test(module)) return "is the first version of the protocol, and has no counterpart";
  return "has no counterpart; what it exports is taken as it is";
}

/** What a file imports from the reference, once each. */
function namesOf(imports: readonly ModuleImport[]): readonly ImportedName[] {
  return imports.flatMap(({ names }) => names);
}

/** Finds the line of a place in the source, by halving. */
function lineFinder(source: string): (at: number) => number {
  const starts = [0];
  for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return (at) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= at) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
