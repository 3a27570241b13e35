/**
 * Checks the layers: imports point only inwards, in `@farebox/core` and between the packages.
 *
 * - Packages import only the packages listed for them in PACKAGES.
 * - A folder of core imports only the folders listed for it in CORE.
 * - A folder listed in ROOMS is loaded when it is used, by `import()` of its index.ts, or by a `load-….ts`, which the build replaces. Others
 *   name it by `import type`.
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

/** The workspace that this script is a part of. */
export const WORKSPACE = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** Who may import whom among the packages. */
const PACKAGES = {
  core: [],
  avm: ["core"],
  evm: ["core"],
  svm: ["core"],
  bazaar: ["core"],
  catalog: ["core", "bazaar"],
  "catalog-embeddings": ["core", "catalog"],
  paywall: ["core", "bazaar"],
  cli: ["core", "avm", "bazaar", "catalog", "evm", "express", "facilitator", "stores", "svm", "testing"],
  facilitator: ["core", "bazaar", "paywall"],
  compat: ["core", "evm", "express", "extensions"],
  express: ["core", "avm", "bazaar", "evm", "paywall", "svm"],
  extensions: ["core", "evm", "svm"],
  mcp: ["core", "bazaar"],
  stores: ["core"],
  testing: ["core", "bazaar", "evm", "svm", "facilitator", "express"],
};

/** Who may import whom inside core, by folder, or by name for a file that lies in none. From the inside out. */
const CORE = {
  errors: [],
  protocol: ["errors"],
  typos: [],
  "paywall-texts": [],
  issues: ["errors", "protocol", "typos"],
  http: ["errors", "protocol"],
  events: ["errors", "protocol", "issues"],
  price: ["errors", "protocol"],
  facilitator: ["errors", "protocol", "http", "events"],
  scheme: ["errors", "protocol", "issues", "http", "events", "price", "facilitator"],
  store: ["errors", "protocol", "options", "events", "facilitator", "scheme"],
  route: ["errors", "protocol", "http", "events", "price", "scheme"],
  extension: ["errors", "protocol", "issues", "events", "route"],
  telemetry: ["events", "facilitator"],
  "load-telemetry": ["telemetry"],
  options: [
    "protocol",
    "paywall-texts",
    "extension",
    "http",
    "events",
    "price",
    "facilitator",
    "scheme",
    "store",
    "route",
    "telemetry",
  ],
};
CORE.pricing = [
  "errors",
  "paywall-texts",
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
CORE.sale = [...new Set([...CORE.pricing, "http", "store"]), "pricing", "steps"];
CORE.steps = [...CORE.sale.filter((room) => room !== "steps"), "sale"];
CORE["by-hand"] = [...CORE.pricing, "pricing", "http", "sale"];
CORE.ledger = ["errors", "protocol", "issues", "options", "events", "scheme", "store", "sale"];
CORE.config = [...CORE.sale, "sale", "ledger", "telemetry"];
CORE.report = [
  "errors",
  "protocol",
  "typos",
  "options",
  "http",
  "events",
  "price",
  "facilitator",
  "scheme",
  "store",
  "route",
  "pricing",
  "steps",
];
CORE["ledger-queries"] = ["errors", "options", "store", "ledger"];
CORE["facilitator-side"] = ["errors", "protocol", "issues", "http", "events", "price", "facilitator", "scheme"];
CORE.engine = Object.keys(CORE);
CORE.adapter = Object.keys(CORE);
CORE.index = Object.keys(CORE);
CORE.internal = Object.keys(CORE);

/** Folders of core that `packages/build.mjs` builds apart, so that most sellers never load them. */
const ROOMS = new Set(["facilitator-side", "ledger-queries", "telemetry"]);

/** A seller installs these; none may need a chain library. */
const CHAIN_FREE = [
  "@farebox/compat",
  "@farebox/core",
  "@farebox/core/adapter",
  "@farebox/core/facilitator",
  "@farebox/core/internal",
  "@farebox/core/issues",
  "@farebox/core/ledger",
  "@farebox/core/protocol",
  "@farebox/core/scheme",
  "@farebox/express",
  "@farebox/extensions",
  "@farebox/extensions/internal",
  "@farebox/mcp",
  "@farebox/paywall",
  "@farebox/avm",
  "@farebox/evm",
  "@farebox/svm",
];
const CHAIN_LIBRARY = /^(viem|ox|ethers|web3|algosdk|@solana\/[^/]+)(\/|$)/;

/**
 * The command line loads the file that a seller names, and the database client that the seller's project has. The catalog loads
 * its encoder where that is installed.
 */
const LOADS_AT_RUN_TIME = [
  "cli/src/seller-module/load.ts",
  "cli/src/ledger/open-ledger.ts",
  "cli/src/ledger/refund/svm.ts",
  "catalog/src/embedder.ts",
].map((file) => join("packages", file));

const VAGUE_NAMES = new Set(["utils", "util", "helpers", "common", "shared", "misc"]);
const TEST_FILE = /\.(test|test-d|fixture|bench)\.ts$/;

/** Checks a workspace. Returns what is wrong with it, in sentences, and how much was looked at. */
export function checkLayers(root) {
  return new LayerCheck(root).run();
}

/** One look at a workspace. */
class LayerCheck {
  #root;
  #findings = [];
  #files;
  #entries;
  #graph;

  constructor(root) {
    this.#root = root;
    const { files, entries } = this.#readPackages();
    this.#files = files;
    this.#entries = entries;
    const sources = files.filter((file) => !TEST_FILE.test(file));
    this.#graph = new Map(sources.map((file) => [file, this.#readEdges(file)]));
  }

  run() {
    this.#checkDeepImportsOfTests();
    this.#checkPackageLayers();
    this.#checkCoreLayers();
    this.#checkCycles();
    this.#checkChainFree();
    this.#checkFolderNames();
    return { findings: [...new Set(this.#findings)], files: this.#graph.size, entries: this.#entries.size };
  }

  #report(file, text) {
    this.#findings.push(`${relative(this.#root, file)}: ${text}`);
  }

  /** Source files of all packages, and the source file behind each public entry such as `@farebox/evm/facilitator`. */
  #readPackages() {
    const all = { files: [], entries: new Map() };
    for (const name of readdirSync(join(this.#root, "packages"))) {
      const folder = join(this.#root, "packages", name);
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
  #readEdges(file) {
    const edges = importsOf(file).flatMap(({ name, how }) => {
      const edge = this.#edgeTo(name, file);
      return edge === undefined ? [] : { ...edge, how };
    });
    return edges.filter(
      (edge) => edge.file === undefined || this.#staysInside(file, edge.file) || this.#isEntry(edge.file),
    );
  }

  #edgeTo(name, file) {
    if (name === undefined && LOADS_AT_RUN_TIME.includes(relative(this.#root, file))) return undefined;
    if (name === undefined) return void this.#report(file, "imports a computed name, which cannot be checked");
    if (name.startsWith(".")) return { file: resolve(dirname(file), name).replace(/\.js$/, ".ts") };
    if (this.#entries.has(name)) return { file: this.#entries.get(name) };
    if (!/^@farebox\//.test(name)) return { library: name };
    return void this.#report(file, `reaches into ${name}, which that package does not export`);
  }

  #isEntry(file) {
    return [...this.#entries.values()].includes(file);
  }

  #staysInside(from, to) {
    if (this.#packageOf(from) === this.#packageOf(to)) return true;
    if (!this.#isEntry(to)) this.#report(from, `reaches into ${relative(this.#root, to)} by a path`);
    return false;
  }

  #packageOf(file) {
    return relative(join(this.#root, "packages"), file).split(sep)[0];
  }

  /** Tests may import what they like of their own package, but no other package's files either. */
  #checkDeepImportsOfTests() {
    for (const file of this.#files.filter((name) => TEST_FILE.test(name))) this.#readEdges(file);
  }

  #checkPackageLayers() {
    for (const { from, to } of this.#links()) {
      const [inner, outer] = [this.#packageOf(to), this.#packageOf(from)];
      if (inner !== outer && !PACKAGES[outer]?.includes(inner)) {
        this.#report(from, `package ${outer} may not import package ${inner}`);
      }
    }
  }

  #checkCoreLayers() {
    for (const { from, to, how } of this.#links()) {
      if (this.#packageOf(from) !== "core" || this.#packageOf(to) !== "core") continue;
      const [inner, outer] = [this.#layerOf(to), this.#layerOf(from)];
      if (inner === outer) continue;
      if (!CORE[outer]?.includes(inner)) this.#report(from, `${outer} may not import ${inner}`);
      if (ROOMS.has(inner)) this.#checkDoor(from, to, how);
    }
  }

  /** How a file of core enters a room. */
  #checkDoor(from, to, how) {
    const room = this.#layerOf(to);
    if (how === "static" && !basename(from).startsWith("load-"))
      this.#report(from, `loads ${room} with itself: a room is loaded by import() when it is used`);
    if (how === "lazy" && basename(to) !== "index.ts")
      this.#report(from, `loads ${basename(to)} of ${room}: a room is loaded by its index.ts`);
  }

  /** Every import of one of our files by another. */
  #links() {
    return [...this.#graph].flatMap(([from, edges]) =>
      edges.filter((edge) => edge.file !== undefined).map((edge) => ({ from, to: edge.file, how: edge.how })),
    );
  }

  /** The folder below `src`, or the bare name of a file that lies directly in it. */
  #layerOf(file) {
    const [, , first] = relative(join(this.#root, "packages"), file).split(sep);
    return first.replace(/\.ts$/, "");
  }

  /** Depth first; a file met again while it is still open closes a circle. */
  #checkCycles() {
    const state = new Map();
    const visit = (file, path) => {
      if (state.get(file) === "done") return;
      if (state.get(file) === "open") {
        const circle = [...path.slice(path.indexOf(file)), file].map((name) => relative(this.#root, name));
        this.#report(file, `imports itself in a circle: ${circle.join(" -> ")}`);
        return;
      }
      state.set(file, "open");
      for (const edge of this.#graph.get(file) ?? []) if (edge.file !== undefined) visit(edge.file, [...path, file]);
      state.set(file, "done");
    };
    for (const file of this.#graph.keys()) visit(file, []);
  }

  #checkChainFree() {
    for (const name of CHAIN_FREE) {
      const start = this.#entries.get(name);
      if (start === undefined) {
        this.#findings.push(`${name}: has no main entry`);
        continue;
      }
      for (const { library, path } of this.#librariesReachedFrom(start)) {
        if (CHAIN_LIBRARY.test(library)) this.#report(start, `${name} reaches ${library} through ${path.join(" -> ")}`);
      }
    }
  }

  #librariesReachedFrom(start) {
    const paths = new Map([[start, [relative(this.#root, start)]]]);
    const reached = [];
    for (const [file, path] of paths) {
      const edges = this.#graph.get(file) ?? [];
      reached.push(...edges.filter((edge) => edge.library !== undefined).map(({ library }) => ({ library, path })));
      for (const edge of edges) {
        if (edge.file === undefined || paths.has(edge.file)) continue;
        paths.set(edge.file, [...path, relative(this.#root, edge.file)]);
      }
    }
    return reached;
  }

  #checkFolderNames() {
    const tops = ["packages", "examples", "test", "docs"].map((name) => join(this.#root, name)).filter(existsSync);
    for (const path of tops.flatMap((top) => walk(top).folders)) {
      if (VAGUE_NAMES.has(basename(path))) this.#report(path, "this name says nothing about what the folder holds");
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { findings, files, entries } = checkLayers(resolve(process.argv[2] ?? WORKSPACE));
  for (const finding of findings) console.error(finding);
  if (findings.length > 0) process.exit(1);
  console.log(`layers: ${files} files, ${entries} entries, all imports point inwards`);
}
