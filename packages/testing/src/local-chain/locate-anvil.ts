/**
 * Where the anvil binary is. The npm package `@foundry-rs/anvil` has one package per platform, and a wrapper in Node.
 *
 * @module
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { LocalChainError } from "./local-chain-error.js";

/** A program and the arguments that precede its own. */
export interface Executable {
  readonly file: string;
  readonly args: readonly string[];
}

/** What the search depends on; a parameter so that other platforms can be tested. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  /** Resolves a module from a file, as `require.resolve` does; throws when there is none. */
  resolve(from: string, specifier: string): string;
}

const SUFFIXES: Readonly<Record<string, string>> = {
  "darwin-arm64": "darwin-arm64",
  "darwin-x64": "darwin-amd64",
  "linux-arm64": "linux-arm64",
  "linux-x64": "linux-amd64",
  "win32-x64": "win32-amd64",
};

const THIS_HOST: Host = {
  platform: process.platform,
  arch: process.arch,
  resolve: (from, specifier) => createRequire(from).resolve(specifier),
};

/**
 * Finds anvil: the platform's own binary, or else the wrapper, which knows where an install script may have put one.
 *
 * @throws {@link LocalChainError} when the package is not installed or has nothing for this platform
 */
export function locateAnvil(host: Host = THIS_HOST): Executable {
  const suffix = SUFFIXES[`${host.platform}-${host.arch}`];
  if (suffix === undefined) {
    throw new LocalChainError(`anvil has no binary for ${host.platform} on ${host.arch}`);
  }
  const manifest = tryResolve(host, import.meta.url, "@foundry-rs/anvil/package.json");
  if (manifest === undefined) {
    throw new LocalChainError("a local chain needs the package @foundry-rs/anvil, which is not installed");
  }
  const platformManifest = tryResolve(host, manifest, `@foundry-rs/anvil-${suffix}/package.json`);
  if (platformManifest === undefined) {
    return { file: process.execPath, args: [join(dirname(manifest), "bin.mjs")] };
  }
  const name = host.platform === "win32" ? "anvil.exe" : "anvil";
  return { file: join(dirname(platformManifest), "bin", name), args: [] };
}

function tryResolve(host: Host, from: string, specifier: string): string | undefined {
  try {
    return host.resolve(from, specifier);
  } catch {
    return undefined;
  }
}
