/**
 * Checks the layers: imports point only inwards, in `@farebox/core` and between the packages.
 *
 * - Packages import only the packages listed for them in PACKAGES.
 * - A folder of core imports only the folders listed for it in CORE.
 * - Nobody reaches into another package's files; its `exports` are the only way in.
 * - No two files import each other, directly or in a circle.
 * - No chain library can be reached from the entries in CHAIN_FREE, not even by a type, a
 *   dynamic import or `require`.
 * - No folder is called utils, helpers, common, shared or misc.
 *
 * Usage: `node test/scripts/check-layers.mjs [root of the workspace]`
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { importsOf, walk } from "./imports.mjs";

/** Who may import whom among the packages. */
const PACKAGES = {
  core: [],
  avm: ["core"],
  evm: ["core"],
  svm: ["core"],
  bazaar: ["core"],
  catalog: ["core", "bazaar"],
  facilitator: ["core", "bazaar"],
  express: ["core", "avm", "bazaar", "evm", "svm"],
  mcp: ["core"],
  stores: ["core"],
  testing: ["core", "evm", "svm", "facilitator", "express"],
};

/** Who may import whom inside core, by folder, or by name for a file that lies in none. From the inside out. */
const CORE = {
  errors: [],
  protocol: ["errors"],
  typos: [],
  issues: ["errors", "protocol", "typos"],
  http: ["errors", "protocol"],
  events: ["errors", "protocol", "issues"],
  price: ["errors", "protocol"],
  facilitator: ["errors", "protocol", "http", "events"],
  scheme: ["errors", "protocol", "issues", "http", "events", "price", "facilitator"],
  store: ["errors", "protocol", "facilitator", "scheme"],
  route: ["errors", "protocol", "http", "events", "price", "scheme"],
  extension: ["errors", "protocol", "issues", "events", "route"],
  options: ["protocol", "extension", "http", "events", "price", "facilitator", "scheme", "store", "route"],
};
CORE.pricing = [
  "errors",
  "protocol",
  "issues",
  "extension",
  "options",
  "events",
  "price",
  "facilitator",
  "scheme",
  "route",
];
CORE.settlement = ["errors", "protocol", "options", "http", "events", "facilitator", "scheme", "store"];
CORE.gate = [...new Set([...CORE.pricing, ...CORE.settlement]), "pricing", "settlement"];
CORE.config = [...CORE.gate.filter((room) => room !== "gate")];
CORE.report = [
  "errors",
  "protocol",
  "typos",
  "options",
  "http",
  "events",
  "price",
  "scheme",
  "route",
  "pricing",
  "settlement",
];
CORE.engine = Object.keys(CORE);
CORE.adapter = Object.keys(CORE);
CORE.index = Object.keys(CORE);
CORE.internal = Object.keys(CORE);

/** A seller installs these; none may need a chain library. */
const CHAIN_FREE = [
  "@farebox/core",
  "@farebox/core/adapter",
  "@farebox/core/internal",
  "@farebox/core/issues",
  "@farebox/core/protocol",
  "@farebox/core/scheme",
  "@farebox/express",
  "@farebox/mcp",
  "@farebox/avm",
  "@farebox/evm",
  "@farebox/svm",
];
const CHAIN_LIBRARY = /^(viem|ox|ethers|web3|algosdk|@solana\/[^/]+)(\/|$)/;

const VAGUE_NAMES = new Set(["utils", "util", "helpers", "common", "shared", "misc"]);
const TEST_FILE = /\.(test|test-d|fixture|bench)\.ts$/;

const root = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), "../.."));
const findings = [];
const report = (file, text) => findings.push(`${relative(root, file)}: ${text}`);

const { files, entries } = readPackages();
const graph = new Map(files.filter((file) => !TEST_FILE.test(file)).map((file) => [file, readEdges(file)]));
checkDeepImportsOfTests();
checkPackageLayers();
checkCoreLayers();
checkCycles();
checkChainFree();
checkFolderNames();
finish();

/** Source files of all packages, and the source file behind each public entry such as `@farebox/evm/facilitator`. */
function readPackages() {
  const all = { files: [], entries: new Map() };
  for (const name of readdirSync(join(root, "packages"))) {
    const folder = join(root, "packages", name);
    if (!existsSync(join(folder, "package.json"))) continue;
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    for (const [subpath, target] of Object.entries(manifest.exports)) {
      const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
      all.entries.set(manifest.name + subpath.slice(1), join(folder, source));
    }
    all.files.push(...walk(join(folder, "src")).files.filter((file) => file.endsWith(".ts")));
  }
  return all;
}

/** Where each import of a file leads: to a file of ours (`file`), or out of the workspace (`library`). */
function readEdges(file) {
  const edges = importsOf(file).flatMap(({ name }) => edgeTo(name, file) ?? []);
  return edges.filter((edge) => edge.file === undefined || staysInside(file, edge.file) || isEntry(edge.file));
}

function edgeTo(name, file) {
  if (name === undefined) return void report(file, "imports a computed name, which cannot be checked");
  if (name.startsWith(".")) return { file: resolve(dirname(file), name).replace(/\.js$/, ".ts") };
  if (entries.has(name)) return { file: entries.get(name) };
  if (!/^@farebox\//.test(name)) return { library: name };
  return void report(file, `reaches into ${name}, which that package does not export`);
}

function isEntry(file) {
  return [...entries.values()].includes(file);
}

function staysInside(from, to) {
  if (packageOf(from) === packageOf(to)) return true;
  if (!isEntry(to)) report(from, `reaches into ${relative(root, to)} by a path`);
  return false;
}

function packageOf(file) {
  return relative(join(root, "packages"), file).split(sep)[0];
}

/** Tests may import what they like of their own package, but no other package's files either. */
function checkDeepImportsOfTests() {
  for (const file of files.filter((name) => TEST_FILE.test(name))) readEdges(file);
}

function checkPackageLayers() {
  for (const { from, to } of links()) {
    const [inner, outer] = [packageOf(to), packageOf(from)];
    if (inner !== outer && !PACKAGES[outer]?.includes(inner)) {
      report(from, `package ${outer} may not import package ${inner}`);
    }
  }
}

function checkCoreLayers() {
  for (const { from, to } of links()) {
    if (packageOf(from) !== "core" || packageOf(to) !== "core") continue;
    const [inner, outer] = [layerOf(to), layerOf(from)];
    if (inner !== outer && !CORE[outer]?.includes(inner)) report(from, `${outer} may not import ${inner}`);
  }
}

/** Every import of one of our files by another. */
function links() {
  return [...graph].flatMap(([from, edges]) =>
    edges.filter((edge) => edge.file !== undefined).map((edge) => ({ from, to: edge.file })),
  );
}

/** The folder below `src`, or the bare name of a file that lies directly in it. */
function layerOf(file) {
  const [, , first] = relative(join(root, "packages"), file).split(sep);
  return first.replace(/\.ts$/, "");
}

/** Depth first; a file met again while it is still open closes a circle. */
function checkCycles() {
  const state = new Map();
  const visit = (file, path) => {
    if (state.get(file) === "done") return;
    if (state.get(file) === "open") {
      const circle = [...path.slice(path.indexOf(file)), file].map((name) => relative(root, name));
      report(file, `imports itself in a circle: ${circle.join(" -> ")}`);
      return;
    }
    state.set(file, "open");
    for (const edge of graph.get(file) ?? []) if (edge.file !== undefined) visit(edge.file, [...path, file]);
    state.set(file, "done");
  };
  for (const file of graph.keys()) visit(file, []);
}

function checkChainFree() {
  for (const name of CHAIN_FREE) {
    const start = entries.get(name);
    if (start === undefined) {
      findings.push(`${name}: has no main entry`);
      continue;
    }
    for (const { library, path } of librariesReachedFrom(start)) {
      if (CHAIN_LIBRARY.test(library)) report(start, `${name} reaches ${library} through ${path.join(" -> ")}`);
    }
  }
}

function librariesReachedFrom(start) {
  const paths = new Map([[start, [relative(root, start)]]]);
  const reached = [];
  for (const [file, path] of paths) {
    const edges = graph.get(file) ?? [];
    reached.push(...edges.filter((edge) => edge.library !== undefined).map(({ library }) => ({ library, path })));
    for (const edge of edges) {
      if (edge.file === undefined || paths.has(edge.file)) continue;
      paths.set(edge.file, [...path, relative(root, edge.file)]);
    }
  }
  return reached;
}

function checkFolderNames() {
  const tops = ["packages", "examples", "test", "docs"].map((name) => join(root, name)).filter(existsSync);
  for (const path of tops.flatMap((top) => walk(top).folders)) {
    if (VAGUE_NAMES.has(basename(path))) report(path, "this name says nothing about what the folder holds");
  }
}

function finish() {
  for (const finding of new Set(findings)) console.error(finding);
  if (findings.length > 0) process.exit(1);
  console.log(`layers: ${graph.size} files, ${entries.size} entries, all imports point inwards`);
}
