/**
 * Packs a package of the workspace the way it is published.
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
 * Packs one package. It must have been built.
 *
 * @param folder - The package's folder.
 * @param destination - An existing folder for the tarball.
 * @returns The tarball's path, its size in bytes, and the paths of the files in it.
 */
export async function pack(folder, destination) {
  const [command, ...first] = pnpm();
  const { stdout } = await run(command, [...first, "pack", "--json", "--pack-destination", destination], {
    cwd: folder,
  });
  const { filename } = JSON.parse(stdout);
  const packed = readFileSync(filename);
  return { tarball: filename, bytes: packed.length, files: [...namesInTar(gunzipSync(packed))] };
}

/**
 * The file names in a tar archive, without the leading `package/`. Each file is a header of 512 bytes, which holds its
 * name and its size in octal, and its content, filled up to a multiple of 512.
 */
function* namesInTar(tar) {
  for (let at = 0; tar[at] !== 0 && at < tar.length; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("ascii", at + 124, at + 136), 8);
    yield name.replace(/^package\//, "");
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

/** pnpm need not be installed: it is the one that runs this script, or npx brings it. */
function pnpm() {
  const running = process.env["npm_execpath"] ?? "";
  return /pnpm[^/\\]*\.c?js$/.test(running) ? [process.execPath, running] : ["npx", "-y", "pnpm@10"];
}
