/**
 * Builds the packages: `tsc` checks the types and writes the declarations, esbuild writes the code, bundled.
 *
 * Node takes about as long to find and read a module as to run it, and a seller who imports `@farebox/express` would load some
 * hundreds. So each package is one file for each of its `exports`. A package with the entry `internal` has all its code in that file, so
 * that each class exists once; its other entries re-export a part of it. `core` is one, and the other packages import its file directly.
 * A room of core is a folder with a file of its own, which most sellers never load: those of `ROOMS` import `internal.js`, and
 * `REQUIRED_ROOM` imports nothing. The other packages' entries are for different processes, a seller's and a facilitator's, and what both
 * need stands in both. `@farebox/express` has the schemes and the catalog's declarations in its file, so that a seller loads two packages
 * and not six. The entries of `@farebox/compat` are for one process: they import each other.
 *
 * Usage: `node packages/build.mjs [other project of tsc ...]`, such as `test` or `examples`
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const PACKAGES = dirname(fileURLToPath(import.meta.url));
const CORE = join(PACKAGES, "core");
/** The entry that has everything of its package, but for the rooms of core. */
const WHOLE = "src/internal.ts";
/** The rooms of core: entries and their folders. The rest of core loads a room by `import()` or not at all (`check-layers.mjs`). */
const ROOMS = { "@farebox/core/facilitator": "facilitator-side", "@farebox/core/ledger": "ledger-queries" };
/** A module with a twin of CommonJS beside it, `load-ajv.ts` and `load-ajv.cjs`, is replaced by the twin. */
const loadByRequire = {
  name: "load-by-require",
  setup({ onResolve }) {
    onResolve({ filter: /\/load-\w+\.js$/ }, ({ path, resolveDir }) => {
      const twin = join(resolveDir, path.replace(/\.js$/, ".cjs"));
      return existsSync(twin) ? { path: twin } : undefined;
    });
  },
};

/** Every package but core imports all of core but its rooms from one file. */
const importWholeCore = {
  name: "import-whole-core",
  setup({ onResolve }) {
    onResolve({ filter: /^@farebox\/core(\/|$)/ }, ({ path }) => ({
      path: path in ROOMS ? path : "@farebox/core/internal",
      external: true,
    }));
  },
};
/** The room of core that is loaded by `require`, since `payments.metrics()` returns at once. */
const REQUIRED_ROOM = { entryPoints: ["src/telemetry/index.ts"], format: "cjs", outExtension: { ".js": ".cjs" } };
/** Who depends on whom for its declarations alone: the code becomes part of it. */
const FOR_TYPES = { "@farebox/express": ["@farebox/bazaar"] };
/** Packages whose entries are all for the same process, so that a class must not stand in two of them. */
const ONE_PROCESS = new Set(["@farebox/compat"]);
/** TypeScript 7, a program for each platform, checks in a fifth of the time. Elsewhere TypeScript 5 does, whose API scripts and tests use. */
const NATIVE = join(PACKAGES, `../node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib/tsc`);
const TSC = existsSync(NATIVE)
  ? [NATIVE]
  : [process.execPath, fileURLToPath(import.meta.resolve("typescript/bin/tsc"))];

// The page in the browser is compiled into a source of its package.
run(process.execPath, [join(PACKAGES, "paywall/scripts/generate-page.mjs")]);
compile(["packages", ...process.argv.slice(2)]);
await Promise.all(listFolders().map(bundle));

function compile(projects) {
  const [program, ...argv] = TSC;
  run(program, [...argv, "-b", ...projects]);
}

/** Ends the process where a program finds something. */
function run(program, argv) {
  const { status } = spawnSync(program, argv, { cwd: dirname(PACKAGES), stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function listFolders() {
  const folders = readdirSync(PACKAGES).map((name) => join(PACKAGES, name));
  return folders.filter((folder) => existsSync(join(folder, "package.json")));
}

async function bundle(folder) {
  const isCore = folder === CORE;
  const options = {
    absWorkingDir: folder,
    outdir: "dist",
    outbase: "src",
    bundle: true,
    alias: insideOf(folder),
    plugins: isCore ? [loadByRequire] : [loadByRequire, importWholeCore],
    external: outsideOf(folder),
    format: "esm",
    platform: "node",
    target: "node20.19",
    // A module of CommonJS stands beside the bundle: Node runs it as it is, and a seller's bundler sees what it requires.
    loader: { ".cjs": "copy" },
    assetNames: "[name]",
    logLevel: "warning",
    metafile: true,
    // A command of a command line is loaded when it is called.
    splitting: manifestOf(folder).bin !== undefined,
    chunkNames: "[name]-[hash]",
  };
  const entries = entriesOf(folder);
  const builds = groupsOf(folder, entries).map((entryPoints) => {
    const others = isCore ? importAcrossRooms(entryPoints) : importEntries(folder, entries, entryPoints);
    return { ...options, plugins: [...options.plugins, others], entryPoints };
  });
  if (isCore) builds.push({ ...options, ...REQUIRED_ROOM });
  const written = new Set();
  for (const each of builds) {
    const { metafile } = await build(each);
    for (const name of Object.keys(metafile.outputs)) written.add(normalize(name));
  }
  if (entries.includes(WHOLE)) for (const name of await writeParts(options, entries)) written.add(name);
  removeLeftovers(folder, written);
  // A room that imports a name which internal.ts does not export cannot be loaded.
  if (isCore) await Promise.all(Object.keys(ROOMS).map((room) => import(room)));
}

/** The entries of a package that are for one process are built one by one: what two of them have is in one file. */
function groupsOf(folder, entries) {
  if (entries.includes(WHOLE)) return [WHOLE, ...entries.filter(roomOf)].map((entry) => [entry]);
  return ONE_PROCESS.has(manifestOf(folder).name) ? entries.map((entry) => [entry]) : [entries];
}

/** Imports the file of another entry in place of its sources. */
function importEntries(folder, entries, [built]) {
  const others = new Set(entries.filter((entry) => entry !== built));
  return {
    name: "import-entries",
    setup({ onResolve }) {
      if (!ONE_PROCESS.has(manifestOf(folder).name)) return;
      onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
        const source = relative(folder, join(resolveDir, path)).replace(/\.js$/, ".ts");
        return others.has(source) ? { path: pathBetween(built, source), external: true } : undefined;
      });
    },
  };
}

/** Core imports the file of a room in place of its sources; a room imports core's one file in place of any source outside of its folder. */
function importAcrossRooms([built]) {
  const room = roomOf(built);
  return {
    name: "import-across-rooms",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
        const other = roomOf(relative(CORE, join(resolveDir, path)));
        if (other === room) return undefined;
        const source = other === undefined ? WHOLE : `src/${other}/index.ts`;
        return { path: pathBetween(built, source), external: true };
      });
    },
  };
}

/** The room of core that has a source: its folder. */
function roomOf(source) {
  return Object.values(ROOMS).find((folder) => source.startsWith(`src/${folder}/`));
}

/** Writes the entries that re-export a part of their package. */
async function writeParts(options, entries) {
  const entryPoints = entries.filter((entry) => entry !== WHOLE && roomOf(entry) === undefined);
  const { metafile } = await build({ ...options, entryPoints, write: false });
  // A file of CommonJS that is copied is an output, too.
  const parts = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  return parts.map(([output, { entryPoint, exports }]) => {
    const whole = pathBetween(entryPoint, WHOLE);
    writeFileSync(join(options.absWorkingDir, output), `export { ${exports.join(", ")} } from "${whole}";\n`);
    return normalize(output);
  });
}

/** How the file of an entry imports that of another one of its package: `../internal.js`. */
function pathBetween(from, to) {
  const path = relative(dirname(from), to).replace(/\.ts$/, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}

/** The source behind each of a package's `exports` and commands: `src/facilitator/index.ts`. */
function entriesOf(folder) {
  const { exports, bin = {} } = manifestOf(folder);
  const targets = new Set([...Object.values(exports).map((target) => target.default), ...Object.values(bin)]);
  return [...targets].map((target) => target.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
}

/** What a package depends on, with all its subpaths. What it needs for development alone, and imports all the same, becomes part of it. */
function outsideOf(folder) {
  const { name, dependencies, peerDependencies } = manifestOf(folder);
  const names = Object.keys({ ...dependencies, ...peerDependencies });
  return names.filter((each) => !FOR_TYPES[name]?.includes(each)).flatMap((each) => [each, `${each}/*`]);
}

/** The sources of the packages in this repository that become part of it: they need not have been built before. */
function insideOf(folder) {
  const { name, devDependencies = {} } = manifestOf(folder);
  const names = [...Object.keys(devDependencies), ...(FOR_TYPES[name] ?? [])].filter((each) =>
    each.startsWith("@farebox/"),
  );
  return Object.fromEntries(names.map((each) => [each, join(PACKAGES, each.replace("@farebox/", ""), "src/index.ts")]));
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** Code of earlier builds; a chunk has another name when its content changes. */
function removeLeftovers(folder, written) {
  const names = readdirSync(join(folder, "dist"), { recursive: true }).filter((name) => /\.c?js$/.test(name));
  for (const name of names.map((each) => join("dist", each))) {
    if (!written.has(name)) rmSync(join(folder, name));
  }
}
