/**
 * The reference's example servers compile against Farebox as they do against the reference: with the strictness of their own
 * `tsconfig.json`, and with ours. An error that they have against the reference, too, is theirs.
 *
 * Takes the compiler ten seconds, so `pnpm test:compat` runs it and `pnpm test` does not.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { migrate } from "farebox";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CACHE, fetchReference } from "../../scripts/fetch-reference.mjs";
import type { Side } from "../reference/servers.js";

const THEIRS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2020,
  module: ts.ModuleKind.ES2020,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  esModuleInterop: true,
  forceConsistentCasingInFileNames: true,
  skipLibCheck: true,
  strict: true,
  resolveJsonModule: true,
  types: ["node"],
  noEmit: true,
};

/** What `tsconfig.base.json` asks of a seller's types. The rest of it is about how the file itself is written. */
const OURS: ts.CompilerOptions = {
  ...THEIRS,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
};

const isWanted = process.env["FAREBOX_PLANS"] !== undefined;
const reference = isWanted ? await fetchReference() : { reason: "only pnpm test:compat compiles the examples" };
if (reference.folder === undefined) console.warn(`skipped: ${reference.reason}`);

const home = join(CACHE, `types-${process.pid}`);

describe.skipIf(reference.folder === undefined)("the reference's examples", () => {
  beforeAll(() => {
    for (const side of ["reference", "depth 1", "depth 2"] as const) write(side);
  });

  afterAll(() => rmSync(home, { recursive: true, force: true }));

  describe.each([
    ["their own strictness", THEIRS],
    ["ours", OURS],
  ])("with %s", (_name, options) => {
    let theirs: ReadonlySet<string>;

    beforeAll(() => {
      theirs = new Set(errorsOf("reference", options));
    });

    test.each(["depth 1", "depth 2"] as const)("compile at %s", (side) => {
      expect(errorsOf(side, options).filter((error) => !theirs.has(error))).toEqual([]);
    });
  });
});

/** Copies the examples, with the imports of a side. */
function write(side: Side): void {
  const folder = join(home, side);
  cpSync(reference.folder as string, folder, { recursive: true });
  // As theirs is, so that a file that says `import "./x"` is a module.
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  if (side === "reference") return;
  for (const file of filesOf(side)) {
    const migration = migrate(readFileSync(file, "utf8"), { depth: side === "depth 1" ? 1 : 2 });
    if ("text" in migration) writeFileSync(file, migration.text);
  }
}

function filesOf(side: Side): readonly string[] {
  const folder = join(home, side);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
}

/** Errors in the examples, by file, line and code. The text names types, which differ. */
function errorsOf(side: Side, options: ts.CompilerOptions): readonly string[] {
  const program = ts.createProgram([...filesOf(side)], options);
  return ts.getPreEmitDiagnostics(program).flatMap(({ file, start = 0, code }) => {
    if (file === undefined || !file.fileName.startsWith(home)) return [];
    const { line } = file.getLineAndCharacterOfPosition(start);
    return [`${relative(join(home, side), file.fileName)}:${line + 1} TS${code}`];
  });
}
