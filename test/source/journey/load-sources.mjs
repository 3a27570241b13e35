/**
 * Has Node run the TypeScript of this repository file by file, so that what V8 counts are functions of the sources. A bundle would count
 * other people's functions, too, and no bundle knows of files.
 *
 * Usage: `node --import ./test/source/journey/load-sources.mjs script.ts`
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transform } from "esbuild";

const ROOT = new URL("../../../", import.meta.url);
const isOurs = (url) => url.startsWith(ROOT.href) && !url.includes("/node_modules/");

/** The sources behind the packages' exports: `@farebox/core/adapter` is `packages/core/src/adapter.ts`. */
const entries = new Map();

// Node runs the hooks below in a thread of their own, which reads this module again.
if (isMainThread) register(import.meta.url);
else for (const name of readdirSync(new URL("packages/", ROOT))) readEntries(new URL(`packages/${name}/`, ROOT));

function readEntries(folder) {
  const manifest = new URL("package.json", folder);
  if (!existsSync(manifest)) return;
  const { name, exports = {} } = JSON.parse(readFileSync(manifest, "utf8"));
  for (const [path, { default: built }] of Object.entries(exports)) {
    entries.set(name + path.slice(1), toSource(new URL(built.replace("./dist/", "./src/"), folder).href));
  }
}

function toSource(url) {
  return url.replace(/\.js$/, ".ts");
}

export async function resolve(specifier, context, next) {
  const entry = entries.get(specifier);
  if (entry !== undefined) return { url: entry, shortCircuit: true };
  const { parentURL = "" } = context;
  if (specifier.startsWith(".") && isOurs(parentURL)) {
    const url = toSource(new URL(specifier, parentURL).href);
    if (url.endsWith(".ts") && existsSync(fileURLToPath(url))) return { url, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts") || !isOurs(url)) return next(url, context);
  // As the packages are built, but one file to one.
  const { code } = await transform(readFileSync(new URL(url), "utf8"), {
    loader: "ts",
    target: "node20.19",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  return { format: "module", source: code, shortCircuit: true };
}
