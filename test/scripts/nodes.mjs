/**
 * The releases of Node that Farebox is tried on. They come from the npm registry and are kept below `node_modules`, so nothing
 * has to be installed by hand.
 *
 * Usage: `node test/scripts/nodes.mjs <major> <script> [argument ...]` runs a script on one of them.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./pack.mjs";

/** One release of each major. Of 20 it is the oldest that `engines` allows. */
export const RELEASES = { 20: "20.19.0", 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" };

const CACHE = join(ROOT, "node_modules/.cache/farebox-nodes");

/**
 * The path of a Node of this major: the running one where it is of that major, and otherwise the release above, installed.
 *
 * @throws {Error} When npm or tar fails.
 */
export function findNode(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const release = RELEASES[major];
  if (release === undefined) throw new Error(`no release of Node ${major} is known: ${Object.keys(RELEASES)}`);
  const folder = join(CACHE, release);
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const program = process.platform === "win32" ? "package/bin/node.exe" : "package/bin/node";
  if (!existsSync(join(folder, program))) install(folder, `${name}@${release}`, program);
  return join(folder, program);
}

/** Takes one program out of a package. npm would unpack its 5,000 other files, too: headers, manuals, and npm. */
function install(folder, specifier, program) {
  const unfinished = `${folder}-unfinished`;
  for (const each of [folder, unfinished]) rmSync(each, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const argv = ["pack", "--prefer-offline", "--loglevel=error", specifier];
  // On Windows npm is a script.
  const archive = run("npm", argv, { cwd: unfinished, env: environmentOfNpm(), shell: process.platform === "win32" });
  run("tar", ["-xzf", archive, program], { cwd: unfinished });
  rmSync(join(unfinished, archive));
  renameSync(unfinished, folder);
}

/** Returns what a command has printed. */
function run(command, argv, options) {
  const { status, stdout } = spawnSync(command, argv, { ...options, stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${argv.join(" ")} failed`);
  return String(stdout).trim();
}

/** What pnpm hands to its scripts npm would take for its own settings; only the registry stays. */
function environmentOfNpm() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry$)/.test(name)));
}

/** Runs a script, and has its child processes find the same Node. Returns the exit status. */
export function runOn(node, argv, env = {}) {
  const path = [dirname(node), process.env["PATH"]].join(delimiter);
  const { status } = spawnSync(node, argv, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, PATH: path, ...env },
  });
  return status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [major, ...argv] = process.argv.slice(2);
  process.exitCode = runOn(findNode(major), argv);
}
