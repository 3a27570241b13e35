/**
 * What a seller installs, and what loading it takes: from packed tarballs, into an empty folder outside the workspace.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

const run = promisify(execFile);

/** What one install brings. */
export interface Install {
  readonly title: string;
  readonly packages: number;
  readonly megabytes: number;
  /** Milliseconds from before the import to after it, medians. */
  readonly importMs: number;
  /** Of the process after it. */
  readonly megabytesOfMemory: number;
}

interface Sale {
  readonly title: string;
  readonly imported: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, string>>;
}

/** Installs and loads Express alone, with Farebox, and with the reference. */
export async function measureInstalls(root: URL, effort: Effort): Promise<Install[]> {
  const home = mkdtempSync(join(tmpdir(), "farebox-bench-"));
  try {
    const sales = await planSales(root, home);
    const folders: string[] = [];
    for (const [at, sale] of sales.entries()) {
      effort.note(`install: ${sale.title}`);
      folders.push(await install(join(home, String(at)), sale));
    }
    return await loadInTurn(sales, folders, effort);
  } finally {
    rmSync(home, { recursive: true });
  }
}

async function planSales(root: URL, home: string): Promise<Sale[]> {
  const scripts = await import(new URL("test/scripts/pack.mjs", root).href);
  const packed: Record<string, { readonly tarball: string }> = await scripts.packAll(home);
  const tarballs = Object.fromEntries(Object.entries(packed).map(([name, { tarball }]) => [name, `file:${tarball}`]));
  const versionOf = (name: string): string =>
    JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, root), "utf8")).version;
  const express = { express: versionOf("express") };
  const { "@farebox/express": ours = "", ...rest } = tarballs;
  const reference = { "@x402/express": versionOf("@x402/express"), "@x402/core": versionOf("@x402/core") };
  return [
    { title: "express", imported: ["express"], dependencies: express, overrides: {} },
    {
      title: "express @farebox/express",
      imported: ["express", "@farebox/express"],
      dependencies: { ...express, "@farebox/express": ours },
      overrides: rest,
    },
    {
      title: "express @x402/express @x402/core",
      imported: ["express", "@x402/express"],
      dependencies: { ...express, ...reference },
      overrides: { viem: versionOf("viem") },
    },
  ];
}

async function install(folder: string, { dependencies, overrides }: Sale): Promise<string> {
  await run("mkdir", ["-p", folder]);
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies, overrides }),
  );
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  // Without what pnpm hands to its scripts, which npm would take for its own settings; the registry stays.
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry$)/.test(name));
  await run("npm", ["install", ...quiet], { cwd: folder, env: Object.fromEntries(kept) });
  return folder;
}

async function loadInTurn(sales: readonly Sale[], folders: readonly string[], effort: Effort): Promise<Install[]> {
  const loads = sales.map(() => [] as Loaded[]);
  for (let round = -1; round < effort.rounds * 2; round++) {
    for (const [at, { title, imported }] of sales.entries()) {
      effort.note(`import: ${title}`);
      const loaded = await load(folders[at] ?? "", imported);
      if (round >= 0) loads[at]?.push(loaded);
    }
  }
  return sales.map(({ title }, at) => {
    const modules = join(folders[at] ?? "", "node_modules");
    return {
      title,
      packages: countPackages(modules),
      megabytes: sizeOf(modules) / 1_000_000,
      importMs: median((loads[at] ?? []).map(({ ms }) => ms)),
      megabytesOfMemory: median((loads[at] ?? []).map(({ bytes }) => bytes)) / 1_000_000,
    };
  });
}

interface Loaded {
  readonly ms: number;
  readonly bytes: number;
}

async function load(folder: string, imported: readonly string[]): Promise<Loaded> {
  const imports = imported.map((name) => `await import(${JSON.stringify(name)});`).join("");
  const script = `const t = performance.now(); ${imports}
    console.log(JSON.stringify({ ms: performance.now() - t, bytes: process.memoryUsage.rss() }));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });
  return JSON.parse(stdout);
}

/** Folders that hold a package, scoped ones and ones within others included. */
function countPackages(modules: string): number {
  let count = 0;
  for (const entry of readdirSync(modules, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
    const folder = join(modules, entry.name);
    if (entry.name.startsWith("@")) count += countPackages(folder);
    else count += 1 + (has(folder, "node_modules") ? countPackages(join(folder, "node_modules")) : 0);
  }
  return count;
}

function has(folder: string, name: string): boolean {
  return readdirSync(folder).includes(name);
}

function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += sizeOf(path);
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}
