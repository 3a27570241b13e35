/**
 * Packs the packages of the workspace the way they are published.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";

const run = promisify(execFile);

/** The root of the workspace. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Folders of all packages, and what their manifests say. */
export function listPackages() {
  return readdirSync(join(ROOT, "packages"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(ROOT, "packages", entry.name))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) }));
}

/**
 * Packs all packages. They must have been built.
 *
 * @param destination - An existing folder for the tarballs.
 * @returns By a package's name: the tarball's path, its size in bytes, and the paths of the files in it.
 */
export async function packAll(destination) {
  const [command, ...first] = pnpm();
  const order = ["--recursive", "--filter", "./packages/*", "pack", "--json", "--pack-destination", destination];
  const { stdout } = await run(command, [...first, ...order], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const packed = JSON.parse(stdout).map(({ name, filename }) => [name, describe(filename)]);
  return Object.fromEntries(packed);
}

function describe(tarball) {
  const packed = readFileSync(tarball);
  return { tarball, bytes: packed.length, files: [...filesInTar(gunzipSync(packed))].map(({ name }) => name) };
}

/** The text of a file in a tarball; `""` if there is none. */
export function readFileInTar(tarball, name) {
  const file = [...filesInTar(gunzipSync(readFileSync(tarball)))].find((each) => each.name === name);
  return file?.content.toString("utf8") ?? "";
}

/**
 * The files in a tar archive, their names without the leading `package/`. Each file is a header of 512 bytes, which holds its
 * name and its size in octal, and its content, filled up to a multiple of 512.
 */
function* filesInTar(tar) {
  for (let at = 0; tar[at] !== 0 && at < tar.length; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("ascii", at + 124, at + 136), 8);
    yield { name: name.replace(/^package\//, ""), content: tar.subarray(at + 512, at + 512 + size) };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

/** pnpm need not be installed: it is the one that runs this script, or npx brings it. */
function pnpm() {
  const running = process.env["npm_execpath"] ?? "";
  return /pnpm[^/\\]*\.c?js$/.test(running) ? [process.execPath, running] : ["npx", "-y", "pnpm@10"];
}
