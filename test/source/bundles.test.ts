/**
 * The packages as they are built: each of a few files, and nothing that can be told from their sources.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { listPackages, ROOT } from "../scripts/pack.mjs";

const run = promisify(execFile);

/** Node takes about a millisecond for each. Rooms of core are not among them. */
const LOADED = [
  "core/dist/internal.js",
  "core/dist/load-telemetry.cjs",
  "express/dist/index.js",
  "express/dist/load-ajv.cjs",
];

const packages = listPackages().map(({ folder, manifest: { name } }) => ({ folder, name }));

/** Names of classes, in whichever package: the one that sellers import has others in its file. */
const written = new Set(
  packages.flatMap(({ folder }) =>
    textsIn(join(folder, "src"), /(?<!\.test|\.test-d|\.fixture)\.ts$/).flatMap(namesOfClasses),
  ),
);

test("a seller loads a room of core when it is used", async () => {
  const { stdout } = await run(process.execPath, ["test/source/loading-seller.mjs"], { cwd: ROOT });
  expect(JSON.parse(stdout)).toEqual({
    imported: LOADED,
    "answered 402,200": LOADED,
    "read 10000": ["core/dist/ledger-queries/index.js", ...LOADED].sort(),
    "measured 0": ["core/dist/ledger-queries/index.js", "core/dist/telemetry/index.cjs", ...LOADED].sort(),
  });
});

test("a facilitator who imports @farebox/evm/facilitator loads the facilitator's side of core", async () => {
  expect(await filesLoadedBy("@farebox/evm/facilitator")).toContain("core/dist/facilitator-side/index.js");
});

test.each([
  ["core", 50],
  ["extensions", 8],
])("@farebox/%s has each of its sources in one file, so that each class exists once", (name, least) => {
  const sources = sourcesIn(join(ROOT, "packages", name));
  expect(sources.length).toBeGreaterThan(least);
  expect(repeated(sources)).toEqual([]);
});

test.each(packages)(
  "$name has no class of errors in several files, as only one of them would be known",
  ({ folder }) => {
    for (const source of repeated(sourcesIn(folder))) {
      expect(readFileSync(join(folder, source), "utf8"), source).not.toMatch(
        /^(export )?(abstract )?class \w+ extends/m,
      );
    }
  },
);

test.each(packages)("$name calls its classes as the source does", ({ folder }) => {
  const built = codeOf(folder).map(withoutOthers).flatMap(namesOfClasses);
  expect(built.filter((name) => !written.has(name))).toEqual([]);
});

/** Below `packages/`, in the order in which Node comes to them. */
async function filesLoadedBy(name: string): Promise<readonly string[]> {
  const script = `
    import { Session } from "node:inspector";
    const session = new Session();
    session.connect();
    session.on("Debugger.scriptParsed", ({ params }) => console.log(params.url));
    session.post("Debugger.enable");
    await import(${JSON.stringify(name)});`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], { cwd: ROOT });
  return stdout.split("\n").flatMap((url) => /\/packages\/(\w+\/dist\/.*)$/.exec(url)?.[1] ?? []);
}

function codeOf(folder: string): readonly string[] {
  return textsIn(join(folder, "dist"), /\.c?js$/);
}

function sourcesIn(folder: string): readonly string[] {
  return codeOf(folder).flatMap((text) => [...sourcesOf(text)]);
}

function repeated(sources: readonly string[]): readonly string[] {
  return sources.filter((source, at) => sources.indexOf(source) !== at);
}

/** The bundler writes whose code it is above it. */
function sourcesOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^\/\/ ((?:\.\.\/\w+\/)?src\/.*)$/gm)].map(([, source = ""]) => source));
}

/** What a package needs for development alone, and imports all the same, is bundled with it. */
function withoutOthers(text: string): string {
  return text.replace(/^\/\/ .*\/node_modules\/.*\n(?:(?!\/\/ (?:\.\.\/\w+\/)?src\/).*\n)*/gm, "");
}

function textsIn(folder: string, file: RegExp): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => file.test(name));
  return names.map((name) => readFileSync(join(folder, name), "utf8"));
}

/** The bundler writes `class Name` as `var Name = class`, and as `var Name = class _Name` where the class speaks of itself. */
function namesOfClasses(text: string): readonly string[] {
  const found = text.matchAll(/^ *(?:export )?(?:abstract )?(?:\w+ (\w+) = )?class(?: (?!extends)(\w+))?/gm);
  return [...found].map(([, variable, name]) => name ?? variable ?? "(none)");
}
