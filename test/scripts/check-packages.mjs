/**
 * Checks every package as it would be published: packs it, then looks at the tarball.
 *
 * - Its README links to nothing that is left behind: a link is absolute, or to a heading or a file of the tarball.
 * - publint and attw (ESM only) find nothing.
 * - It holds compiled code, declarations, README.md, LICENSE and package.json, assets that its manifest names, a NOTICE of whose
 *   else's work is in it, and nothing else.
 * - Each declaration still has its source, and each file of code is reached from an entry; a leftover of an earlier build is
 *   not published.
 *
 * Prints the size of each tarball. Usage: `node test/scripts/check-packages.mjs`, after a build.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix, relative } from "node:path";
import { checkPackage as attw, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { importsOf } from "./imports.mjs";
import { listPackages, packAll, ROOT, readFileInTar } from "./pack.mjs";

const REQUIRED = ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"];
const ALLOWED = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^dist\/.+(?<!\.test|\.test-d|\.fixture|\.bench)\.(c?js|d\.ts)$/,
];

const destination = await mkdtemp(join(tmpdir(), "farebox-pack-"));
try {
  const packed = await packAll(destination);
  const reports = await Promise.all(listPackages().map((one) => checkPackage(one, packed[one.manifest.name])));
  for (const { line, problems } of reports) {
    console.log(line);
    for (const problem of problems) console.error(`  ${problem}`);
  }
  process.exitCode = reports.some(({ problems }) => problems.length > 0) ? 1 : 0;
} finally {
  await rm(destination, { recursive: true });
}

async function checkPackage({ folder, manifest }, packed) {
  const problems = [
    ...checkFiles(packed.files, folder, manifest),
    ...checkManifest(manifest),
    ...checkLinks(readFileInTar(packed.tarball, "README.md"), packed.files),
    ...(await runPublint(packed.tarball, manifest)),
    ...(await runAttw(packed.tarball)),
  ];
  const kilobytes = (packed.bytes / 1000).toFixed(1);
  return { line: `${manifest.name}: ${packed.files.length} files, ${kilobytes} kB packed`, problems };
}

function checkFiles(files, folder, manifest) {
  const hasAssets = manifest.files.includes("assets");
  const hasOthers = hasAssets || bundlesOthers(folder);
  const allowed = [...ALLOWED, ...(hasOthers ? [/^NOTICE$/] : []), ...(hasAssets ? [/^assets\/[\w.-]+$/] : [])];
  return [
    ...(hasOthers && !files.includes("NOTICE") ? ["NOTICE is missing"] : []),
    ...REQUIRED.filter((name) => !files.includes(name)).map((name) => `${name} is missing`),
    ...files.filter((name) => !allowed.some((form) => form.test(name))).map((name) => `${name} does not belong here`),
    ...leftovers(files, folder, manifest).map(
      (name) => `${relative(ROOT, join(folder, name))} is a leftover: remove it`,
    ),
  ];
}

function leftovers(files, folder, manifest) {
  const code = codeOf(folder, manifest);
  const isCurrent = (name) => (/\.c?js$/.test(name) ? code.has(name) : hasSource(name, folder));
  return files.filter((name) => name.startsWith("dist/") && !isCurrent(name));
}

/** The entries and commands that a manifest names, and what they import of the package itself. */
function codeOf(folder, manifest) {
  const entries = [
    ...Object.values(manifest.exports).map((target) => target.default),
    ...Object.values(manifest.bin ?? {}),
  ];
  const reached = new Set(entries.map((target) => posix.join(target)));
  for (const name of reached) {
    const own = importsOf(join(folder, name)).filter((each) => each.name?.startsWith("."));
    for (const each of own) reached.add(posix.join(posix.dirname(name), each.name));
  }
  return reached;
}

function hasSource(name, folder) {
  return existsSync(join(folder, name.replace(/^dist\//, "src/").replace(/\.d\.ts$/, ".ts")));
}

/** The bundler writes where code comes from above it. */
function bundlesOthers(folder) {
  const names = readdirSync(join(folder, "dist"), { recursive: true }).filter((name) => name.endsWith(".js"));
  return names.some((name) => /^\/\/ .*node_modules\//m.test(readFileSync(join(folder, "dist", name), "utf8")));
}

function checkManifest(manifest) {
  const problems = [];
  if (manifest.sideEffects !== false) problems.push("sideEffects must be false");
  if (manifest.engines?.node === undefined) problems.push("engines.node is missing");
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (Object.keys(target)[0] !== "types") problems.push(`exports["${subpath}"] must name its types first`);
  }
  return problems;
}

/** Markdown's two kinds of links, and HTML's; not the ones in code. */
function checkLinks(readme, files) {
  const text = readme.replace(/^(```|~~~).*?^\1/gms, "").replace(/`[^`\n]*`/g, "");
  const links = text.matchAll(/\]\(<?([^)\s>]+)|^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)|\b(?:href|src)="([^"]+)"/gm);
  return [...links]
    .map(([, inline, named, html]) => inline ?? named ?? html)
    .filter((link) => !/^(https:|#)/.test(link) && !files.includes(link.replace(/#.*$/, "")))
    .map((link) => `README.md links to ${link}, which is not in the tarball`);
}

async function runPublint(tarball, manifest) {
  const { buffer, byteOffset, byteLength } = await readFile(tarball);
  const data = buffer.slice(byteOffset, byteOffset + byteLength);
  const { messages } = await publint({ strict: true, pack: { tarball: data } });
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

/** What a resolution of types finds wrong, as `attw --profile esm-only` judges it. */
async function runAttw(tarball) {
  const { types, problems } = await attw(createPackageFromTarballData(readFileSync(tarball)));
  if (types === false) return ["attw: no types"];
  return problems
    .filter(({ resolutionKind }) => resolutionKind !== "node10" && resolutionKind !== "node16-cjs")
    .map((problem) => `attw: ${JSON.stringify(problem)}`);
}
